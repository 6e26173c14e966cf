"""`odradek groups reset-offsets`: a group goes on from somewhere else.

What would be committed is shown before anybody is asked. Only a group without members can be reset: its members would
commit over it. That is looked at first, and by the coordinator again.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import click

from odradek.cli.base.complete import complete_groups
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.outcomes import accepted, refused, status_of, unknown_topic
from odradek.cli.base.output import plural, print_json, print_table
from odradek.cli.base.partitions import find_partitions
from odradek.cli.base.times import parse_moment
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.groups import Committed, committed_offsets, describe_groups, set_offsets
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.client.admin.partitions import list_offsets
from odradek.common.failures import InputError
from odradek.common.special_timestamps import EARLIEST, LATEST
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_EARLIEST, _LATEST, _CURRENT = "earliest", "latest", "current"
_NOTHING = "-"

HAS_MEMBERS = "it has members; stop them first, odradek groups describe --members shows where they are"


@dataclass(frozen=True, slots=True)
class _Plan:
    #: None: nothing was committed.
    now: Mapping[TopicPartition, int | None]
    then: Mapping[TopicPartition, int]
    missing: Mapping[TopicPartition, Refused]


@click.command("reset-offsets")
@click.argument("name", metavar="GROUP", shell_complete=complete_groups)
@click.option("--topic", "topics", multiple=True, metavar="TOPIC[:PARTITION]", help="[default: all it has committed]")
@click.option("--to", metavar="WHERE", help="earliest, latest, current, an offset, or @TIME as milliseconds or ISO.")
@click.option("--shift-by", type=int, metavar="N", help="Forth by N records, or back by -N.")
@click.option("--dry-run", is_flag=True, help="Only show what would be committed.")
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
    """Let a group go on from somewhere else."""
    if (to is None) == (shift_by is None):
        raise click.UsageError("Say where: --to, or else --shift-by.")
    _check_where(to)
    if not name:
        raise InputError("the name of the group is empty")
    if not dry_run:
        on_cluster(settings, lambda cluster: _check_members(cluster, name))
    plan = on_cluster(settings, lambda cluster: _plan(cluster, name, topics, to, shift_by))
    if not settings.as_json:
        _show(plan)
    if dry_run or not plan.then:
        if settings.as_json:
            print_json(_documents(plan, plan.then))
        return status_of(plan.missing, "partition", unknown_topic)
    confirm(f"{plural(len(plan.then), 'offset')} of group {name} will be changed.", yes=yes)
    outcomes: Outcomes[TopicPartition, int] = on_cluster(
        settings, lambda cluster: set_offsets(cluster, name, plan.then)
    )
    done = accepted(outcomes)
    if settings.as_json:
        print_json(_documents(plan, done))
    elif done:
        echo(f"Changed {plural(len(done), 'offset')} of {name}.")
    return status_of({**plan.missing, **outcomes}, "partition", _has_members)


async def _check_members(cluster: ClusterRouter, name: str) -> None:
    """A group that is not there yet may be given offsets to begin with."""
    found = (await describe_groups(cluster, [name]))[name]
    if not isinstance(found, Refused) and found.members:
        raise InputError(f"group {name}: {HAS_MEMBERS}")


async def _plan(
    cluster: ClusterRouter, name: str, topics: tuple[str, ...], to: str | None, shift_by: int | None
) -> _Plan:
    known = (await committed_offsets(cluster, [name]))[name]
    if isinstance(known, Refused):
        raise known
    committed = {place: each.offset for place, each in known.items() if isinstance(each, Committed)}
    places, missing = (sorted(committed), {}) if not topics else await find_partitions(cluster, topics)
    if not places and not missing:
        raise InputError(f"group {name} has committed nothing; --topic says what to begin with")
    ranges = await asyncio.gather(*(list_offsets(cluster, dict.fromkeys(places, each)) for each in (EARLIEST, LATEST)))
    first, last = ({place: each.offset or 0 for place, each in accepted(one).items()} for one in ranges)
    wanted = await _wanted(cluster, [place for place in places if place in last], committed, last, to, shift_by)
    then = {place: min(max(offset, first.get(place, 0)), last[place]) for place, offset in wanted.items()}
    gone = refused(ranges[0])
    return _Plan({place: committed.get(place) for place in then}, then, {**missing, **gone})


async def _wanted(
    cluster: ClusterRouter,
    places: list[TopicPartition],
    committed: Mapping[TopicPartition, int],
    last: Mapping[TopicPartition, int],
    to: str | None,
    shift_by: int | None,
) -> dict[TopicPartition, int]:
    """Perhaps outside of what there is: before the beginning is at the beginning, after the end is at the end."""
    if shift_by is not None:
        unknown = [str(place) for place in places if place not in committed]
        if unknown:
            raise InputError(f"nothing is committed for {', '.join(unknown)}; --to says where to begin there")
        return {place: committed[place] + shift_by for place in places}
    if to == _CURRENT:
        return {place: committed.get(place, last[place]) for place in places}
    if to == _EARLIEST:
        return dict.fromkeys(places, 0)
    if to == _LATEST:
        return {place: last[place] for place in places}
    assert to is not None
    if not to.startswith("@"):
        return dict.fromkeys(places, int(to))
    moment_ms = parse_moment(to)
    assert moment_ms is not None
    found = accepted(await list_offsets(cluster, dict.fromkeys(places, moment_ms)))
    return {place: last[place] if each.offset is None else each.offset for place, each in found.items()}


def _check_where(to: str | None) -> None:
    if to in (None, _EARLIEST, _LATEST, _CURRENT) or to.isdecimal():
        return
    if to is not None and to.startswith("@") and parse_moment(to) is not None:
        return
    raise InputError(
        f'--to: "{to}" is no place. Right would be earliest, latest, current, an offset such as 42, or a time such as '
        "@2026-01-31T12:00."
    )


def _show(plan: _Plan) -> None:
    if not plan.then:
        return
    rows = [(*place, _NOTHING if plan.now[place] is None else plan.now[place], plan.then[place]) for place in plan.then]
    print_table(("topic", "partition", "now", "then"), rows)


def _documents(plan: _Plan, done: Mapping[TopicPartition, int]) -> list[dict[str, object]]:
    return [
        {"topic": place.topic, "partition": place.partition, "from": plan.now[place], "to": done[place]}
        for place in done
    ]


def _has_members(key: object, error: Refused) -> str | None:
    """Those who commit without being members are unknown members, once there are others."""
    if error.code == ErrorCode.UNKNOWN_MEMBER_ID:
        return "the group has members by now; stop them first"
    return unknown_topic(key, error)
