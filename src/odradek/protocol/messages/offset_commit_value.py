"""OffsetCommitValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class OffsetCommitValue(Message):
    __slots__ = (
        "commit_timestamp",
        "expire_timestamp",
        "leader_epoch",
        "metadata",
        "offset",
        "topic_id",
    )

    API_KEY = 1
    VERSIONS = (0, 4)
    FLEXIBLE_FROM = 4
    SCHEMA = """
OffsetCommitValue coordinator-value module=group-coordinator key=1 versions=0-4 flexible=4+
  offset int64 0+
  leaderEpoch int32 3+ default=-1 ignorable
  metadata string 0+
  commitTimestamp int64 0+
  expireTimestamp int64 1 default=-1 ignorable
  topicId uuid 4+ tag=0 ignorable
"""

    def __init__(
        self,
        *,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields
