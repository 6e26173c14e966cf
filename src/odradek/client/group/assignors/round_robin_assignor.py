"""All partitions of all topics one after the other, to one member after the other that is subscribed. Pure."""

from collections.abc import Sequence

from odradek.client.group.subscription import Assignment, Members, Topics, member_order
from odradek.client.types import TopicPartition


class RoundRobinAssignor:
    name = "roundrobin"
    is_cooperative = False

    def user_data(self) -> bytes | None:
        return None

    def on_assignment(self, partitions: Sequence[TopicPartition], generation_id: int) -> None:
        """It remembers nothing."""

    def assign(self, topics: Topics, members: Members) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        circle = sorted(members, key=lambda one: member_order(one, members[one]))
        turn = 0
        for topic in sorted(topics):
            for number in range(len(topics[topic])):
                while topic not in members[circle[turn % len(circle)]].topics:
                    turn += 1
                assignment[circle[turn % len(circle)]].append(TopicPartition(topic, number))
                turn += 1
        return assignment
