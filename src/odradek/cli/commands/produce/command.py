r"""`odradek produce TOPIC`: lines or files in, and at the end how many records were delivered where.

echo hello | odradek produce orders
odradek produce orders -K : < pairs.txt                 key and value divided by ":"
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
from odradek.cli.base.output import Progress, plural, print_json, print_table
from odradek.cli.base.pairs import split_pair
from odradek.cli.base.times import parse_timestamp
from odradek.cli.commands.produce.record_input import Outgoing, RecordForm, numbered, unescaped
from odradek.cli.main import INTERRUPTED
from odradek.client.producer.delivery import BatchDelivery
from odradek.client.producer.producer import OutgoingRecord, Producer
from odradek.client.settings.parsing import Kind
from odradek.common.failures import ApiError, InputError

_LINES, _JSON = "lines", "json"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

#: Sent and not known to have arrived: beyond it the oldest are waited for, so that what is remembered stays small.
_DELIVERIES_MAX = 1_000

#: Whoever types should see what became of a wrong address.
_BLOCK_MS = 15_000


@click.command()
@click.argument("topic", metavar="TOPIC", shell_complete=complete_topics)
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=click.Path())
@click.option(
    "-f", "form", type=click.Choice((_LINES, _JSON)), default=_LINES, help="lines (default), or json: an object a line."
)
@click.option("-K", "--key-separator", metavar="TEXT", help=r'Divides key and value of a line, as ":" or "\t".')
@click.option("-D", "--delimiter", metavar="TEXT", default="\\n", help="Divides records instead of the end of a line.")
@click.option("--whole", "is_whole", is_flag=True, help="Each FILE is one record.")
@click.option("-Z", "--empty-is-null", is_flag=True, help="Empty keys and values are null: tombstones.")
@click.option("-k", "--key", metavar="TEXT", help="The key of all records.")
@click.option("-H", "--header", "headers", multiple=True, metavar="KEY=VALUE", help="On all records. May be repeated.")
@click.option(
    "-p", "--partition", type=click.IntRange(min=0), metavar="N", help="[default: by the key, as Kafka's clients do]"
)
@click.option(
    "-t",
    "--timestamp",
    metavar="TIME",
    help="Of all records: milliseconds since 1970, or 2026-01-31T12:00 [default: now].",
)
@click.option("-z", "--compression", type=click.Choice(_CODECS), help="[default: none]")
@click.option("--acks", type=click.Choice(("0", "1", "all")), help="Who must have a record [default: all].")
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
    odradek produce orders -K : pairs.txt               key and value divided by ":"
    odradek produce orders --whole picture.png          a file is one record
    odradek produce orders -f json records.jsonl        as "consume -f json" writes them

    \b
    With -f json a line is an object, all of whose parts may be left out:
    {"key": "k", "value": "v", "headers": [["source", "web"]],
     "partition": 0, "timestamp": 1767225600000}
    """
    if key is not None and key_separator is not None:
        raise click.UsageError("--key and --key-separator exclude each other.")
    with wrong_usage():
        common = Outgoing(
            key=None if key is None else key.encode(),
            headers=tuple(
                (name, value.encode())
                for name, value in (split_pair(text, "--header", "header", "source=web") for text in headers)
            ),
            partition=partition,
            timestamp_ms=_parse_time(timestamp),
        )
        separator = None if key_separator is None else unescaped(key_separator, "--key-separator")
        source = _Source(
            paths or (STDIN,),
            RecordForm(common, separator, empty_is_null),
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
    paths: Sequence[str]
    form: RecordForm
    delimiter: bytes
    is_json: bool
    is_whole: bool

    async def records(self) -> AsyncIterator[list[Outgoing]]:
        """As many at a time as have come."""
        for path in self.paths:
            if self.is_whole:
                yield [self.form.record(await read_all(path))]
                continue
            number = 1
            async for some in delimited(path, self.delimiter):
                yield self._parsed(some, number, path)
                number += len(some)

    def _parsed(self, some: Sequence[bytes], first: int, path: str) -> list[Outgoing]:
        place = "standard input" if path == STDIN else path
        if not self.is_json:
            return list(numbered(some, first, place, self.form.record))
        from odradek.cli.commands.consume.record_json import parse_record

        return list(numbered(some, first, place, lambda line: self.form.completed(parse_record(line))))


@dataclass(slots=True)
class _Range:
    records: int = 0
    #: -1 where the broker does not tell it, as with acks=0.
    first_offset: int = -1
    last_offset: int = -1


@dataclass(slots=True)
class _Sent:
    taken: int = 0
    by_partition: dict[int, _Range] = field(default_factory=dict)
    #: The first of them.
    error: ApiError | None = None
    is_interrupted: bool = False
    #: What made the rest of the input impossible to send; what came before it is sent.
    stopped_by: InputError | ApiError | None = None

    @property
    def delivered(self) -> int:
        return sum(each.records for each in self.by_partition.values())

    @property
    def failed(self) -> int:
        return self.taken - self.delivered

    async def wait_for(self, delivery: BatchDelivery) -> None:
        try:
            await delivery
        except ApiError as error:
            self.error = self.error or error
        for part in delivery.ranges():
            known = self.by_partition.setdefault(part.partition, _Range(first_offset=part.base_offset))
            known.records += part.record_count
            known.last_offset = part.base_offset + part.record_count - 1 if part.base_offset >= 0 else -1


async def _send(config: dict[str, object], topic: str, source: _Source) -> _Sent:
    sent, open_deliveries = _Sent(), list[BatchDelivery]()
    async with Producer(config) as producer:
        try:
            await _send_all(producer, topic, source, sent, open_deliveries)
        except asyncio.CancelledError:  # Ctrl-C: what was read is sent all the same
            sent.is_interrupted = True
        except (InputError, ApiError) as error:
            if not sent.taken:
                raise
            sent.stopped_by = error
        await producer.flush()
        for delivery in open_deliveries:
            await sent.wait_for(delivery)
    return sent


async def _send_all(
    producer: Producer, topic: str, source: _Source, sent: _Sent, open_deliveries: list[BatchDelivery]
) -> None:
    is_typed = source.paths == (STDIN,) and sys.stdin.isatty()
    if is_typed:
        echo("A line is a record; Ctrl-D ends.", err=True)
    wanted = source.form.common.partition
    if wanted is not None:
        await _check_partition(producer, topic, wanted)
    progress = Progress()
    try:
        async for records in source.records():
            for partition, some in _by_partition(records):
                open_deliveries.append(await producer.send_batch(topic, some, partition))
                sent.taken += len(some)
            while len(open_deliveries) > _DELIVERIES_MAX:
                await sent.wait_for(open_deliveries.pop(0))
            if not is_typed:
                progress.say(f"{sent.taken:,} records sent")
    finally:
        progress.finish()


async def _check_partition(producer: Producer, topic: str, partition: int) -> None:
    """The producer would wait for it, since it may be about to be made."""
    found = await producer.partitions_for(topic)
    if partition not in found:
        raise InputError(f"{topic} has no partition {partition}; there are 0 to {len(found) - 1}")


def _by_partition(records: Sequence[Outgoing]) -> list[tuple[int | None, list[OutgoingRecord]]]:
    found: dict[int | None, list[OutgoingRecord]] = {}
    for each in records:
        record = OutgoingRecord(each.value, each.key, each.headers, each.timestamp_ms)
        found.setdefault(each.partition, []).append(record)
    return list(found.items())


def _show(settings: Settings, topic: str, sent: _Sent) -> None:
    partitions = sorted(sent.by_partition.items())
    if settings.as_json:
        rows = [
            {
                "partition": partition,
                "records": each.records,
                "first_offset": None if each.first_offset < 0 else each.first_offset,
                "last_offset": None if each.last_offset < 0 else each.last_offset,
            }
            for partition, each in partitions
        ]
        print_json({"topic": topic, "delivered": sent.delivered, "failed": sent.failed, "partitions": rows})
    else:
        echo(f"Delivered {plural(sent.delivered, 'record')} to {topic}.")
        if partitions:
            headers = ("partition", "records", "first offset", "last offset")
            print_table(headers, [(partition, *_cells(each)) for partition, each in partitions])
    if sent.failed:
        reason = "" if sent.error is None else f": {sent.error.message}"
        warn(f"{plural(sent.failed, 'record')} could not be delivered{reason}")


def _cells(each: _Range) -> tuple[object, ...]:
    return (each.records, *("?" if offset < 0 else offset for offset in (each.first_offset, each.last_offset)))


def _parse_time(text: str | None) -> int | None:
    if text is None:
        return None
    moment_ms = parse_timestamp(text)
    if moment_ms is None:
        right = "Right would be milliseconds since 1970, or a time such as 2026-01-31T12:00."
        raise InputError(f'--timestamp: "{text}" is no time. {right}')
    return moment_ms
