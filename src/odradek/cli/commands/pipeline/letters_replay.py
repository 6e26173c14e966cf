"""`odradek pipeline dead-letters replay`: letters back to their topics, with a fix, exactly once."""

import asyncio
from dataclasses import asdict, dataclass, field

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.confirm import confirm
from odradek.cli.base.errors import echo, warn, wrong_usage
from odradek.cli.base.options import Settings
from odradek.cli.base.output import Progress, plural, print_json
from odradek.cli.commands.consume.record_json import shown_bytes
from odradek.cli.commands.pipeline.letters import (
    ProjectLetters,
    letter_options,
    selection_options,
)
from odradek.cli.commands.pipeline.letters_show import document, headers_text, text_of
from odradek.common.failures import InputError
from odradek.spark.pipeline.dead_letters.fix import Drop, Fix, Send, expression_fix, file_fix, unchanged
from odradek.spark.pipeline.dead_letters.letter import FixedRecord
from odradek.spark.pipeline.dead_letters.reading import chunks, letter_consumer, waiting_letters
from odradek.spark.pipeline.dead_letters.replay import (
    CHUNK_RECORDS,
    Counts,
    Deciding,
    Handled,
    Replay,
    ReplayPlan,
    Selection,
)
from odradek.spark.pipeline.dead_letters.topics import LetterTopics, uncommitted_readers

#: Letters that a dry run shows before and after the fix.
_SHOWN = 5


@click.command("replay")
@click.option("--fix", "expression", metavar="EXPRESSION", help="Python; gives the new value, None drops the letter.")
@click.option("--fix-file", "path", metavar="FILE", type=click.Path(), help="Python file with a function fix(letter).")
@click.option(
    "--to", metavar="TOPIC", shell_complete=complete_topics, help="Where to send them [default: where they came from]."
)
@click.option("-n", "--count", type=click.IntRange(min=1), metavar="N", help="Stop after N letters.")
@click.option("--dry-run", is_flag=True, help=f"Apply the fix, show {_SHOWN} letters before and after, send nothing.")
@click.option(
    "--chunk",
    type=click.IntRange(min=1),
    default=CHUNK_RECORDS,
    show_default=True,
    metavar="N",
    help="Letters in a transaction.",
)
@click.option("--full", is_flag=True, help="With --dry-run: values as they are, not shortened.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@letter_options
@selection_options
def replay_command(
    settings: Settings,
    letters: ProjectLetters,
    *,
    selection: Selection,
    expression: str | None,
    path: str | None,
    to: str | None,
    count: int | None,
    dry_run: bool,
    chunk: int,
    full: bool,
    yes: bool,
) -> int:
    """Send letters back to their topics, exactly once.

    Letters that are waiting are sent to the topics they came from, or --to another one, after a fix.

    \b
    odradek pipeline dead-letters replay shop                       as they are
    odradek pipeline dead-letters replay shop --fix 'value.replace(b"3,5", b"3.5")'
    odradek pipeline dead-letters replay shop --fix 'json.dumps({**json.loads(value), "id": 0})'
    odradek pipeline dead-letters replay shop --fix-file fix.py --dry-run

    In --fix there are value, key (bytes or None), headers (a dict), source_topic, reason, message, letter, and the
    modules json and re. The result is the new value (bytes or str), letter.record(value=…, key=…, headers=…, topic=…,
    partition=…, timestamp_ms=…), letter (as it was), None (drop it) or letter.skip() (let it stay). In a file,
    fix(letter) returns the same.

    Letters stay if the fix raises an exception or skips them, if the cluster refuses the record, or if --reason or
    --source do not select them: they are written to the end of the dead-letter topic again, with the error. Each chunk
    of letters is one transaction, with the offset after it: a replay that is killed and started again neither loses
    nor repeats a letter for consumers with isolation.level=read_committed.

    Exit status 1 if letters failed.
    """
    if expression is not None and path is not None:
        raise click.UsageError("--fix and --fix-file exclude each other.")
    with wrong_usage():
        fix = _fix(expression, path)
    plan = ReplayPlan(letters.group, fix, to, selection, count, chunk)
    preview = asyncio.run(_preview(letters, plan, everything=dry_run))
    if dry_run:
        _show_preview(settings, preview, full=full)
        return 1 if preview.counts.failed else 0
    if preview.counts.handled == 0:
        _finish(settings, Counts())
        return 0
    _refuse_useless_fix(preview)
    _warn_of_readers(letters, preview.counts)
    confirm(_question(preview, plan), yes=yes)
    counts = _replay(letters, plan)
    _finish(settings, counts)
    return 1 if counts.failed else 0


def _fix(expression: str | None, path: str | None) -> Fix:
    if expression is not None:
        return expression_fix(expression)
    return unchanged if path is None else file_fix(path)


# Before anything is sent


@dataclass(slots=True)
class _Preview:
    #: What would become of the letters; of some of them unless it is a dry run.
    counts: Counts = field(default_factory=Counts)
    examples: list[Handled] = field(default_factory=list)
    #: Letters that are selected, whether the fix was tried on them or not.
    selected: int = 0
    topics: tuple[str, ...] = ()


async def _preview(letters: ProjectLetters, plan: ReplayPlan, *, everything: bool) -> _Preview:
    """Read the letters that are waiting, and try the fix: on all of them, or on some."""
    preview, progress = _Preview(topics=tuple(letters.topic_names)), Progress()
    for topics in letters.topics:
        await _preview_cluster(topics, plan, preview, progress, everything=everything)
    progress.finish()
    return preview


async def _preview_cluster(
    topics: LetterTopics, plan: ReplayPlan, preview: _Preview, progress: Progress, *, everything: bool
) -> None:
    async with letter_consumer(topics, plan.group) as consumer:
        deciding = Deciding(plan, consumer)
        for waiting in await waiting_letters(consumer, topics, plan.group):
            reading = chunks(consumer, waiting.partition, waiting.position, waiting.end, plan.chunk_records)
            async for chunk in reading:
                for letter in chunk.letters:
                    if preview.selected == plan.limit:
                        return
                    if not plan.selection.has(letter):
                        continue
                    preview.selected += 1
                    if everything or len(preview.examples) < plan.chunk_records:
                        handled = await deciding.decide(letter)
                        preview.counts.add([handled])
                        preview.examples.append(handled)
                        del preview.examples[CHUNK_RECORDS:]
                progress.say(f"{preview.selected:,} letters read")


def _refuse_useless_fix(preview: _Preview) -> None:
    """A fix that fails for every letter has a mistake of its own; the letters are not touched."""
    if preview.counts.failed == preview.counts.handled:
        decision = preview.examples[0].decision
        error = "" if isinstance(decision, Send | Drop) else decision.error
        count = preview.counts.handled
        which = "the letter" if count == 1 else f"all of the first {count} letters"
        raise InputError(f"the fix fails for {which}, so nothing was sent: {error}")


def _warn_of_readers(letters: ProjectLetters, counts: Counts) -> None:
    for reader in uncommitted_readers(letters.project, counts.by_topic):
        warn(
            f"{reader} without kafka.isolation.level=read_committed: if this replay is killed, it may read records of "
            "the aborted transaction, too"
        )


def _question(preview: _Preview, plan: ReplayPlan) -> str:
    targets = sorted(preview.counts.by_topic) or [plan.to or "their topics"]
    letters = plural(preview.selected, "letter")
    return f"{letters} of {', '.join(preview.topics)} will be sent to {', '.join(targets)}."


# Dry run


def _show_preview(settings: Settings, preview: _Preview, *, full: bool) -> None:
    if settings.as_json:
        for handled in preview.examples:
            print_json({"before": document(handled.letter), **_after_document(handled)})
        return
    for handled in preview.examples[:_SHOWN]:
        letter = handled.letter
        echo(f"{letter.topic}-{letter.partition} offset {letter.offset}, {letter.reason}: {letter.error}")
        echo(f"  before  {text_of(letter.value, full=full)}")
        echo(f"  after   {_after(handled, full=full)}")
    echo(f"dry run, nothing was sent: {_counted(preview.counts, would=True)}")


def _after(handled: Handled, *, full: bool) -> str:
    decision = handled.decision
    if isinstance(decision, Drop):
        return "(dropped)"
    if not isinstance(decision, Send):
        return f"(stays: {decision.error or 'skipped'})"
    record, letter = decision.record, handled.letter
    changes = [f"to {record.topic}"] if record.topic != letter.source_topic else []
    changes += [f"key {text_of(record.key, full=full)}"] if record.key != letter.key else []
    changes += [f"headers {headers_text(record.headers, full=full)}"] if record.headers != letter.headers else []
    return text_of(record.value, full=full) + (f" ({', '.join(changes)})" if changes else "")


def _after_document(handled: Handled) -> dict[str, object]:
    decision = handled.decision
    if isinstance(decision, Drop):
        return {"outcome": "dropped"}
    if not isinstance(decision, Send):
        return {"outcome": "stays", "error": decision.error}
    return {"outcome": "replayed", "after": _record_document(decision.record)}


def _record_document(record: FixedRecord) -> dict[str, object]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp_ms": record.timestamp_ms,
        "key": shown_bytes(record.key),
        "value": shown_bytes(record.value),
        "headers": [[name, shown_bytes(value)] for name, value in record.headers],
    }


# The replay


def _replay(letters: ProjectLetters, plan: ReplayPlan) -> Counts:
    counts, progress = Counts(), Progress()

    async def replay_all() -> None:
        for topics in letters.topics:
            await Replay(topics, plan, counts, lambda: progress.say(_counted(counts))).run()

    try:
        asyncio.run(replay_all())
    except BaseException:
        progress.finish()
        if counts.transactions:
            echo(f"before it ended: {_counted(counts)}", err=True)
        raise
    progress.finish()
    return counts


def _finish(settings: Settings, counts: Counts) -> None:
    if settings.as_json:
        print_json({**asdict(counts), "by_topic": dict(counts.by_topic)})
    elif counts.transactions:
        echo(_counted(counts))
        if counts.failed:
            echo("odradek pipeline dead-letters show tells why letters failed")
    else:
        echo("no letter is waiting")


def _counted(counts: Counts, *, would: bool = False) -> str:
    targets = ", ".join(f"{count:,} to {topic}" for topic, count in sorted(counts.by_topic.items()))
    parts = [f"{counts.replayed:,} {'to replay' if would else 'replayed'}{f' ({targets})' if targets else ''}"]
    for count, outcome in (
        (counts.dropped, "dropped"),
        (counts.failed, "failed"),
        (counts.skipped, "skipped"),
        (counts.unselected, "not selected"),
    ):
        if count:
            parts.append(f"{count:,} {outcome}")
    if counts.transactions:
        parts.append(f"in {plural(counts.transactions, 'transaction')}")
    return ", ".join(parts)
