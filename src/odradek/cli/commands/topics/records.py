"""`odradek topics offsets` and `delete-records`: where the records of a topic begin and end, and a new beginning."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.outcomes import accepted, refused, status_of, unknown_topic
from odradek.cli.base.output import UNKNOWN, format_timestamp, plural, print_json, print_table
from odradek.cli.base.partitions import find_partitions
from odradek.cli.base.times import parse_moment
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.client.admin.partitions import HIGH_WATERMARK, OffsetAndTimestamp, delete_records, list_offsets
from odradek.client.admin.topics import list_topics
from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.special_timestamps import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)

_TIMES = {
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
@click.option("--at", metavar="TIME", help=f"One of {', '.join(_TIMES)}; or milliseconds, or 2026-01-31T12:00.")
@click.option("--exclude-internal", is_flag=True, help="Without the topics that brokers keep for themselves.")
@network_options
@click.pass_obj
def offsets_command(settings: Settings, names: tuple[str, ...], at: str | None, exclude_internal: bool) -> int:
    """Show where the records of topics, all unless named, begin and end; or the first one at or after a time."""
    timestamp = None if at is None else _parse_time(at)

    async def ask(cluster: ClusterRouter) -> list[Outcomes[TopicPartition, OffsetAndTimestamp]]:
        wanted = names or await _all_topics(cluster, exclude_internal=exclude_internal)
        found, missing = await find_partitions(cluster, wanted)
        times = (EARLIEST, LATEST) if timestamp is None else (timestamp,)
        asked = [await list_offsets(cluster, dict.fromkeys(found, each)) for each in times]
        return [{**missing, **outcomes} for outcomes in asked]

    outcomes = on_cluster(settings, ask)
    if len(outcomes) == 1:
        _show_offsets(settings, accepted(outcomes[0]))
    else:
        _show_ranges(settings, accepted(outcomes[0]), accepted(outcomes[1]))
    return status_of({**outcomes[-1], **refused(outcomes[0])}, "partition", unknown_topic)


@click.command("delete-records")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option("--before", metavar="OFFSET", help=f'The first offset that stays; "{_END}" deletes all.')
@click.option("--file", "path", metavar="FILE", help="What to delete where, in the form of Kafka's tool.")
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
        targets = dict.fromkeys(_existing(settings, names), first)
    else:
        raise click.UsageError("Name topics and --before, or else a --file.")
    many = plural(len(targets), "partition")
    confirm(f"Records of {many} will be deleted: {_listed(targets)}.", yes=yes)
    outcomes = on_cluster(settings, lambda cluster: delete_records(cluster, targets))
    deleted = sorted(accepted(outcomes).items())
    if settings.as_json:
        print_json([{**_document(each), "log_start_offset": offset} for each, offset in deleted])
    elif deleted:
        print_table(("topic", "partition", "begins at"), [(*each, offset) for each, offset in deleted])
    return status_of(outcomes, "partition", unknown_topic)


async def _all_topics(cluster: ClusterRouter, *, exclude_internal: bool) -> list[str]:
    return [topic.name for topic in await list_topics(cluster) if not (exclude_internal and topic.is_internal)]


def _existing(settings: Settings, names: Sequence[str]) -> list[TopicPartition]:
    """Looked up before anything is asked or deleted."""
    found, missing = on_cluster(settings, lambda cluster: find_partitions(cluster, names))
    for partition, error in missing.items():
        raise InputError(f"partition {partition}: {unknown_topic(partition, error) or error.message}")
    return found


def _show_offsets(settings: Settings, offsets: Mapping[TopicPartition, OffsetAndTimestamp]) -> None:
    found = sorted(offsets.items())
    if settings.as_json:
        print_json([{**_document(each), "offset": at.offset, "timestamp_ms": at.timestamp_ms} for each, at in found])
        return
    rows = []
    for each, at in found:
        time = "-" if at.timestamp_ms is None else format_timestamp(at.timestamp_ms, utc=settings.utc)
        rows.append((*each, UNKNOWN if at.offset is None else at.offset, time))
    print_table(("topic", "partition", "offset", "time"), rows)


def _show_ranges(
    settings: Settings,
    starts: Mapping[TopicPartition, OffsetAndTimestamp],
    ends: Mapping[TopicPartition, OffsetAndTimestamp],
) -> None:
    rows = [(each, starts[each].offset or 0, ends[each].offset or 0) for each in sorted(starts) if each in ends]
    if settings.as_json:
        print_json([{**_document(each), "start_offset": start, "end_offset": end} for each, start, end in rows])
    else:
        cells = [(*each, start, end, end - start) for each, start, end in rows]
        print_table(("topic", "partition", "start", "end", "offsets"), cells)


def _document(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}


def _listed(targets: Mapping[TopicPartition, int]) -> str:
    said = [
        f"{each} {'all' if before == HIGH_WATERMARK else f'before {before}'}" for each, before in list(targets.items())
    ]
    return ", ".join(said[:_LISTED_MAX]) + (", …" if len(said) > _LISTED_MAX else "")


#: A question is one that can be read.
_LISTED_MAX = 10


def _parse_time(text: str) -> int:
    """A special one, milliseconds since 1970, or a time of the calendar: local, unless it says its zone."""
    if text in _TIMES:
        return _TIMES[text]
    moment_ms = parse_moment(text)
    if moment_ms is None:
        right = f"Right would be {', '.join(_TIMES)}, milliseconds since 1970, or a time such as 2026-01-31T12:00."
        raise InputError(f'--at: "{text}" is no time. {right}')
    return moment_ms


def _parse_before(text: str) -> int:
    if text == _END:
        return HIGH_WATERMARK
    if not text.isdecimal():
        raise InputError(f'--before: "{text}" is no offset. Right would be a number, or "{_END}" to delete all.')
    return int(text)


def _read_targets(path: str) -> dict[TopicPartition, int]:
    try:
        document = json.loads(OsFileSystem().read_file(path))
        targets = {
            TopicPartition(str(each["topic"]), int(each["partition"])): int(each["offset"])
            for each in document["partitions"]
        }
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: {type(error).__name__} {error}; right would be "
            '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 100}]}.'
        ) from None
    if not targets:
        raise InputError(f"{path}: it names no partition.")
    return targets
