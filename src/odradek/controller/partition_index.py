"""Which partitions a broker matters to: found without looking at all of them when it dies, returns or stops.

Made from registrations by `update`; never read from the log. Kept in dictionaries used as ordered sets, because the
order in which partitions are visited decides the order of records.
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
        self, key: TopicIdPartition, before: PartitionRegistration | None, after: PartitionRegistration | None
    ) -> None:
        """`before` None for a new partition, `after` None for one that is gone."""
        if before is None and after is not None and not (after.elr or after.is_reassigning):
            self._add(key, after)
            return
        if after is None and before is not None and not before.elr:
            self._remove(key, before)
            return
        none: tuple[int, ...] = ()
        _move(self._in_isr, key, before.isr if before else none, after.isr if after else none)
        _move(self._in_elr, key, before.elr if before else none, after.elr if after else none)
        _move(self._led_by, key, (before.leader,) if before else none, (after.leader,) if after else none)
        _move(self._in_directory, key, _directories(before), _directories(after))
        _mark(self._leaderless, key, after is not None and not after.has_leader)
        _mark(self._imbalanced, key, after is not None and after.leader != after.preferred_replica)
        _mark(self._reassigning, key, after is not None and after.is_reassigning)

    def _add(self, key: TopicIdPartition, partition: PartitionRegistration) -> None:
        """A new partition like most: nobody has it yet, and nothing is under way."""
        for broker_id in partition.isr:
            self._in_isr.setdefault(broker_id, {})[key] = None
        self._led_by.setdefault(partition.leader, {})[key] = None
        for directory in partition.directories:
            if directory not in _NOWHERE:
                self._in_directory.setdefault(directory, {})[key] = None
        if not partition.has_leader:
            self._leaderless[key] = None
        if partition.leader != partition.preferred_replica:
            self._imbalanced[key] = None

    def _remove(self, key: TopicIdPartition, partition: PartitionRegistration) -> None:
        for broker_id in partition.isr:
            _take(self._in_isr, broker_id, key)
        _take(self._led_by, partition.leader, key)
        for directory in partition.directories:
            if directory not in _NOWHERE:
                _take(self._in_directory, directory, key)
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
        """Not led by their preferred replica."""
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


_NOWHERE = (MIGRATING, UNASSIGNED, LOST)


def _directories(partition: PartitionRegistration | None) -> tuple[bytes, ...]:
    if partition is None:
        return ()
    return tuple(directory for directory in partition.directories if directory not in _NOWHERE)


def _move(
    index: dict[int, Members] | dict[bytes, Members],
    key: TopicIdPartition,
    before: tuple[int, ...] | tuple[bytes, ...],
    after: tuple[int, ...] | tuple[bytes, ...],
) -> None:
    if before == after:
        return
    table: dict[int | bytes, Members] = index  # type: ignore[assignment]
    for owner in before:
        if owner not in after:
            _take(table, owner, key)
    for owner in after:
        if owner not in before:
            table.setdefault(owner, {})[key] = None


def _take(table: dict[Owner, Members], owner: Owner, key: TopicIdPartition) -> None:
    """An owner of nothing is forgotten."""
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
