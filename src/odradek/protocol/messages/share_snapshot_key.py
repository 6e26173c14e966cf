"""ShareSnapshotKey. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class ShareSnapshotKey(Message):
    __slots__ = (
        "group_id",
        "partition",
        "topic_id",
    )

    API_KEY = 0
    VERSIONS = (0, 0)
    SCHEMA = """
ShareSnapshotKey coordinator-key module=share-coordinator key=0 versions=0 flexible=none
  GroupId string 0
  TopicId uuid 0
  Partition int32 0
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition
        self.unknown_tagged_fields = unknown_tagged_fields
