"""LegacyOffsetCommitValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class LegacyOffsetCommitValue(Message):
    __slots__ = (
        "commit_timestamp",
        "metadata",
        "offset",
    )

    API_KEY = 0
    VERSIONS = (0, 0)
    SCHEMA = """
LegacyOffsetCommitValue coordinator-value module=group-coordinator key=0 versions=0 flexible=none
  offset int64 0
  metadata string 0
  commitTimestamp int64 0
"""

    def __init__(
        self,
        *,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields
