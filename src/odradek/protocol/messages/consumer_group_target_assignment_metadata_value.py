"""ConsumerGroupTargetAssignmentMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp",
    )

    API_KEY = 6
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConsumerGroupTargetAssignmentMetadataValue coordinator-value module=group-coordinator key=6 versions=0 flexible=0+
  AssignmentEpoch int32 0+
  AssignmentTimestamp int64 0+ tag=0 ignorable
"""

    def __init__(
        self,
        *,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields
