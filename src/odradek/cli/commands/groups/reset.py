"""`odradek groups reset-offsets`: commit other offsets for a group.

The new offsets are shown before confirmation is requested. Only a group without members can be reset: its members would
overwrite the offsets. This is checked first, and again by the coordinator.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from odradek.cli.base.complete import complete_groups
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.outcomes import report_rejected, unknown_topic_advice
from odradek.cli.base.output import plural, print_json, print_table
from odradek.cli.base.partitions import find_partitions
from odradek.cli.base.times import parse_timestamp
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.common.list_offsets_timestamps import EARLIEST, LATEST
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_EARLIEST, _LATEST, _CURRENT = "earliest", "latest", "current"
_NONE = "-"

HAS_MEMBERS = "has members; stop them first. odradek groups describe --members shows their hosts"


@dataclass(frozen=True, slots=True)
class _ResetPlan:
    """Offsets of the partitions, now and after the reset."""

    #: None if nothing is committed.
    current: Mapping[TopicPartition, int | None]
    target: Mapping[TopicPartition, int]
    #: Partitions that cannot be reset.
    rejected: Mapping[TopicPartition, Refused]


@click.command("reset-offsets")
@click.argument("name", metavar="GROUP", shell_complete=complete_groups)
@click.option(
    "--topic", "topics", multiple=True, metavar="TOPIC[:PARTITION]", help="[default: all with committed offsets]"
)
@click.option("--to", metavar="OFFSET", help="earliest, latest, current, a number, or @TIME as milliseconds or ISO.")
@click.option("--shift-by", type=int, metavar="N", help="Move N records forward, or back by -N.")
@click.option("--dry-run", is_flag=True, help="Only show the new offsets.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def reset_command(
    settings: Settings,
    name: str,
    topics: tuple[str, ...],
    to: str | None,
    shift_by: int | None,
    dry_run: bool,
    yes: bool,
) -> int:
    """Reset the committed offsets of a group that has no members."""
    if (to is None) == (shift_by is None):
        raise click.UsageError("Pass either --to or --shift-by.")
    _check_target(to)
    if not name:
        raise InputError("the name of the group is empty")
    if not dry_run:
        on_cluster(settings, lambda admin: _check_no_members(admin, name))
    plan = on_cluster(settings, lambda admin: _plan_reset(admin, name, topics, to, shift_by))
    if not settings.as_json:
        _show_plan(plan)
    if dry_run or not plan.target:
        if settings.as_json:
            print_json(_documents(plan, plan.target))
        return report_rejected(Outcomes(plan.rejected), "partition", unknown_topic_advice)
    confirm(f"{plural(len(plan.target), 'offset')} of group {name} will be changed.", yes=yes)
    outcomes = on_cluster(settings, lambda admin: admin.group_offsets.alter(name, plan.target))
    committed = outcomes.succeeded()
    if settings.as_json:
        print_json(_documents(plan, committed))
    elif committed:
        echo(f"Changed {plural(len(committed), 'offset')} of {name}.")
    return report_rejected(Outcomes({**plan.rejected, **outcomes}), "partition", _commit_advice)


async def _check_no_members(admin: AdminOperations, name: str) -> None:
    """Raise InputError if the group has members. A group that does not exist yet can be given offsets."""
    group = (await admin.groups.describe([name])).succeeded().get(name)
    if group is not None and group.members:
        raise InputError(f"group {name}: {HAS_MEMBERS}")


async def _plan_reset(
    admin: AdminOperations, name: str, topics: Sequence[str], to: str | None, shift_by: int | None
) -> _ResetPlan:
    offsets = (await admin.group_offsets.list_committed([name])).values_or_raise()[name].succeeded()
    committed = {partition: offset.offset for partition, offset in offsets.items()}
    partitions, unknown = (sorted(committed), {}) if not topics else await find_partitions(admin, topics)
    if not partitions and not unknown:
        raise InputError(f"group {name} has no committed offsets; choose partitions with --topic")
    starts, ends = await asyncio.gather(
        *(admin.partitions.list_offsets(dict.fromkeys(partitions, bound)) for bound in (EARLIEST, LATEST))
    )
    first = {partition: start.offset or 0 for partition, start in starts.succeeded().items()}
    last = {partition: end.offset or 0 for partition, end in ends.succeeded().items()}
    known_partitions = [partition for partition in partitions if partition in last]
    if shift_by is None:
        assert to is not None
        requested = await _offsets_at(admin, known_partitions, committed, last, to)
    else:
        requested = _shifted_offsets(known_partitions, committed, shift_by)
    target = {
        partition: min(max(offset, first.get(partition, 0)), last[partition]) for partition, offset in requested.items()
    }
    current = {partition: committed.get(partition) for partition in target}
    return _ResetPlan(current, target, {**unknown, **starts.rejected()})


def _shifted_offsets(
    partitions: Sequence[TopicPartition], committed: Mapping[TopicPartition, int], shift_by: int
) -> dict[TopicPartition, int]:
    """Return shifted offsets, which may lie outside of the log."""
    without_offset = [str(partition) for partition in partitions if partition not in committed]
    if without_offset:
        raise InputError(f"nothing is committed for {', '.join(without_offset)}; use --to for these partitions")
    return {partition: committed[partition] + shift_by for partition in partitions}


async def _offsets_at(
    admin: AdminOperations,
    partitions: Sequence[TopicPartition],
    committed: Mapping[TopicPartition, int],
    last: Mapping[TopicPartition, int],
    to: str,
) -> dict[TopicPartition, int]:
    """Return the offsets that `--to` names, which may lie outside of the log."""
    if to == _CURRENT:
        return {partition: committed.get(partition, last[partition]) for partition in partitions}
    if to == _EARLIEST:
        return dict.fromkeys(partitions, 0)
    if to == _LATEST:
        return {partition: last[partition] for partition in partitions}
    if not to.startswith("@"):
        return dict.fromkeys(partitions, int(to))
    timestamp_ms = parse_timestamp(to)
    assert timestamp_ms is not None
    offsets = (await admin.partitions.list_offsets(dict.fromkeys(partitions, timestamp_ms))).succeeded()
    return {
        partition: last[partition] if result.offset is None else result.offset for partition, result in offsets.items()
    }


def _check_target(to: str | None) -> None:
    if to is None or to in (_EARLIEST, _LATEST, _CURRENT) or to.isdecimal():
        return
    if to.startswith("@") and parse_timestamp(to) is not None:
        return
    raise InputError(
        f'--to: "{to}" is not an offset. Expected earliest, latest, current, a number such as 42, or a time such as '
        "@2026-01-31T12:00."
    )


def _show_plan(plan: _ResetPlan) -> None:
    if not plan.target:
        return
    rows = []
    for partition, offset in plan.target.items():
        current = plan.current[partition]
        rows.append((*partition, _NONE if current is None else current, offset))
    print_table(("topic", "partition", "current", "new"), rows)


def _documents(plan: _ResetPlan, offsets: Mapping[TopicPartition, int]) -> list[dict[str, object]]:
    return [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "from": plan.current[partition],
            "to": offsets[partition],
        }
        for partition in offsets
    ]


def _commit_advice(key: object, error: Refused) -> str | None:
    """Return advice for UNKNOWN_MEMBER_ID: once a group has members, only they can commit."""
    if error.code == ErrorCode.UNKNOWN_MEMBER_ID:
        return "the group has members by now; stop them first"
    return unknown_topic_advice(key, error)
