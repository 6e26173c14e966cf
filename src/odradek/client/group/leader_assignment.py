"""The leader of a classic group: it has the subscriptions of all members, and divides the partitions. Pure."""

from collections.abc import Sequence

from odradek.client.group.assignors.assignor import Assignor
from odradek.client.group.subscription import (
    MemberSubscription,
    Topics,
    decode_subscription,
    encode_assignment,
    subscribed_only,
)
from odradek.protocol.messages.join_group_response import JoinGroupResponseMember


class LeaderAssignment:
    def __init__(self, assignor: Assignor, members: Sequence[JoinGroupResponseMember], *, skips: bool) -> None:
        """`skips`: a static leader that came back only watches the topics. Raises ProtocolError."""
        self._assignor = assignor
        self._skips = skips
        self._members: dict[str, MemberSubscription] = {
            member.member_id: decode_subscription(member.metadata, member.group_instance_id) for member in members
        }
        #: Topics that any member subscribes to.
        self.topics = tuple(sorted({topic for member in self._members.values() for topic in member.topics}))
        self._divided_topics: Topics | None = None

    def assign(self, topics: Topics) -> dict[str, bytes]:
        """Divide the partitions, and return the assignments by member id."""
        self._divided_topics = subscribed_only(topics, self._members)
        if self._skips:
            return {}
        assignment = self._assignor.assign(self._divided_topics, self._members)
        return {member_id: encode_assignment(partitions) for member_id, partitions in assignment.items()}

    def differs(self, topics: Topics) -> bool:
        """Return whether the topics have changed since they were divided."""
        return self._divided_topics is not None and self._divided_topics != subscribed_only(topics, self._members)
