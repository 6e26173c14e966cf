"""The sticky assignment where all members are subscribed to the same topics. Pure.

The quotas are known from the start: everybody gets `least`, some one more. Members keep what they had up to their quota
(with racks: only what is near), the rest goes round those who have less. A member that has just `least` may still be
one of those with one more: such members wait in a list of their own, in the order of their ids.
"""

from odradek.client.group.assignors.sticky_racks import StickyRacks
from odradek.client.group.subscription import Assignment, Topics
from odradek.client.types import TopicPartition
from odradek.common.failures import check


def assign_constrained(
    topics: Topics, owned: Assignment, claimed_twice: dict[TopicPartition, None], racks: StickyRacks
) -> tuple[Assignment, dict[TopicPartition, str]]:
    """And to whom a partition goes that somebody else may still have."""
    work = _Work(topics, owned, claimed_twice, racks)
    for member_id, partitions in owned.items():
        work.keep(member_id, partitions)
    work.sort()
    left = racks.rarest_first(work.unassigned())
    if racks.are_used:
        left = work.fill_near(left)
    work.fill(left)
    return work.assignment, work.moving


class _Work:
    def __init__(
        self, topics: Topics, owned: Assignment, claimed_twice: dict[TopicPartition, None], racks: StickyRacks
    ) -> None:
        self._topics = topics
        self._claimed_twice = claimed_twice
        self._racks = racks
        total = sum(len(partitions) for partitions in topics.values())
        self._least, self._extras_expected = divmod(total, len(owned))
        self._most = self._least + (self._extras_expected > 0)
        #: Members that have more than `least` by now.
        self._extras = 0
        self._below_least: list[str] = []
        self._at_least: list[str] = []
        self._given_up: dict[TopicPartition, str] = {}
        self.assignment: Assignment = {member_id: [] for member_id in owned}
        self.moving: dict[TopicPartition, str] = {}

    # What members keep

    def keep(self, member_id: str, partitions: list[TopicPartition]) -> None:
        near = []
        for partition in partitions:
            if self._racks.mismatch(member_id, partition):
                self._given_up[partition] = member_id
            elif partition not in self._claimed_twice:
                near.append(partition)
        near.sort(key=lambda partition: (partition.partition, partition.topic))
        if len(near) < self._least:
            retained_count = len(near)
            self._below_least.append(member_id)
        elif len(near) >= self._most and self._extras < self._extras_expected:
            retained_count = self._most
            self._count_extra()
        else:
            retained_count = self._least
            if self._extras < self._extras_expected:
                self._at_least.append(member_id)
        self.assignment[member_id] += near[:retained_count]
        self._given_up.update(dict.fromkeys(near[retained_count:], member_id))

    def _count_extra(self) -> None:
        """Once all extras are given away nobody who has `least` waits for one any more."""
        self._extras += 1
        if self._extras == self._extras_expected:
            self._at_least.clear()

    def sort(self) -> None:
        self._below_least.sort()
        self._at_least.sort()

    def unassigned(self) -> list[TopicPartition]:
        assigned = {partition for partitions in self.assignment.values() for partition in partitions}
        return [
            partition
            for topic in sorted(self._topics)
            for partition_index in range(len(self._topics[topic]))
            if (partition := TopicPartition(topic, partition_index)) not in assigned
        ]

    # What the others get

    def fill_near(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Round those who are near; returns what nobody near has room for."""
        left = []
        next_index = 0
        for partition in partitions:
            index = self._racks.next_match(partition, self._below_least, next_index)
            if index is not None:
                next_index = self._give_below_least(partition, index)
            elif not self._give_at_least(partition):
                left.append(partition)
        return left

    def _give_below_least(self, partition: TopicPartition, index: int) -> int:
        """Whose turn it is afterwards."""
        member_id = self._below_least[index]
        if self._give(partition, member_id) < self._least:
            index += 1
        else:
            del self._below_least[index]
            if len(self.assignment[member_id]) < self._most and self._extras < self._extras_expected:
                self._at_least.append(member_id)
        return index % len(self._below_least) if self._below_least else 0

    def _give_at_least(self, partition: TopicPartition) -> bool:
        index = self._racks.next_match(partition, self._at_least, 0)
        if index is None:
            return False
        member_id = self._at_least[index]
        if self._give(partition, member_id) == self._most:
            del self._at_least[index]
            self._count_extra()
        return True

    def fill(self, partitions: list[TopicPartition]) -> None:
        next_index = 0
        for partition in partitions:
            if not self._below_least:
                check(bool(self._at_least), "there are members with room for every partition")
                self._give(partition, self._at_least.pop(0))
                self._extras += 1
                continue
            next_index %= len(self._below_least)
            if self._give(partition, self._below_least[next_index]) == self._least:
                self._at_least.append(self._below_least.pop(next_index))
                # Those behind it have moved up; at the end the circle begins anew.
            else:
                next_index += 1

    def _give(self, partition: TopicPartition, member_id: str) -> int:
        """Assign a partition, and return how many the member has now."""
        self.assignment[member_id].append(partition)
        if self._given_up.get(partition, member_id) != member_id or partition in self._claimed_twice:
            self.moving[partition] = member_id
        return len(self.assignment[member_id])
