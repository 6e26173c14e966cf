"""Racks of members and replicas, for the sticky assignors (KIP-881). Pure."""

from collections.abc import Sequence

from odradek.client.group.subscription import Members, Topics, uses_racks
from odradek.client.types import TopicPartition


class StickyRacks:
    def __init__(self, topics: Topics, members: Members) -> None:
        named = {member_id: member.rack_id for member_id, member in members.items() if member.rack_id}
        every = [racks for partitions in topics.values() for racks in partitions]
        #: Whether a look at racks makes any difference.
        self.are_used = uses_racks(named.values(), every)
        self._topics = topics
        self._of_members = named if self.are_used else {}

    def of_partition(self, partition: TopicPartition) -> tuple[str, ...]:
        return self._topics[partition.topic][partition.partition]

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        rack = self._of_members.get(member_id)
        return rack is not None and rack not in self.of_partition(partition)

    def match(self, member_id: str, partition: TopicPartition) -> bool:
        return self._of_members.get(member_id) in self.of_partition(partition)

    def rarest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Partitions that few members are near to come first, so that those members have room for them."""
        if not self.are_used:
            return partitions
        counts: dict[str, int] = {}
        for rack in self._of_members.values():
            counts[rack] = counts.get(rack, 0) + 1
        return sorted(
            partitions,
            key=lambda partition: sum(counts.get(rack, 0) for rack in dict.fromkeys(self.of_partition(partition))),
        )

    def next_match(self, partition: TopicPartition, member_ids: Sequence[str], first: int) -> int | None:
        """The place in the circle of the next member that is near."""
        for step in range(len(member_ids)):
            index = (first + step) % len(member_ids)
            if self.match(member_ids[index], partition):
                return index
        return None
