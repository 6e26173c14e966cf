"""Each topic by itself, in ranges: the first members get one partition more where it does not come out even. Pure.

Equal numbers of topics with equally many partitions go to the same member (co-partitioning). Where racks can make a
difference (KIP-881), partitions go to members in a rack of one of their replicas first, as far as that keeps the ranges
equally long and the topics together; what is left is divided without a look at racks.
"""

from collections.abc import Callable, Sequence

from odradek.client.group.subscription import Assignment, Members, Topics, member_order, uses_racks
from odradek.client.types import TopicPartition


class RangeAssignor:
    name = "range"
    is_cooperative = False

    def user_data(self) -> bytes | None:
        return None

    def on_assignment(self, partitions: Sequence[TopicPartition], generation_id: int) -> None:
        """It remembers nothing."""

    def assign(self, topics: Topics, members: Members) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        ordered = sorted(members, key=lambda one: member_order(one, members[one]))
        shares = [
            _Topic(
                topic,
                racks,
                {one: members[one].rack_id for one in ordered if topic in members[one].topics},
                assignment,
            )
            for topic, racks in sorted(topics.items())
            if racks
        ]
        if any(share.needs_racks for share in shares):
            _match_racks(shares)
        for share in shares:
            share.assign_ranges(lambda member_id, number: True)
        return {member_id: sorted(partitions) for member_id, partitions in assignment.items()}


class _Topic:
    """A topic that is being divided. Each member gets `least`, and `extras` of them one more."""

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

    def is_near(self, member_id: str, number: int) -> bool:
        """A member that names no rack is near to everything."""
        rack = self.members[member_id]
        return not rack or rack in self._racks[number]

    def room(self, member_id: str) -> int:
        return max(0, self._least + (self._extras > 0) - self._counts[member_id])

    def assign_ranges(self, may_have: Callable[[str, int], bool]) -> None:
        for member_id in self.members:
            fitting = [number for number in self._unassigned if may_have(member_id, number)]
            self.assign(member_id, fitting[: self.room(member_id)])

    def assign(self, member_id: str, numbers: Sequence[int]) -> None:
        if not numbers:
            return
        self._assignment[member_id] += [TopicPartition(self._topic, number) for number in numbers]
        self._counts[member_id] += len(numbers)
        if self._counts[member_id] > self._least:
            self._extras -= 1
        for number in numbers:
            del self._unassigned[number]


def _match_racks(shares: Sequence[_Topic]) -> None:
    """Topics with the same members and equally many partitions are divided together."""
    alike: dict[tuple[tuple[str, ...], int], list[_Topic]] = {}
    for share in shares:
        if any(share.members.values()):
            alike.setdefault((tuple(share.members), share.partition_count), []).append(share)
    for together in alike.values():
        if len(together) > 1:
            _match_together(together)
        elif together[0].needs_racks:
            together[0].assign_ranges(together[0].is_near)


def _match_together(shares: Sequence[_Topic]) -> None:
    remaining = dict.fromkeys(shares[0].members)
    for number in range(shares[0].partition_count):
        found = next(
            (one for one in remaining if all(share.is_near(one, number) and share.room(one) > 0 for share in shares)),
            None,
        )
        if found is None:
            continue
        for share in shares:
            share.assign(found, [number])
        if not any(share.room(found) for share in shares):
            del remaining[found]
