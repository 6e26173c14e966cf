"""The sticky assignment where members are subscribed to different topics. Pure.

Members keep what they had and may still have; what is left goes to whoever has least and may have it. Then partitions
move one by one from a member to one that has at least two fewer, until that helps no more; if the balance is no better
for it, nothing moves. A partition that had another owner in an earlier generation goes back there if that helps. While
partitions of a topic have moved from one member to another, none moves the opposite way: the one that came is sent back
instead.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable

from odradek.client.group.assignors.sticky_racks import StickyRacks
from odradek.client.group.subscription import Assignment, Members, Topics
from odradek.client.types import TopicPartition


def assign_general(
    topics: Topics, members: Members, owned: Assignment, earlier: dict[TopicPartition, str], racks: StickyRacks
) -> Assignment:
    work = _Work(topics, members, owned, racks)
    left = work.keep()
    work.balance(left, earlier)
    return work.assignment


class _Work:
    def __init__(self, topics: Topics, members: Members, owned: Assignment, racks: StickyRacks) -> None:
        self._topics = topics
        self._racks = racks
        self._movements = _Movements()
        #: What each may have.
        self._potential = {
            member_id: [topic for topic in members[member_id].topics if topic in topics]
            for member_id in sorted(members)
        }
        self._subscribed: dict[str, list[str]] = {topic: [] for topic in topics}
        for member_id, names in self._potential.items():
            for topic in names:
                self._subscribed[topic].append(member_id)
        self.assignment = owned
        self._owner: dict[TopicPartition, str] = {}
        #: Those who have least first.
        self._ranking = _Ranking()
        self._must_revoke = False

    def keep(self) -> list[TopicPartition]:
        """Keep what members may keep, and return the rest, topics with the fewest subscribers first."""
        for member_id, partitions in self.assignment.items():
            retained = [partition for partition in partitions if self._may_keep(member_id, partition)]
            self._must_revoke = self._must_revoke or len(retained) < len(partitions)
            self.assignment[member_id] = retained
            self._owner.update(dict.fromkeys(retained, member_id))
            self._ranking.add(member_id, len(retained))
        return [partition for partition in self._all_partitions() if partition not in self._owner]

    def _may_keep(self, member_id: str, partition: TopicPartition) -> bool:
        return partition.topic in self._potential[member_id] and not self._racks.mismatch(member_id, partition)

    def _all_partitions(self) -> list[TopicPartition]:
        ordered = sorted(self._topics, key=lambda topic: (len(self._subscribed[topic]), topic))
        return [
            TopicPartition(topic, partition_index)
            for topic in ordered
            for partition_index in range(len(self._topics[topic]))
        ]

    def balance(self, left: list[TopicPartition], earlier: dict[TopicPartition, str]) -> None:
        is_initial = not self.assignment[self._ranking.last()]
        self._assign_all(left)
        may_move = [partition for partition in self._all_partitions() if len(self._subscribed[partition.topic]) > 1]
        fixed = [member_id for member_id in self._potential if not self._takes_part(member_id)]
        fixed_assignment = {member_id: self.assignment.pop(member_id) for member_id in fixed}
        for member_id, partitions in fixed_assignment.items():
            self._ranking.remove(member_id, len(partitions))
        previous = {member_id: list(partitions) for member_id, partitions in self.assignment.items()}
        if not self._must_revoke:
            self._move([partition for partition in left if len(self._subscribed[partition.topic]) > 1], earlier)
        has_moved = self._move(may_move, earlier)
        if not is_initial and has_moved and _score(self.assignment) >= _score(previous):
            self.assignment = previous
        self.assignment.update(fixed_assignment)

    def _assign_all(self, left: Iterable[TopicPartition]) -> None:
        if self._racks.are_used:
            left = [unassigned for unassigned in left if not self._assign(unassigned, near=True)]
        for partition in left:
            self._assign(partition, near=False)

    def _assign(self, partition: TopicPartition, *, near: bool) -> bool:
        for member_id in self._ranking.members():
            if partition.topic not in self._potential[member_id]:
                continue
            if near and self._racks.mismatch(member_id, partition):
                continue
            count = len(self.assignment[member_id])
            self._ranking.change(member_id, count, count + 1)
            self.assignment[member_id].append(partition)
            self._owner[partition] = member_id
            return True
        return False

    def _takes_part(self, member_id: str) -> bool:
        """Return whether the member could get more partitions, or another member some of its own."""
        partitions = self.assignment[member_id]
        most = sum(len(self._topics[topic]) for topic in self._potential[member_id])
        return len(partitions) < most or any(len(self._subscribed[partition.topic]) > 1 for partition in partitions)

    # Moves

    def _move(self, partitions: list[TopicPartition], earlier: dict[TopicPartition, str]) -> bool:
        has_moved = False
        while True:
            moves = 0
            for partition in partitions:
                if self._is_balanced():
                    break
                target = self._better(partition, earlier)
                if target is not None:
                    self._move_one(partition, target)
                    moves += 1
            if not moves:
                return has_moved
            has_moved = True

    def _better(self, partition: TopicPartition, earlier: dict[TopicPartition, str]) -> str | None:
        """Return the member that should get the partition instead, if any."""
        owner = self._owner[partition]
        count = len(self.assignment[owner])
        back = earlier.get(partition)
        if back in self.assignment and count > len(self.assignment[back]) + 1:
            return back
        if any(count > len(self.assignment.get(member_id, ())) + 1 for member_id in self._subscribed[partition.topic]):
            return next(
                member_id for member_id in self._ranking.members() if partition.topic in self._potential[member_id]
            )
        return None

    def _move_one(self, partition: TopicPartition, target: str) -> None:
        owner = self._owner[partition]
        moved = self._movements.actual(partition, owner, target)
        source = self._owner[moved]
        self._movements.record(moved, source, target)
        self._ranking.change(source, len(self.assignment[source]), len(self.assignment[source]) - 1)
        self._ranking.change(target, len(self.assignment[target]), len(self.assignment[target]) + 1)
        self.assignment[source].remove(moved)
        self.assignment[target].append(moved)
        self._owner[moved] = target

    def _is_balanced(self) -> bool:
        if self._ranking.spread() <= 1:
            return True
        for member_id in self._ranking.members():
            count = len(self.assignment[member_id])
            for topic in self._potential[member_id]:
                for partition_index in range(len(self._topics[topic])):
                    other = self._owner.get(TopicPartition(topic, partition_index), member_id)
                    if other != member_id and count + 1 < len(self.assignment[other]):
                        return False
        return True


class _Ranking:
    """Members by how many partitions they have, and by their id where that is equal."""

    def __init__(self) -> None:
        self._ranks: list[tuple[int, str]] = []

    def add(self, member_id: str, count: int) -> None:
        insort(self._ranks, (count, member_id))

    def remove(self, member_id: str, count: int) -> None:
        del self._ranks[bisect_left(self._ranks, (count, member_id))]

    def change(self, member_id: str, count: int, new_count: int) -> None:
        self.remove(member_id, count)
        self.add(member_id, new_count)

    def members(self) -> list[str]:
        return [member_id for _, member_id in self._ranks]

    def last(self) -> str:
        return self._ranks[-1][1]

    def spread(self) -> int:
        return self._ranks[-1][0] - self._ranks[0][0] if self._ranks else 0


class _Movements:
    """Moves of partitions: from the first owner to the latest one."""

    def __init__(self) -> None:
        self._moved: dict[TopicPartition, tuple[str, str]] = {}

    def actual(self, partition: TopicPartition, owner: str, target: str) -> TopicPartition:
        """Return the partition to move: one of the topic that was moved the opposite way goes back instead."""
        origin = self._moved.get(partition, (owner, ""))[0]
        back = [
            moved for moved, way in self._moved.items() if way == (target, origin) and moved.topic == partition.topic
        ]
        return max(back) if back else partition

    def record(self, partition: TopicPartition, source: str, target: str) -> None:
        origin = self._moved.pop(partition, (source, ""))[0]
        if origin != target:
            self._moved[partition] = (origin, target)


def _score(assignment: Assignment) -> int:
    """The differences between all pairs of members; 0 is balanced."""
    counts = [len(partitions) for partitions in assignment.values()]
    return sum(abs(count - other) for index, count in enumerate(counts) for other in counts[index + 1 :])
