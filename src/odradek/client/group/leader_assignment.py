"""The leader of a classic group: it knows what all members want, and divides the partitions. Pure."""

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


class Leading:
    def __init__(self, assignor: Assignor, members: Sequence[JoinGroupResponseMember], *, skips: bool) -> None:
        """`skips`: a static leader that came back only watches the topics. Raises ProtocolError."""
        self._assignor = assignor
        self._skips = skips
        self._members: dict[str, MemberSubscription] = {
            each.member_id: decode_subscription(each.metadata, each.group_instance_id) for each in members
        }
        #: What all members together want to read.
        self.topics = tuple(sorted({topic for each in self._members.values() for topic in each.topics}))
        self._known: Topics | None = None

    def assign(self, topics: Topics) -> dict[str, bytes]:
        """By member id."""
        self._known = subscribed_only(topics, self._members)
        if self._skips:
            return {}
        assignment = self._assignor.assign(self._known, self._members)
        return {member_id: encode_assignment(partitions) for member_id, partitions in assignment.items()}

    def differs(self, topics: Topics) -> bool:
        """Whether the partitions would have to be divided anew."""
        return self._known is not None and self._known != subscribed_only(topics, self._members)
