"""`odradek pipeline dead-letters list`: how many letters are waiting, since when, and why."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings
from odradek.cli.base.output import Progress, format_timestamp, plural, print_json, print_table
from odradek.cli.commands.pipeline.letters import ProjectLetters, letter_options
from odradek.spark.pipeline.dead_letters.letter import Letter
from odradek.spark.pipeline.dead_letters.reading import chunks, letter_consumer, waiting_letters
from odradek.spark.pipeline.dead_letters.topics import LetterTopics

_NONE = "-"

#: Records that are read at a time.
_READ_RECORDS = 1_000


@dataclass(slots=True)
class Group:
    """Letters of one dead-letter topic with the same source topic, reason and step."""

    topic: str
    source_topic: str | None
    reason: str
    step: str | None
    letters: int
    first_ms: int
    last_ms: int


@click.command("list")
@letter_options
def list_command(settings: Settings, letters: ProjectLetters) -> None:
    """Count the letters that are waiting, by source and reason.

    Letters that were replayed or dropped are not counted: "show --from earliest" shows them.
    """
    groups = asyncio.run(_count_all(letters))
    if settings.as_json:
        print_json(
            {
                "pipeline": letters.project.name,
                "group": letters.group,
                "topics": letters.topic_names,
                "waiting": sum(group.letters for group in groups),
                "letters": [asdict(group) for group in groups],
            }
        )
        return
    for topic in letters.topic_names:
        count = sum(group.letters for group in groups if group.topic == topic)
        echo(f"{topic}: {plural(count, 'dead letter')} waiting")
    if groups:
        headers = ("topic", "from topic", "reason", "step", "letters", "first", "last")
        print_table(headers, [_row(group, utc=settings.utc) for group in groups])


def _row(group: Group, *, utc: bool) -> tuple[object, ...]:
    return (
        group.topic,
        group.source_topic or _NONE,
        group.reason,
        group.step or _NONE,
        group.letters,
        format_timestamp(group.first_ms, utc=utc),
        format_timestamp(group.last_ms, utc=utc),
    )


async def _count_all(letters: ProjectLetters) -> Sequence[Group]:
    groups: dict[tuple[str, ...], Group] = {}
    progress = Progress()
    for topics in letters.topics:
        await _count(topics, letters.group, groups, progress)
    progress.finish()
    return [group for _, group in sorted(groups.items())]


async def _count(topics: LetterTopics, group: str, groups: dict[tuple[str, ...], Group], progress: Progress) -> None:
    async with letter_consumer(topics, group) as consumer:
        for waiting in await waiting_letters(consumer, topics, group):
            reading = chunks(consumer, waiting.partition, waiting.position, waiting.end, _READ_RECORDS)
            async for chunk in reading:
                for letter in chunk.letters:
                    _add(groups, letter)
                progress.say(f"{sum(group_of_letters.letters for group_of_letters in groups.values()):,} letters read")


def _add(groups: dict[tuple[str, ...], Group], letter: Letter) -> None:
    step = letter.step or letter.group
    key = (letter.topic, letter.source_topic or "", letter.reason, step or "")
    group = groups.get(key)
    if group is None:
        time_ms = letter.timestamp_ms
        groups[key] = Group(letter.topic, letter.source_topic, letter.reason, step, 1, time_ms, time_ms)
        return
    group.letters += 1
    group.first_ms = min(group.first_ms, letter.timestamp_ms)
    group.last_ms = max(group.last_ms, letter.timestamp_ms)
