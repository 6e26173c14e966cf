r"""`odradek produce TOPIC`: send lines or files as records, and show the offsets of each partition.

echo hello | odradek produce orders
odradek produce orders -K : < pairs.txt                 key and value separated by ":"
odradek produce orders --whole picture.png              a file is one record
odradek produce orders -f json < records.jsonl          as `odradek consume orders -f json` writes them
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import click

from odradek.cli.base.client_options import client_config, property_option
from odradek.cli.base.complete import complete_topics
from odradek.cli.base.errors import echo, warn, wrong_usage
from odradek.cli.base.input_chunks import STDIN, delimited, read_all
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.output import UNKNOWN, Progress, plural, print_json, print_table
from odradek.cli.base.pairs import split_pair
from odradek.cli.base.times import parse_timestamp
from odradek.cli.commands.produce.record_input import OutputRecord, RecordForm, parse_lines, unescaped
from odradek.cli.main import INTERRUPTED
from odradek.client.producer.delivery import BatchDelivery
from odradek.client.producer.producer import OutgoingRecord, Producer
from odradek.client.settings.parsing import Kind
from odradek.common.failures import ApiError, InputError

_LINES, _JSON = "lines", "json"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

#: Limit of unacknowledged deliveries: beyond it the oldest are awaited, which bounds memory.
_DELIVERIES_MAX = 1_000

#: Shorter than the default, so that an interactive user soon sees a wrong address.
_BLOCK_MS = 15_000


@click.command()
@click.argument("topic", metavar="TOPIC", shell_complete=complete_topics)
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=click.Path())
@click.option(
    "-f",
    "form",
    type=click.Choice((_LINES, _JSON)),
    default=_LINES,
    help="lines (default), or json: one object per line.",
)
@click.option(
    "-K", "--key-separator", metavar="TEXT", help=r'Separates key and value of a line, for example ":" or "\t".'
)
@click.option("-D", "--delimiter", metavar="TEXT", default="\\n", help="Separates records, instead of line breaks.")
@click.option("--whole", "is_whole", is_flag=True, help="Each FILE is one record.")
@click.option("-Z", "--empty-is-null", is_flag=True, help="Send empty keys and values as null (tombstones).")
@click.option("-k", "--key", metavar="TEXT", help="Key of all records.")
@click.option(
    "-H", "--header", "headers", multiple=True, metavar="KEY=VALUE", help="Header of all records. May be repeated."
)
@click.option(
    "-p", "--partition", type=click.IntRange(min=0), metavar="N", help="[default: by key, as in Kafka's clients]"
)
@click.option(
    "-t",
    "--timestamp",
    metavar="TIME",
    help="Timestamp of all records: milliseconds since 1970, or 2026-01-31T12:00 [default: now].",
)
@click.option("-z", "--compression", type=click.Choice(_CODECS), help="[default: none]")
@click.option("--acks", type=click.Choice(("0", "1", "all")), help="Required acknowledgements [default: all].")
@property_option
@network_options
@click.pass_obj
def produce(
    settings: Settings,
    topic: str,
    paths: tuple[str, ...],
    form: str,
    key_separator: str | None,
    delimiter: str,
    is_whole: bool,
    empty_is_null: bool,
    key: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    timestamp: str | None,
    compression: str | None,
    acks: str | None,
    properties: tuple[str, ...],
) -> int:
    """Send lines of files, or of standard input, as records to TOPIC.

    \b
    echo hello | odradek produce orders
    odradek produce orders -K : pairs.txt               key and value separated by ":"
    odradek produce orders --whole picture.png          a file is one record
    odradek produce orders -f json records.jsonl        as "consume -f json" writes them

    \b
    With -f json each line is an object; all fields are optional:
    {"key": "k", "value": "v", "headers": [["source", "web"]],
     "partition": 0, "timestamp": 1767225600000}
    """
    if key is not None and key_separator is not None:
        raise click.UsageError("--key and --key-separator exclude each other.")
    with wrong_usage():
        defaults = OutputRecord(
            key=None if key is None else key.encode(),
            headers=tuple(
                (name, value.encode())
                for name, value in (split_pair(text, "--header", "header", "source=web") for text in headers)
            ),
            partition=partition,
            timestamp_ms=_parse_timestamp_option(timestamp),
        )
        separator = None if key_separator is None else unescaped(key_separator, "--key-separator")
        source = _Source(
            paths or (STDIN,),
            RecordForm(defaults, separator, empty_is_null),
            unescaped(delimiter, "--delimiter"),
            is_json=form == _JSON,
            is_whole=is_whole,
        )
    config = client_config(
        settings,
        Kind.PRODUCER,
        properties,
        {"compression.type": compression, "acks": acks},
        {"max.block.ms": _BLOCK_MS},
    )
    sent = asyncio.run(_send(config, topic, source))
    _show(settings, topic, sent)
    if sent.stopped_by is not None:
        raise sent.stopped_by
    return INTERRUPTED if sent.is_interrupted else int(sent.failed > 0)


@dataclass(frozen=True, slots=True)
class _Source:
    """Input of the command: files, and the format of their records."""

    paths: Sequence[str]
    form: RecordForm
    delimiter: bytes
    is_json: bool
    is_whole: bool

    async def records(self) -> AsyncIterator[list[OutputRecord]]:
        """Yield records, as many at once as are available."""
        for path in self.paths:
            if self.is_whole:
                yield [self.form.record(await read_all(path))]
                continue
            line_number = 1
            async for lines in delimited(path, self.delimiter):
                yield self._parse(lines, line_number, path)
                line_number += len(lines)

    def _parse(self, lines: Sequence[bytes], first_number: int, path: str) -> list[OutputRecord]:
        name = "standard input" if path == STDIN else path
        if not self.is_json:
            return list(parse_lines(lines, first_number, name, self.form.record))
        from odradek.cli.commands.consume.record_json import parse_record

        return list(parse_lines(lines, first_number, name, lambda line: self.form.with_defaults(parse_record(line))))


@dataclass(slots=True)
class _PartitionResult:
    """Delivered records of a partition."""

    records: int = 0
    #: -1 if the broker does not return it, as with acks=0.
    first_offset: int = -1
    last_offset: int = -1


@dataclass(slots=True)
class _SendResult:
    """Result of the whole input."""

    accepted: int = 0
    by_partition: dict[int, _PartitionResult] = field(default_factory=dict)
    #: First error of a delivery.
    error: ApiError | None = None
    is_interrupted: bool = False
    #: Error that ended the input early; the records before it were sent.
    stopped_by: InputError | ApiError | None = None

    @property
    def delivered(self) -> int:
        return sum(partition.records for partition in self.by_partition.values())

    @property
    def failed(self) -> int:
        return self.accepted - self.delivered

    async def wait_for(self, delivery: BatchDelivery) -> None:
        try:
            await delivery
        except ApiError as error:
            self.error = self.error or error
        for part in delivery.ranges():
            result = self.by_partition.setdefault(part.partition, _PartitionResult(first_offset=part.base_offset))
            result.records += part.record_count
            result.last_offset = part.base_offset + part.record_count - 1 if part.base_offset >= 0 else -1


async def _send(config: dict[str, object], topic: str, source: _Source) -> _SendResult:
    sent, open_deliveries = _SendResult(), list[BatchDelivery]()
    async with Producer(config) as producer:
        try:
            await _send_all(producer, topic, source, sent, open_deliveries)
        except asyncio.CancelledError:  # Ctrl-C: records that were read are sent nevertheless
            sent.is_interrupted = True
        except (InputError, ApiError) as error:
            if not sent.accepted:
                raise
            sent.stopped_by = error
        await producer.flush()
        for delivery in open_deliveries:
            await sent.wait_for(delivery)
    return sent


async def _send_all(
    producer: Producer, topic: str, source: _Source, sent: _SendResult, open_deliveries: list[BatchDelivery]
) -> None:
    is_interactive = source.paths == (STDIN,) and sys.stdin.isatty()
    if is_interactive:
        echo("Each line is a record; end the input with Ctrl-D.", err=True)
    partition_index = source.form.defaults.partition
    if partition_index is not None:
        await _check_partition(producer, topic, partition_index)
    progress = Progress()
    try:
        async for records in source.records():
            for partition, batch in _by_partition(records):
                open_deliveries.append(await producer.send_batch(topic, batch, partition))
                sent.accepted += len(batch)
            while len(open_deliveries) > _DELIVERIES_MAX:
                await sent.wait_for(open_deliveries.pop(0))
            if not is_interactive:
                progress.say(f"{sent.accepted:,} records sent")
    finally:
        progress.finish()


async def _check_partition(producer: Producer, topic: str, partition: int) -> None:
    """Raise InputError for an unknown partition; the producer would wait until it is created."""
    partitions = await producer.partitions_for(topic)
    if partition not in partitions:
        raise InputError(f"{topic} has no partition {partition}, only 0 to {len(partitions) - 1}")


def _by_partition(records: Sequence[OutputRecord]) -> list[tuple[int | None, list[OutgoingRecord]]]:
    batches: dict[int | None, list[OutgoingRecord]] = {}
    for record in records:
        outgoing = OutgoingRecord(record.value, record.key, record.headers, record.timestamp_ms)
        batches.setdefault(record.partition, []).append(outgoing)
    return list(batches.items())


def _show(settings: Settings, topic: str, sent: _SendResult) -> None:
    partitions = sorted(sent.by_partition.items())
    if settings.as_json:
        rows = [
            {
                "partition": partition,
                "records": result.records,
                "first_offset": None if result.first_offset < 0 else result.first_offset,
                "last_offset": None if result.last_offset < 0 else result.last_offset,
            }
            for partition, result in partitions
        ]
        print_json({"topic": topic, "delivered": sent.delivered, "failed": sent.failed, "partitions": rows})
    else:
        echo(f"Delivered {plural(sent.delivered, 'record')} to {topic}.")
        if partitions:
            headers = ("partition", "records", "first offset", "last offset")
            print_table(headers, [(partition, *_cells(result)) for partition, result in partitions])
    if sent.failed:
        reason = "" if sent.error is None else f": {sent.error.message}"
        warn(f"{plural(sent.failed, 'record')} could not be delivered{reason}")


def _cells(result: _PartitionResult) -> tuple[object, ...]:
    offsets = (result.first_offset, result.last_offset)
    return (result.records, *(UNKNOWN if offset < 0 else offset for offset in offsets))


def _parse_timestamp_option(text: str | None) -> int | None:
    if text is None:
        return None
    timestamp_ms = parse_timestamp(text)
    if timestamp_ms is None:
        expected = "Expected milliseconds since 1970, or a time such as 2026-01-31T12:00."
        raise InputError(f'--timestamp: "{text}" is not a valid time. {expected}')
    return timestamp_ms
