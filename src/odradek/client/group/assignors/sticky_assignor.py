"""Sticky assignors: as balanced as possible, with as few moved partitions as that allows. Pure.

Members say what they had: in the assignor's user data (`sticky`, eager: they gave it all up to join), or as the
partitions that they still own (`cooperative-sticky`). Who says so of a later generation is right; where two members of
one generation claim a partition, neither is. If all members are subscribed to the same topics the answer is found
directly (`sticky_constrained`), otherwise by moving partitions while that helps (`sticky_general`).

A cooperative assignment leaves out what one member must give up before another may have it; the rebalance that the
revocation brings about assigns it.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from odradek.client.group.assignors.sticky_constrained import assign_constrained
from odradek.client.group.assignors.sticky_general import assign_general
from odradek.client.group.assignors.sticky_racks import StickyRacks
from odradek.client.group.subscription import (
    NO_GENERATION,
    Assignment,
    Members,
    MemberSubscription,
    Topics,
    by_topic,
)
from odradek.client.types import TopicPartition


@dataclass(frozen=True, slots=True)
class MemberData:
    """Partitions that a member owned, and the generation; None if it did not send them."""

    partitions: tuple[TopicPartition, ...]
    generation_id: int | None


class StickyAssignor:
    name = "sticky"
    is_cooperative = False

    def __init__(self) -> None:
        self._assigned: tuple[TopicPartition, ...] | None = None
        self._generation_id = NO_GENERATION

    def user_data(self) -> bytes | None:
        if self._assigned is None:
            return None
        return encode_user_data(self._assigned, self._generation_id)

    def on_assignment(self, partitions: Sequence[TopicPartition], generation_id: int) -> None:
        self._assigned = tuple(partitions)
        self._generation_id = generation_id

    def assign(self, topics: Topics, members: Members) -> Assignment:
        return _assign(
            topics, members, {member_id: decode_user_data(member.user_data) for member_id, member in members.items()}
        )[0]


class CooperativeStickyAssignor:
    name = "cooperative-sticky"
    is_cooperative = True

    def __init__(self) -> None:
        self._generation_id = NO_GENERATION

    def user_data(self) -> bytes | None:
        """For leaders that read subscriptions of version 1 only, which have no generation."""
        return _GENERATION.pack(self._generation_id)

    def on_assignment(self, partitions: Sequence[TopicPartition], generation_id: int) -> None:
        self._generation_id = generation_id

    def assign(self, topics: Topics, members: Members) -> Assignment:
        assignment, moving = _assign(
            topics, members, {member_id: _owned(member) for member_id, member in members.items()}
        )
        if moving is None:
            moving = _moving(members, assignment)
        for partition, member_id in moving.items():
            assignment[member_id].remove(partition)
        return assignment


def _assign(
    topics: Topics, members: Members, data: dict[str, MemberData]
) -> tuple[Assignment, dict[TopicPartition, str] | None]:
    """And which partitions move from a member to another, if that is known already."""
    owned, claimed_twice = _owners(topics, members, data)
    racks = StickyRacks(topics, members)
    subscribed = [frozenset(member.topics) for member in members.values()]
    if all(subscription == subscribed[0] for subscription in subscribed):
        return assign_constrained(topics, owned, claimed_twice, racks)
    return assign_general(topics, members, owned, _earlier(data), racks), None


def _owners(
    topics: Topics, members: Members, data: dict[str, MemberData]
) -> tuple[Assignment, dict[TopicPartition, None]]:
    """Return existing partitions by owner, and partitions that two members of one generation claim."""
    owned: Assignment = {}
    owner: dict[TopicPartition, str] = {}
    claimed_twice: dict[TopicPartition, None] = {}
    for member_id in sorted(members):
        generation_id = _or_none(data[member_id].generation_id)
        mine = owned[member_id] = []
        for partition in data[member_id].partitions:
            if partition.partition >= len(topics.get(partition.topic, ())):
                continue
            other = owner.get(partition)
            # As in Kafka: of the other one it is what its subscription says, not its user data.
            other_generation_id = NO_GENERATION if other is None else members[other].generation_id
            if other is not None and generation_id < other_generation_id:
                continue
            if other is not None:
                if partition in owned[other]:
                    owned[other].remove(partition)
                if generation_id == other_generation_id:
                    claimed_twice[partition] = None
            if other is None or generation_id > other_generation_id:
                mine.append(partition)
            owner[partition] = member_id
    return owned, claimed_twice


def _earlier(data: dict[str, MemberData]) -> dict[TopicPartition, str]:
    """Return the owners of partitions in the generation before the latest one."""
    latest = max(_or_none(user_data.generation_id) for user_data in data.values())
    owners: dict[TopicPartition, tuple[int, str]] = {}
    for member_id in sorted(data):
        generation_id = _or_none(data[member_id].generation_id)
        if generation_id >= latest:
            continue
        for partition in data[member_id].partitions:
            if partition not in owners or generation_id > owners[partition][0]:
                owners[partition] = (generation_id, member_id)
    return {partition: member_id for partition, (_, member_id) in owners.items()}


def _moving(members: Members, assignment: Assignment) -> dict[TopicPartition, str]:
    """Return partitions that a member gets while another one still owns them."""
    given_up = set()
    for member_id, partitions in assignment.items():
        given_up.update(set(members[member_id].owned_partitions).difference(partitions))
    return {
        partition: member_id
        for member_id, partitions in assignment.items()
        for partition in partitions
        if partition in given_up and partition not in members[member_id].owned_partitions
    }


def _or_none(generation_id: int | None) -> int:
    return NO_GENERATION if generation_id is None else generation_id


# User data, as Kafka's assignors have it

_GENERATION = struct.Struct(">i")
_COUNT = struct.Struct(">i")
_LENGTH = struct.Struct(">h")


def encode_user_data(partitions: Sequence[TopicPartition], generation_id: int) -> bytes:
    topics = by_topic(partitions)
    parts = [_COUNT.pack(len(topics))]
    for topic, partition_indexes in topics.items():
        name = topic.encode()
        parts += [
            _LENGTH.pack(len(name)),
            name,
            _COUNT.pack(len(partition_indexes)),
            struct.pack(f">{len(partition_indexes)}i", *partition_indexes),
        ]
    return b"".join([*parts, _GENERATION.pack(generation_id)])


def decode_user_data(data: bytes | None) -> MemberData:
    """Decode user data; unreadable data counts as none. Version 0 has no generation at the end."""
    if not data:
        return MemberData((), None)
    try:
        partitions, position = _read_partitions(data)
        generation_id = _GENERATION.unpack_from(data, position)[0] if len(data) > position else None
    except (struct.error, UnicodeDecodeError):
        return MemberData((), NO_GENERATION)
    return MemberData(tuple(partitions), generation_id)


def _read_partitions(data: bytes) -> tuple[list[TopicPartition], int]:
    partitions: list[TopicPartition] = []
    (topic_count,), position = _COUNT.unpack_from(data), _COUNT.size
    for _ in range(topic_count):
        (length,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        topic = bytes(data[position : position + length]).decode()
        position += length
        (count,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        if count < 0 or position + count * _COUNT.size > len(data):
            raise struct.error("more partitions than there are bytes for")
        partitions += [
            TopicPartition(topic, partition_index)
            for partition_index in struct.unpack_from(f">{count}i", data, position)
        ]
        position += count * _COUNT.size
    return partitions, position


def _owned(subscription: MemberSubscription) -> MemberData:
    if subscription.generation_id >= 0:
        return MemberData(subscription.owned_partitions, subscription.generation_id)
    data = subscription.user_data
    if data is None:
        return MemberData(subscription.owned_partitions, None)
    generation_id = NO_GENERATION if len(data) < _GENERATION.size else _GENERATION.unpack_from(data)[0]
    return MemberData(subscription.owned_partitions, generation_id)
