"""`odradek pipeline dead-letters show`: the letters themselves."""

import asyncio
import sys
from collections.abc import AsyncIterator

import click

from odradek.cli.base.errors import echo, wrong_usage
from odradek.cli.base.options import Settings
from odradek.cli.base.output import format_timestamp, print_json
from odradek.cli.commands.consume.consume_from import Start, parse_start, start_offsets
from odradek.cli.commands.consume.record_json import shown_bytes
from odradek.cli.commands.pipeline.letters import (
    ProjectLetters,
    letter_options,
    selection_options,
)
from odradek.common.printable import printable
from odradek.spark.pipeline.dead_letters.letter import Headers, Letter
from odradek.spark.pipeline.dead_letters.reading import chunks, letter_consumer, waiting_letters
from odradek.spark.pipeline.dead_letters.replay import Selection
from odradek.spark.pipeline.dead_letters.topics import LetterTopics

_FROM = "earliest, latest, an OFFSET, -N for the last N of each partition, or @TIME [default: the first waiting one]."
_COUNT = 20

#: Characters of a value, a key or a header that are shown without --full.
SHOWN_CHARACTERS = 200

#: Records that are read at a time.
_READ_RECORDS = 500


@click.command("show")
@click.option("--from", "start", metavar="WHERE", help=_FROM)
@click.option(
    "-n",
    "--count",
    type=click.IntRange(min=1),
    default=_COUNT,
    show_default=True,
    metavar="N",
    help="At most N letters.",
)
@click.option("--full", is_flag=True, help="Values, headers and stack traces as they are, not shortened.")
@letter_options
@selection_options
def show_command(
    settings: Settings,
    letters: ProjectLetters,
    *,
    selection: Selection,
    start: str | None,
    count: int,
    full: bool,
) -> None:
    """Show letters: their source, the error, the value.

    Those that are waiting, or with --from also those that were replayed or dropped.

    \b
    odradek pipeline dead-letters show shop -n 5
    odradek pipeline dead-letters show shop --reason undecodable --full
    odradek pipeline dead-letters show shop --from @2026-01-31T12:00 --format json
    """
    with wrong_usage():
        begin = None if start is None else parse_start(start)
    asyncio.run(_show(settings, letters, selection, begin, count, full=full))


async def _show(
    settings: Settings, letters: ProjectLetters, selection: Selection, begin: Start | None, count: int, *, full: bool
) -> None:
    remaining = count
    for topics in letters.topics:
        async for letter in _letters(topics, letters.group, begin):
            if not selection.has(letter):
                continue
            if remaining == 0:
                if not settings.as_json:
                    echo(f"there are more; -n {2 * count} shows more of them")
                return
            remaining -= 1
            if settings.as_json:
                print_json(document(letter))
            else:
                sys.stdout.write("\n".join(lines(letter, full=full, utc=settings.utc)) + "\n")
    if remaining == count and not settings.as_json:
        echo("no letter is waiting" if begin is None else "there is no such letter")


async def _letters(topics: LetterTopics, group: str, begin: Start | None) -> AsyncIterator[Letter]:
    async with letter_consumer(topics, group) as consumer:
        waiting = await waiting_letters(consumer, topics, group)
        starts = {partition.partition: partition.position for partition in waiting}
        if begin is not None:
            starts = await start_offsets(consumer, list(starts), begin)
        for partition in waiting:
            first = max(starts[partition.partition], partition.start)
            async for chunk in chunks(consumer, partition.partition, first, partition.end, _READ_RECORDS):
                for letter in chunk.letters:
                    yield letter


def document(letter: Letter) -> dict[str, object]:
    """Return the letter for --format json. Bytes that are text are strings, others {"hex": "…"}."""
    return {
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "timestamp_ms": letter.timestamp_ms,
        "source_topic": letter.source_topic,
        "source_partition": letter.source_partition,
        "source_offset": letter.source_offset,
        "source_timestamp_ms": letter.source_timestamp_ms,
        "reason": letter.reason,
        "step": letter.step,
        "group": letter.group,
        "attempts": letter.attempts,
        "exception": letter.exception,
        "message": letter.message,
        "trace": letter.trace,
        "replay_error": letter.replay_error,
        "key": shown_bytes(letter.key),
        "value": shown_bytes(letter.value),
        "headers": [[name, shown_bytes(value)] for name, value in letter.headers],
    }


def lines(letter: Letter, *, full: bool, utc: bool) -> list[str]:
    """The letter for a person; nothing in it steers the terminal."""
    time = format_timestamp(letter.timestamp_ms, utc=utc)
    rows = [
        ("from", _source(letter, utc=utc)),
        ("reason", f"{letter.reason}{_rejected_by(letter)}"),
        ("error", letter.error),
        ("replay", letter.replay_error or ""),
        ("trace", (letter.trace or "") if full else ""),
        ("key", "" if letter.key is None else text_of(letter.key, full=full)),
        ("headers", headers_text(letter.headers, full=full)),
        ("value", text_of(letter.value, full=full)),
    ]
    details = [f"  {name:<9}{printable(text, keep=_LINES if full else '')}" for name, text in rows if text]
    return [f"{printable(letter.topic)}-{letter.partition} offset {letter.offset}, {time}", *details]


_LINES = "\n\t"


def _source(letter: Letter, *, utc: bool) -> str:
    if letter.source_topic is None:
        return ""
    time = "" if letter.source_timestamp_ms is None else f", {format_timestamp(letter.source_timestamp_ms, utc=utc)}"
    return f"{letter.source_topic}-{letter.source_partition} offset {letter.source_offset}{time}"


def _rejected_by(letter: Letter) -> str:
    attempts = "" if letter.attempts is None else f" after {letter.attempts} attempts"
    if letter.step is not None:
        return f" in step {letter.step}{attempts}"
    return f" by group {letter.group}{attempts}" if letter.group is not None else attempts


def headers_text(headers: Headers, *, full: bool) -> str:
    return ", ".join(f"{name}={text_of(value, full=full)}" for name, value in headers)


def text_of(data: bytes | None, *, full: bool) -> str:
    """Bytes as text; what is not UTF-8 is escaped. Shortened unless it is to be full."""
    if data is None:
        return "null"
    text = data.decode(errors="backslashreplace")
    if full or len(text) <= SHOWN_CHARACTERS:
        return text
    return f"{text[:SHOWN_CHARACTERS]}… ({len(data):,} bytes)"
