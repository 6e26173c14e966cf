r"""`odradek consume TOPIC`: write records as lines, in the format of a format string, or as JSON.

odradek consume orders                                  from the beginning, until Ctrl-C
odradek consume orders --from -10 --until-end           the last ten of each partition
odradek consume orders -g billing -n 100                as a member of a group, and commit offsets
odradek consume orders -f '%t/%p %o %k: %s\n'
odradek consume orders -f json --until-end > records.jsonl
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from odradek.cli.base.client_options import client_config, property_option
from odradek.cli.base.complete import complete_groups, complete_topics
from odradek.cli.base.errors import wrong_usage
from odradek.cli.base.options import Settings, network_options
from odradek.cli.commands.consume.consume_from import Start, StartKind, parse_start, seek_start
from odradek.cli.commands.consume.record_format import Writer, compile_format, printable_value_line, value_line
from odradek.client.consumer.consumer import Consumer
from odradek.client.settings.parsing import Kind
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.errors import RequestTimedOut, UnknownTopic

_JSON = "json"
_FROM = "earliest, latest, an OFFSET, -N for the last N records of each partition, or @TIME [default: earliest]."
_ISOLATIONS = ("read_uncommitted", "read_committed")

#: Interval of the check for the end while no records arrive.
_POLL_MS = 200

#: Limit of a poll, so that records are written soon, and Ctrl-C is handled in between.
_POLL_RECORDS_MAX = 1_000

#: Brokers know a new topic within moments; a longer wait would only delay the error about a misspelt one.
_TOPIC_MS = 3_000


@click.command()
@click.argument("topic", metavar="TOPIC", shell_complete=complete_topics)
@click.option(
    "-p", "--partition", "indexes", multiple=True, type=click.IntRange(min=0), metavar="N", help="[default: all]"
)
@click.option("-g", "--group", metavar="GROUP", shell_complete=complete_groups, help="Join GROUP, and commit offsets.")
@click.option("--from", "start", metavar="START", help=_FROM)
@click.option("-n", "--count", type=click.IntRange(min=1), metavar="N", help="Stop after N records.")
@click.option("-e", "--until-end", is_flag=True, help="Stop at the current end of the log.")
@click.option(
    "-f", "form", metavar="FORMAT", help=r"json, or a format like kcat's: '%t/%p %o %T %k %s %h\n' [default: values]."
)
@click.option("--isolation", type=click.Choice(_ISOLATIONS), help="[default: read_uncommitted]")
@property_option
@network_options
@click.pass_obj
def consume(
    settings: Settings,
    topic: str,
    indexes: tuple[int, ...],
    group: str | None,
    start: str | None,
    count: int | None,
    until_end: bool,
    form: str | None,
    isolation: str | None,
    properties: tuple[str, ...],
) -> None:
    """Read the records of TOPIC, by default from the beginning until Ctrl-C.

    \b
    odradek consume orders -n 10
    odradek consume orders --from -10 --until-end       the last ten of each partition
    odradek consume orders --from @2026-01-31T12:00     records since a time
    odradek consume orders -g billing                   continue at the committed offsets
    odradek consume orders -f '%t/%p %o %k: %s\\n'
    odradek consume orders -f json -e > records.jsonl

    \b
    In -f: %s value, %k key, %h headers, %t topic, %p partition, %o offset,
    %T timestamp, %S and %K bytes of value and key, \\n \\t \\xHH, %% a percent sign.

    @TIME is local time, or milliseconds since 1970. In a group --from is earliest or latest, and only applies to
    partitions without a committed offset.
    """
    with wrong_usage():
        position = parse_start(start or "earliest")
        write = _writer(settings, form)
    if group is not None and (indexes or position.kind not in (StartKind.EARLIEST, StartKind.LATEST)):
        raise click.UsageError("With --group, --partition is not possible, and --from is earliest or latest.")
    config = client_config(
        settings,
        Kind.CONSUMER,
        properties,
        {"group.id": group, "isolation.level": isolation, "auto.offset.reset": position.reset},
        {"allow.auto.create.topics": False, "enable.auto.commit": group is not None},
    )
    request = _ConsumeRequest(topic, indexes, group, position, count, until_end, write)
    asyncio.run(_consume(config, request))


@dataclass(frozen=True, slots=True)
class _ConsumeRequest:
    """Records to read, and the function that formats them."""

    topic: str
    indexes: Sequence[int]
    group: str | None
    start: Start
    count: int | None
    until_end: bool
    write: Writer


def _writer(settings: Settings, form: str | None) -> Writer:
    if form == _JSON or (form is None and settings.as_json):
        from odradek.cli.commands.consume.record_json import record_line

        return lambda record: record_line(record).encode() + b"\n"
    if form is not None:
        return compile_format(form, for_terminal=sys.stdout.isatty())
    return printable_value_line if sys.stdout.isatty() else value_line


async def _consume(config: dict[str, object], request: _ConsumeRequest) -> None:
    async with Consumer(config) as consumer:
        partitions = await _partitions(consumer, request)
        if request.group is not None:
            consumer.subscribe([request.topic])
        else:
            consumer.assign(partitions)
            await seek_start(consumer, partitions, request.start)
        end = _EndOffsets(consumer) if request.until_end else None
        remaining = request.count
        while remaining != 0 and not (end is not None and await end.is_reached()):
            limit = _POLL_RECORDS_MAX if remaining is None else min(remaining, _POLL_RECORDS_MAX)
            records = await consumer.poll(_POLL_MS, limit)
            if records:
                sys.stdout.buffer.write(b"".join(map(request.write, records)))
                sys.stdout.buffer.flush()
            remaining = None if remaining is None else remaining - len(records)


async def topic_partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    """Return all partitions of a topic. Raises InputError for an unknown topic."""
    try:
        indexes = await consumer.partitions_for(topic, _TOPIC_MS)
    except UnknownTopic:
        raise InputError(f"topic {topic} does not exist; odradek topics list shows all topics") from None
    return [TopicPartition(topic, index) for index in indexes]


async def _partitions(consumer: Consumer, request: _ConsumeRequest) -> list[TopicPartition]:
    existing = await topic_partitions(consumer, request.topic)
    selected = [TopicPartition(request.topic, index) for index in request.indexes]
    unknown = [partition for partition in selected if partition not in existing]
    if unknown:
        raise InputError(f"{request.topic} has no partition {unknown[0].partition}, only 0 to {len(existing) - 1}")
    return selected or existing


class _EndOffsets:
    """End offsets of the assigned partitions at the time of their assignment."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._ends: dict[TopicPartition, int] = {}

    async def is_reached(self) -> bool:
        assigned = self._consumer.assignment()
        new = [partition for partition in sorted(assigned) if partition not in self._ends]
        if new:
            self._ends |= await self._consumer.end_offsets(new)
        if not assigned:
            return False
        return all([await self._has_reached(partition) for partition in sorted(assigned)])

    async def _has_reached(self, partition: TopicPartition) -> bool:
        try:
            return await self._consumer.position(partition, _POLL_MS) >= self._ends[partition]
        except RequestTimedOut:
            return False
