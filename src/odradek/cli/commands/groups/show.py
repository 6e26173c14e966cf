"""How groups look: offsets with their lag, members, states."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from odradek.cli.base.errors import warn
from odradek.cli.base.output import UNKNOWN, print_table
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.groups import (
    Committed,
    GroupDescription,
    GroupMember,
    committed_offsets,
    describe_groups,
    list_groups,
)
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.client.admin.partitions import OffsetAndTimestamp, list_offsets
from odradek.common.special_timestamps import LATEST
from odradek.errors import Refused

_NOBODY = "-"

#: A new leader is elected well within this; the groups' other partitions are worth more than a longer wait for it.
_LEADERS_MS = 3_000


@dataclass(frozen=True, slots=True)
class Row:
    """A partition of which the group has committed an offset, or that a member has."""

    place: TopicPartition
    committed: int | None
    #: None where it could not be found out, as of a partition without a leader.
    end: int | None
    member: GroupMember | None

    @property
    def lag(self) -> int | None:
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True)
class Lag:
    group: GroupDescription
    rows: tuple[Row, ...]


async def describe_all(cluster: ClusterRouter, names: Sequence[str]) -> Outcomes[str, Lag]:
    wanted = list(names) or [each.group_id for each in await list_groups(cluster)]
    if not wanted:
        return {}
    described, committed = await asyncio.gather(describe_groups(cluster, wanted), committed_offsets(cluster, wanted))
    owners = {
        name: {place: member for member in group.members for place in member.assignment}
        for name, group in described.items()
        if not isinstance(group, Refused)
    }
    offsets = {name: _good(committed.get(name)) for name in owners}
    places = dict.fromkeys(place for name in owners for place in (*offsets[name], *owners[name]))
    ends = await _ends(cluster, places)
    return {
        name: group
        if isinstance(group, Refused)
        else Lag(group, tuple(_row(place, offsets[name], owners[name], ends) for place in _all(offsets, owners, name)))
        for name, group in described.items()
    }


async def _ends(
    cluster: ClusterRouter, places: Iterable[TopicPartition]
) -> Outcomes[TopicPartition, OffsetAndTimestamp]:
    """Of those that have a leader; the others are told."""
    brief = replace(cluster.config, api_timeout_ms=min(cluster.config.api_timeout_ms, _LEADERS_MS))
    async with ClusterRouter(cluster.addresses, brief) as asked:
        ends = await list_offsets(asked, dict.fromkeys(places, LATEST))
    for place, end in ends.items():
        if isinstance(end, Refused):
            warn(f"{place}: its end is not known after {brief.api_timeout_ms / 1000:g} s: {end.message}")
    return ends


def _good(committed: object) -> dict[TopicPartition, int]:
    if not isinstance(committed, Mapping):
        return {}
    return {place: each.offset for place, each in committed.items() if isinstance(each, Committed)}


def _all(offsets: Mapping[str, Any], owners: Mapping[str, Any], name: str) -> list[TopicPartition]:
    return sorted({*offsets[name], *owners[name]})


def _row(
    place: TopicPartition,
    offsets: Mapping[TopicPartition, int],
    owners: Mapping[TopicPartition, GroupMember],
    ends: Mapping[TopicPartition, Any],
) -> Row:
    end = ends.get(place)
    known = None if end is None or isinstance(end, Refused) else end.offset
    return Row(place, offsets.get(place), known, owners.get(place))


# Text


def print_lags(found: Sequence[Lag]) -> None:
    headers = ("group", "topic", "partition", "committed", "end", "lag", "member", "host")
    rows = [cells for each in found for cells in _lag_rows(each) or [_alone(each.group, headers)]]
    if rows:
        print_table(headers, rows)


def _lag_rows(found: Lag) -> list[tuple[object, ...]]:
    return [_lag_cells(found.group, row) for row in found.rows]


def _alone(group: GroupDescription, headers: Sequence[str]) -> tuple[object, ...]:
    """A group of which there is nothing to tell is there nevertheless."""
    return (group.group_id, *[_NOBODY] * (len(headers) - 1))


def _lag_cells(group: GroupDescription, row: Row) -> tuple[object, ...]:
    member = row.member
    return (
        group.group_id,
        *row.place,
        _NOBODY if row.committed is None else row.committed,
        UNKNOWN if row.end is None else row.end,
        _NOBODY if row.committed is None else UNKNOWN if row.lag is None else row.lag,
        _NOBODY if member is None else member.member_id,
        _NOBODY if member is None else member.host,
    )


def print_members(found: Sequence[Lag]) -> None:
    headers = ("group", "member", "instance", "client", "host", "epoch", "partitions")
    rows = [cells for each in found for cells in _member_rows(each.group) or [_alone(each.group, headers)]]
    if rows:
        print_table(headers, rows)


def _member_rows(group: GroupDescription) -> list[tuple[object, ...]]:
    return [
        (
            group.group_id,
            member.member_id,
            member.instance_id or _NOBODY,
            member.client_id,
            member.host,
            _NOBODY if member.epoch is None else member.epoch,
            ", ".join(map(str, member.assignment)) or _NOBODY,
        )
        for member in group.members
    ]


def print_states(found: Sequence[Lag]) -> None:
    if not found:
        return
    headers = ("group", "type", "state", "assignor", "members", "coordinator")
    print_table(
        headers,
        [
            (
                each.group.group_id,
                each.group.type,
                each.group.state,
                each.group.assignor or _NOBODY,
                len(each.group.members),
                each.group.coordinator,
            )
            for each in found
        ],
    )


# JSON


def description_document(each: Lag) -> dict[str, Any]:
    return _head(each.group) | {
        "partitions": [
            {
                "topic": row.place.topic,
                "partition": row.place.partition,
                "committed": row.committed,
                "end": row.end,
                "lag": row.lag,
                "member": None if row.member is None else row.member.member_id,
                "host": None if row.member is None else row.member.host,
            }
            for row in each.rows
        ]
    }


def member_document(each: Lag) -> dict[str, Any]:
    return _head(each.group) | {
        "members": [
            {
                "member": member.member_id,
                "instance": member.instance_id,
                "client": member.client_id,
                "host": member.host,
                "epoch": member.epoch,
                "partitions": [{"topic": place.topic, "partition": place.partition} for place in member.assignment],
            }
            for member in each.group.members
        ]
    }


def _head(group: GroupDescription) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "assignor": group.assignor or None,
        "epoch": group.epoch,
        "coordinator": str(group.coordinator),
    }
