"""`odradek topics offsets` and `delete-records`: first and last offsets of topics, and deletion of old records."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.outcomes import report_rejected, unknown_topic_advice
from odradek.cli.base.output import UNKNOWN, format_timestamp, plural, print_json, print_table
from odradek.cli.base.partitions import find_partitions
from odradek.cli.base.times import parse_timestamp
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.partitions import HIGH_WATERMARK, OffsetAndTimestamp
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.list_offsets_timestamps import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)

_SPECIAL_TIMESTAMPS = {
    "earliest": EARLIEST,
    "latest": LATEST,
    "max-timestamp": MAX_TIMESTAMP,
    "earliest-local": EARLIEST_LOCAL,
    "latest-tiered": LATEST_TIERED,
    "earliest-pending-upload": EARLIEST_PENDING_UPLOAD,
}

_END = "end"


@click.command("offsets")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option("--at", metavar="TIME", help=f"{', '.join(_SPECIAL_TIMESTAMPS)}; or milliseconds, or 2026-01-31T12:00.")
@click.option("--exclude-internal", is_flag=True, help="Leave out internal topics.")
@network_options
@click.pass_obj
def offsets_command(settings: Settings, names: tuple[str, ...], at: str | None, exclude_internal: bool) -> int:
    """Show the first and last offsets of topics, by default of all; or the first offset at or after a time."""
    timestamp = None if at is None else _parse_at(at)

    async def work(admin: AdminOperations) -> list[Outcomes[TopicPartition, OffsetAndTimestamp]]:
        requested = names or await _all_topics(admin, exclude_internal=exclude_internal)
        partitions, unknown = await find_partitions(admin, requested)
        timestamps = (EARLIEST, LATEST) if timestamp is None else (timestamp,)
        responses = [await admin.partitions.list_offsets(dict.fromkeys(partitions, bound)) for bound in timestamps]
        return [Outcomes({**unknown, **offsets}) for offsets in responses]

    outcomes = on_cluster(settings, work)
    if len(outcomes) == 1:
        _show_offsets(settings, outcomes[0].succeeded())
    else:
        _show_ranges(settings, outcomes[0].succeeded(), outcomes[1].succeeded())
    rejected = Outcomes({**outcomes[-1], **outcomes[0].rejected()})
    return report_rejected(rejected, "partition", unknown_topic_advice)


@click.command("delete-records")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option("--before", metavar="OFFSET", help=f'First offset to keep; "{_END}" deletes all records.')
@click.option("--file", "path", metavar="FILE", help="Offsets in the JSON format of kafka-delete-records.sh.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def delete_records_command(
    settings: Settings, names: tuple[str, ...], before: str | None, path: str | None, yes: bool
) -> int:
    """Delete the oldest records of topics.

    The file is {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 100}]}.
    """
    if path is not None and not names and before is None:
        targets = _read_targets(path)
    elif path is None and names and before is not None:
        first = _parse_before(before)
        targets = dict.fromkeys(_existing_partitions(settings, names), first)
    else:
        raise click.UsageError("Pass either topics and --before, or --file.")
    count = plural(len(targets), "partition")
    confirm(f"Records of {count} will be deleted: {_summary(targets)}.", yes=yes)
    outcomes = on_cluster(settings, lambda admin: admin.partitions.delete_records(targets))
    starts = sorted(outcomes.succeeded().items())
    if settings.as_json:
        print_json([{**_document(partition), "log_start_offset": offset} for partition, offset in starts])
    elif starts:
        print_table(("topic", "partition", "log start"), [(*partition, offset) for partition, offset in starts])
    return report_rejected(outcomes, "partition", unknown_topic_advice)


async def _all_topics(admin: AdminOperations, *, exclude_internal: bool) -> list[str]:
    return [topic.name for topic in await admin.topics.list_all() if not (exclude_internal and topic.is_internal)]


def _existing_partitions(settings: Settings, names: Sequence[str]) -> list[TopicPartition]:
    """Return the named partitions, before a confirmation is requested. Raises InputError for an unknown one."""
    partitions, unknown = on_cluster(settings, lambda admin: find_partitions(admin, names))
    for partition, error in unknown.items():
        raise InputError(f"partition {partition}: {unknown_topic_advice(partition, error) or error.message}")
    return partitions


def _show_offsets(settings: Settings, offsets: Mapping[TopicPartition, OffsetAndTimestamp]) -> None:
    if settings.as_json:
        print_json(
            [
                {**_document(partition), "offset": result.offset, "timestamp_ms": result.timestamp_ms}
                for partition, result in sorted(offsets.items())
            ]
        )
        return
    rows = []
    for partition, result in sorted(offsets.items()):
        time = "-" if result.timestamp_ms is None else format_timestamp(result.timestamp_ms, utc=settings.utc)
        rows.append((*partition, UNKNOWN if result.offset is None else result.offset, time))
    print_table(("topic", "partition", "offset", "time"), rows)


def _show_ranges(
    settings: Settings,
    starts: Mapping[TopicPartition, OffsetAndTimestamp],
    ends: Mapping[TopicPartition, OffsetAndTimestamp],
) -> None:
    ranges = [
        (partition, starts[partition].offset or 0, ends[partition].offset or 0)
        for partition in sorted(starts)
        if partition in ends
    ]
    if settings.as_json:
        print_json(
            [{**_document(partition), "start_offset": start, "end_offset": end} for partition, start, end in ranges]
        )
    else:
        rows = [(*partition, start, end, end - start) for partition, start, end in ranges]
        print_table(("topic", "partition", "start", "end", "offsets"), rows)


def _document(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}


def _summary(targets: Mapping[TopicPartition, int]) -> str:
    items = [
        f"{partition} {'all' if offset == HIGH_WATERMARK else f'before {offset}'}"
        for partition, offset in targets.items()
    ]
    return ", ".join(items[:_SUMMARY_ITEMS_MAX]) + (", …" if len(items) > _SUMMARY_ITEMS_MAX else "")


#: Keeps the question readable.
_SUMMARY_ITEMS_MAX = 10


def _parse_at(text: str) -> int:
    """Return a special timestamp by its name, or ms since 1970. Raises InputError."""
    if text in _SPECIAL_TIMESTAMPS:
        return _SPECIAL_TIMESTAMPS[text]
    timestamp_ms = parse_timestamp(text)
    if timestamp_ms is None:
        names = ", ".join(_SPECIAL_TIMESTAMPS)
        expected = f"Expected {names}, milliseconds since 1970, or a time such as 2026-01-31T12:00."
        raise InputError(f'--at: "{text}" is not a valid time. {expected}')
    return timestamp_ms


def _parse_before(text: str) -> int:
    if text == _END:
        return HIGH_WATERMARK
    if not text.isdecimal():
        raise InputError(f'--before: "{text}" is not an offset. Expected a number, or "{_END}" to delete all records.')
    return int(text)


def _read_targets(path: str) -> dict[TopicPartition, int]:
    try:
        document = json.loads(OsFileSystem().read_file(path))
        targets = {
            TopicPartition(str(entry["topic"]), int(entry["partition"])): int(entry["offset"])
            for entry in document["partitions"]
        }
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: {type(error).__name__} {error}; expected "
            '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 100}]}.'
        ) from None
    if not targets:
        raise InputError(f"{path}: the list of partitions is empty.")
    return targets
