"""Indexes of partitions by broker, directory and state, so that a change of a broker does not scan all partitions.

`update` derives them from registrations. They are dictionaries used as ordered sets, because the order in which
partitions are visited determines the order of records.
"""

from typing import NamedTuple, TypeVar

from odradek.metadata.image.directory_id import LOST, MIGRATING, UNASSIGNED
from odradek.metadata.image.partition_registration import PartitionRegistration


class TopicIdPartition(NamedTuple):
    topic_id: bytes
    partition_id: int


Members = dict[TopicIdPartition, None]

Owner = TypeVar("Owner")


class PartitionIndex:
    def __init__(self) -> None:
        self._in_isr: dict[int, Members] = {}
        self._in_elr: dict[int, Members] = {}
        self._led_by: dict[int, Members] = {}
        self._in_directory: dict[bytes, Members] = {}
        self._leaderless: Members = {}
        self._imbalanced: Members = {}
        self._reassigning: Members = {}

    def update(
        self, key: TopicIdPartition, previous: PartitionRegistration | None, updated: PartitionRegistration | None
    ) -> None:
        """Update the indexes. `previous` is None for a new partition, `updated` is None for a removed one."""
        if previous is None and updated is not None and not (updated.elr or updated.is_reassigning):
            self._add(key, updated)
            return
        if updated is None and previous is not None and not previous.elr:
            self._remove(key, previous)
            return
        none: tuple[int, ...] = ()
        _move(self._in_isr, key, previous.isr if previous else none, updated.isr if updated else none)
        _move(self._in_elr, key, previous.elr if previous else none, updated.elr if updated else none)
        _move(self._led_by, key, (previous.leader,) if previous else none, (updated.leader,) if updated else none)
        _move(self._in_directory, key, _directories(previous), _directories(updated))
        _mark(self._leaderless, key, updated is not None and not updated.has_leader)
        _mark(self._imbalanced, key, updated is not None and updated.leader != updated.preferred_replica)
        _mark(self._reassigning, key, updated is not None and updated.is_reassigning)

    def _add(self, key: TopicIdPartition, partition: PartitionRegistration) -> None:
        """Add a new partition without ELR and reassignment, which most are."""
        for broker_id in partition.isr:
            self._in_isr.setdefault(broker_id, {})[key] = None
        self._led_by.setdefault(partition.leader, {})[key] = None
        for directory in partition.directories:
            if directory not in _NO_DIRECTORIES:
                self._in_directory.setdefault(directory, {})[key] = None
        if not partition.has_leader:
            self._leaderless[key] = None
        if partition.leader != partition.preferred_replica:
            self._imbalanced[key] = None

    def _remove(self, key: TopicIdPartition, partition: PartitionRegistration) -> None:
        for broker_id in partition.isr:
            _remove_member(self._in_isr, broker_id, key)
        _remove_member(self._led_by, partition.leader, key)
        for directory in partition.directories:
            if directory not in _NO_DIRECTORIES:
                _remove_member(self._in_directory, directory, key)
        self._leaderless.pop(key, None)
        self._imbalanced.pop(key, None)
        self._reassigning.pop(key, None)

    def with_broker_in_isr(self, broker_id: int) -> list[TopicIdPartition]:
        return list(self._in_isr.get(broker_id, ()))

    def with_broker_in_elr(self, broker_id: int) -> list[TopicIdPartition]:
        return list(self._in_elr.get(broker_id, ()))

    def in_directory(self, directory: bytes) -> list[TopicIdPartition]:
        return list(self._in_directory.get(directory, ()))

    def has_leaderships(self, broker_id: int) -> bool:
        return bool(self._led_by.get(broker_id))

    @property
    def leaderless(self) -> list[TopicIdPartition]:
        return list(self._leaderless)

    @property
    def imbalanced(self) -> list[TopicIdPartition]:
        """Partitions that are not led by their preferred replica."""
        return list(self._imbalanced)

    @property
    def has_imbalanced(self) -> bool:
        return bool(self._imbalanced)

    @property
    def has_leaderless(self) -> bool:
        return bool(self._leaderless)

    @property
    def reassigning(self) -> list[TopicIdPartition]:
        return list(self._reassigning)


_NO_DIRECTORIES = (MIGRATING, UNASSIGNED, LOST)


def _directories(partition: PartitionRegistration | None) -> tuple[bytes, ...]:
    if partition is None:
        return ()
    return tuple(directory for directory in partition.directories if directory not in _NO_DIRECTORIES)


def _move(
    index: dict[int, Members] | dict[bytes, Members],
    key: TopicIdPartition,
    previous: tuple[int, ...] | tuple[bytes, ...],
    updated: tuple[int, ...] | tuple[bytes, ...],
) -> None:
    if previous == updated:
        return
    table: dict[int | bytes, Members] = index  # type: ignore[assignment]
    for owner in previous:
        if owner not in updated:
            _remove_member(table, owner, key)
    for owner in updated:
        if owner not in previous:
            table.setdefault(owner, {})[key] = None


def _remove_member(table: dict[Owner, Members], owner: Owner, key: TopicIdPartition) -> None:
    """Remove a partition of an owner, and the owner with its last one."""
    members = table.get(owner)
    if members is not None:
        members.pop(key, None)
        if not members:
            del table[owner]


def _mark(members: Members, key: TopicIdPartition, holds: bool) -> None:
    if holds:
        members[key] = None
    else:
        members.pop(key, None)
