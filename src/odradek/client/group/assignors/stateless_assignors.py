"""Range and round-robin assignors, which remember nothing between rebalances. Pure.

Range divides each topic by itself: each member gets consecutive partitions, and the first members get one more if they
do not divide evenly. Topics with the same members and equally many partitions are assigned alike (co-partitioning). If
racks can make a difference (KIP-881), partitions go first to members in a rack of one of their replicas, as far as that
keeps the ranges equally long and the topics together; the rest is divided regardless of racks.

Round robin deals all partitions of all topics to one subscribed member after the other.
"""

from collections.abc import Callable, Sequence

from odradek.client.group.subscription import Assignment, Members, Topics, member_order, uses_racks
from odradek.client.types import TopicPartition


class _StatelessAssignor:
    is_cooperative = False

    def user_data(self) -> bytes | None:
        return None

    def on_assignment(self, partitions: Sequence[TopicPartition], generation_id: int) -> None:
        """Ignore the assignment."""


def _ordered(members: Members) -> list[str]:
    return sorted(members, key=lambda member_id: member_order(member_id, members[member_id]))


class RoundRobinAssignor(_StatelessAssignor):
    name = "roundrobin"

    def assign(self, topics: Topics, members: Members) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        circle = _ordered(members)
        position = 0
        for topic in sorted(topics):
            for partition_index in range(len(topics[topic])):
                while topic not in members[circle[position % len(circle)]].topics:
                    position += 1
                assignment[circle[position % len(circle)]].append(TopicPartition(topic, partition_index))
                position += 1
        return assignment


class RangeAssignor(_StatelessAssignor):
    name = "range"

    def assign(self, topics: Topics, members: Members) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        ordered = _ordered(members)
        shares = [
            _TopicShares(
                topic,
                racks,
                {member_id: members[member_id].rack_id for member_id in ordered if topic in members[member_id].topics},
                assignment,
            )
            for topic, racks in sorted(topics.items())
            if racks
        ]
        if any(share.needs_racks for share in shares):
            _match_racks(shares)
        for share in shares:
            share.assign_ranges(lambda member_id, partition_index: True)
        return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}


class _TopicShares:
    """A topic that is being divided. Each member gets `least` partitions, and `extras` of them one more."""

    def __init__(
        self, topic: str, racks: Sequence[tuple[str, ...]], members: dict[str, str | None], assignment: Assignment
    ) -> None:
        self._topic = topic
        self._racks = racks
        self._assignment = assignment
        self._unassigned = dict.fromkeys(range(len(racks)))
        self._counts = dict.fromkeys(members, 0)
        self._least, self._extras = divmod(len(racks), len(members)) if members else (0, 0)
        self.members = members
        self.partition_count = len(racks)
        self.needs_racks = uses_racks([rack for rack in members.values() if rack], racks)

    def is_near(self, member_id: str, partition_index: int) -> bool:
        """Return whether a replica is in the member's rack; a member without a rack is near to every partition."""
        rack = self.members[member_id]
        return not rack or rack in self._racks[partition_index]

    def remaining(self, member_id: str) -> int:
        """Return how many more partitions the member may get."""
        return max(0, self._least + (self._extras > 0) - self._counts[member_id])

    def assign_ranges(self, may_have: Callable[[str, int], bool]) -> None:
        for member_id in self.members:
            fitting = [index for index in self._unassigned if may_have(member_id, index)]
            self.assign(member_id, fitting[: self.remaining(member_id)])

    def assign(self, member_id: str, partition_indexes: Sequence[int]) -> None:
        if not partition_indexes:
            return
        self._assignment[member_id] += [TopicPartition(self._topic, index) for index in partition_indexes]
        self._counts[member_id] += len(partition_indexes)
        if self._counts[member_id] > self._least:
            self._extras -= 1
        for index in partition_indexes:
            del self._unassigned[index]


def _match_racks(shares: Sequence[_TopicShares]) -> None:
    """Assign partitions to near members; topics with the same members and partition count are divided together."""
    groups: dict[tuple[tuple[str, ...], int], list[_TopicShares]] = {}
    for share in shares:
        if any(share.members.values()):
            groups.setdefault((tuple(share.members), share.partition_count), []).append(share)
    for group in groups.values():
        if len(group) > 1:
            _match_together(group)
        elif group[0].needs_racks:
            group[0].assign_ranges(group[0].is_near)


def _match_together(shares: Sequence[_TopicShares]) -> None:
    candidates = dict.fromkeys(shares[0].members)
    for index in range(shares[0].partition_count):
        member_id = next(
            (
                candidate
                for candidate in candidates
                if all(share.is_near(candidate, index) and share.remaining(candidate) > 0 for share in shares)
            ),
            None,
        )
        if member_id is None:
            continue
        for share in shares:
            share.assign(member_id, [index])
        if not any(share.remaining(member_id) for share in shares):
            del candidates[member_id]
