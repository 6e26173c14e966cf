r"""`odradek consume TOPIC`: records out, as lines, as a format string says, or as JSON.

odradek consume orders                                  from the beginning, until Ctrl-C
odradek consume orders --from -10 --until-end           the last ten of each partition
odradek consume orders -g billing -n 100                as a member of a group, which commits what was shown
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
from odradek.cli.commands.consume.consume_from import Kind, Start, parse_start, seek_start
from odradek.cli.commands.consume.record_format import Writer, compile_format, printable_value_line, value_line
from odradek.client.consumer.consumer import Consumer
from odradek.client.settings.parsing import Kind as Client
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.errors import RequestTimedOut, UnknownTopic

_JSON = "json"
_FROM = "earliest, latest, an OFFSET, -N for the last N of each partition, or @TIME [default: earliest]."
_ISOLATIONS = ("read_uncommitted", "read_committed")

#: How often it is looked whether the end is reached while nothing comes.
_POLL_MS = 200

#: At a time: what comes is shown at once, and Ctrl-C is heard in between.
_RECORDS_AT_ONCE = 1_000

#: A topic that was just created is known within moments; one that was misspelt is not for longer.
_TOPIC_MS = 3_000


@click.command()
@click.argument("topic", metavar="TOPIC", shell_complete=complete_topics)
@click.option(
    "-p", "--partition", "indexes", multiple=True, type=click.IntRange(min=0), metavar="N", help="[default: all]"
)
@click.option(
    "-g", "--group", metavar="GROUP", shell_complete=complete_groups, help="Join it, and commit what is shown."
)
@click.option("--from", "start", metavar="WHERE", help=_FROM)
@click.option("-n", "--count", type=click.IntRange(min=1), metavar="N", help="Stop after N records.")
@click.option("-e", "--until-end", is_flag=True, help="Stop at the end that there is now.")
@click.option("-f", "form", metavar="FORMAT", help=r"json, or as kcat's: '%t/%p %o %T %k %s %h\n' [default: values].")
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
    """Show the records of TOPIC, from the beginning and until Ctrl-C unless told otherwise.

    \b
    odradek consume orders -n 10
    odradek consume orders --from -10 --until-end       the last ten of each partition
    odradek consume orders --from @2026-01-31T12:00     what came since then
    odradek consume orders -g billing                   go on where the group was, and commit
    odradek consume orders -f '%t/%p %o %k: %s\\n'
    odradek consume orders -f json -e > records.jsonl

    \b
    In -f: %s value, %k key, %h headers, %t topic, %p partition, %o offset,
    %T timestamp, %S and %K bytes of value and key, \\n \\t \\xHH, %% a percent sign.

    @TIME is local, or in milliseconds since 1970. In a group --from is earliest or latest, and counts only where the
    group has not committed anything.
    """
    with wrong_usage():
        begin = parse_start(start or "earliest")
        write = _writer(settings, form)
    if group is not None and (indexes or begin.kind not in (Kind.EARLIEST, Kind.LATEST)):
        raise click.UsageError(
            "A group says what is read: with -g there is no --partition, and --from is earliest or latest."
        )
    config = client_config(
        settings,
        Client.CONSUMER,
        properties,
        {"group.id": group, "isolation.level": isolation, "auto.offset.reset": begin.reset},
        {"allow.auto.create.topics": False, "enable.auto.commit": group is not None},
    )
    wanted = _Wanted(topic, indexes, group, begin, count, until_end, write)
    asyncio.run(_consume(config, wanted))


@dataclass(frozen=True, slots=True)
class _Wanted:
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


async def _consume(config: dict[str, object], wanted: _Wanted) -> None:
    async with Consumer(config) as consumer:
        partitions = await _partitions(consumer, wanted)
        if wanted.group is not None:
            consumer.subscribe([wanted.topic])
        else:
            consumer.assign(partitions)
            await seek_start(consumer, partitions, wanted.start)
        end = _End(consumer) if wanted.until_end else None
        left = wanted.count
        while left != 0 and not (end is not None and await end.is_reached()):
            at_once = _RECORDS_AT_ONCE if left is None else min(left, _RECORDS_AT_ONCE)
            records = await consumer.poll(_POLL_MS, at_once)
            if records:
                sys.stdout.buffer.write(b"".join(map(wanted.write, records)))
                sys.stdout.buffer.flush()
            left = None if left is None else left - len(records)


async def topic_partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    """All of them. Raises InputError for a topic that is not there."""
    try:
        found = await consumer.partitions_for(topic, _TOPIC_MS)
    except UnknownTopic:
        raise InputError(f"there is no topic {topic}; odradek topics list shows those there are") from None
    return [TopicPartition(topic, index) for index in found]


async def _partitions(consumer: Consumer, wanted: _Wanted) -> list[TopicPartition]:
    found = await topic_partitions(consumer, wanted.topic)
    chosen = [TopicPartition(wanted.topic, index) for index in wanted.indexes]
    missing = [each for each in chosen if each not in found]
    if missing:
        raise InputError(f"{wanted.topic} has no partition {missing[0].partition}; there are 0 to {len(found) - 1}")
    return chosen or found


class _End:
    """Of each partition that the consumer has, as it was when the consumer got it."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._ends: dict[TopicPartition, int] = {}

    async def is_reached(self) -> bool:
        assigned = self._consumer.assignment()
        new = [each for each in sorted(assigned) if each not in self._ends]
        if new:
            self._ends |= await self._consumer.end_offsets(new)
        if not assigned:
            return False
        return all([await self._has_reached(each) for each in sorted(assigned)])

    async def _has_reached(self, place: TopicPartition) -> bool:
        try:
            return await self._consumer.position(place, _POLL_MS) >= self._ends[place]
        except RequestTimedOut:
            return False
