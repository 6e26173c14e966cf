"""Descriptions of groups as text and JSON: offsets with their lag, members, states."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from odradek.cli.base.errors import warn
from odradek.cli.base.output import UNKNOWN, print_table
from odradek.client.admin.groups import GroupDescription, GroupMember
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.partitions import OffsetAndTimestamp
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.list_offsets_timestamps import LATEST
from odradek.errors import Refused

_NONE = "-"

#: An election takes less; longer waits for leaders would delay the offsets of all other partitions.
_LEADERS_TIMEOUT_MS = 3_000


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Partition with a committed offset, or assigned to a member."""

    partition: TopicPartition
    committed: int | None
    #: None if it is unknown, as of a partition without a leader.
    end: int | None
    member: GroupMember | None

    @property
    def lag(self) -> int | None:
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True)
class GroupLag:
    """Group with the lag of its partitions."""

    group: GroupDescription
    partitions: tuple[PartitionLag, ...]


async def describe_groups(admin: AdminOperations, names: Sequence[str]) -> Outcomes[str, GroupLag]:
    """Describe the named groups, or all groups, with their lag."""
    requested = list(names) or [group.group_id for group in await admin.groups.list_all()]
    if not requested:
        return Outcomes()
    groups, committed = await asyncio.gather(
        admin.groups.describe(requested), admin.group_offsets.list_committed(requested)
    )
    offsets_of_groups = committed.succeeded()
    owners: dict[str, dict[TopicPartition, GroupMember]] = {}
    offsets: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
    for name, group in groups.succeeded().items():
        owners[name] = {partition: member for member in group.members for partition in member.assignment}
        offsets[name] = offsets_of_groups[name].succeeded() if name in offsets_of_groups else {}
    ends = await _end_offsets(
        admin, dict.fromkeys(partition for name in owners for partition in (*offsets[name], *owners[name]))
    )
    lags: Outcomes[str, GroupLag] = Outcomes()
    for name, described in groups.items():
        if isinstance(described, Refused):
            lags[name] = described
            continue
        partitions = sorted({*offsets[name], *owners[name]})
        lags[name] = GroupLag(
            described, tuple(_partition_lag(partition, offsets[name], owners[name], ends) for partition in partitions)
        )
    return lags


async def _end_offsets(
    admin: AdminOperations, partitions: Iterable[TopicPartition]
) -> Outcomes[TopicPartition, OffsetAndTimestamp]:
    """Return the end offsets; write a warning for each partition whose leader does not respond."""
    timeout_ms = min(admin.router.config.api_timeout_ms, _LEADERS_TIMEOUT_MS)
    ends = await admin.partitions.list_offsets(dict.fromkeys(partitions, LATEST), api_timeout_ms=timeout_ms)
    for partition, error in ends.rejected().items():
        warn(f"{partition}: its end offset is unknown after {timeout_ms / 1000:g} s: {error.message}")
    return ends


def _partition_lag(
    partition: TopicPartition,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    owners: Mapping[TopicPartition, GroupMember],
    ends: Outcomes[TopicPartition, OffsetAndTimestamp],
) -> PartitionLag:
    committed, end = offsets.get(partition), ends.get(partition)
    return PartitionLag(
        partition,
        None if committed is None else committed.offset,
        None if end is None or isinstance(end, Refused) else end.offset,
        owners.get(partition),
    )


# Text


def print_lags(lags: Sequence[GroupLag]) -> None:
    headers = ("group", "topic", "partition", "committed", "end", "lag", "member", "host")
    rows = [
        row
        for lag in lags
        for row in [_lag_row(lag.group, partition) for partition in lag.partitions] or [_empty_row(lag.group, headers)]
    ]
    if rows:
        print_table(headers, rows)


def _empty_row(group: GroupDescription, headers: Sequence[str]) -> tuple[object, ...]:
    """Return a row for a group that has nothing else to show."""
    return (group.group_id, *[_NONE] * (len(headers) - 1))


def _lag_row(group: GroupDescription, lag: PartitionLag) -> tuple[object, ...]:
    member = lag.member
    return (
        group.group_id,
        *lag.partition,
        _NONE if lag.committed is None else lag.committed,
        UNKNOWN if lag.end is None else lag.end,
        _NONE if lag.committed is None else UNKNOWN if lag.lag is None else lag.lag,
        _NONE if member is None else member.member_id,
        _NONE if member is None else member.host,
    )


def print_members(lags: Sequence[GroupLag]) -> None:
    headers = ("group", "member", "instance", "client", "host", "epoch", "partitions")
    rows = [row for lag in lags for row in _member_rows(lag.group) or [_empty_row(lag.group, headers)]]
    if rows:
        print_table(headers, rows)


def _member_rows(group: GroupDescription) -> list[tuple[object, ...]]:
    return [
        (
            group.group_id,
            member.member_id,
            member.instance_id or _NONE,
            member.client_id,
            member.host,
            _NONE if member.epoch is None else member.epoch,
            ", ".join(map(str, member.assignment)) or _NONE,
        )
        for member in group.members
    ]


def print_states(lags: Sequence[GroupLag]) -> None:
    if not lags:
        return
    headers = ("group", "type", "state", "assignor", "members", "coordinator")
    groups = [lag.group for lag in lags]
    print_table(
        headers,
        [
            (
                group.group_id,
                group.type,
                group.state,
                group.assignor or _NONE,
                len(group.members),
                group.coordinator,
            )
            for group in groups
        ],
    )


# JSON


def description_document(lag: GroupLag) -> dict[str, Any]:
    return _group_document(lag.group) | {
        "partitions": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "committed": row.committed,
                "end": row.end,
                "lag": row.lag,
                "member": None if row.member is None else row.member.member_id,
                "host": None if row.member is None else row.member.host,
            }
            for row in lag.partitions
        ]
    }


def member_document(group: GroupDescription) -> dict[str, Any]:
    return _group_document(group) | {
        "members": [
            {
                "member": member.member_id,
                "instance": member.instance_id,
                "client": member.client_id,
                "host": member.host,
                "epoch": member.epoch,
                "partitions": [
                    {"topic": partition.topic, "partition": partition.partition} for partition in member.assignment
                ],
            }
            for member in group.members
        ]
    }


def _group_document(group: GroupDescription) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "assignor": group.assignor or None,
        "epoch": group.epoch,
        "coordinator": str(group.coordinator),
    }
