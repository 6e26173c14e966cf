"""SnapshotHeaderRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class SnapshotHeaderRecord(Message):
    __slots__ = (
        "last_contained_log_timestamp",
        "version",
    )

    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
SnapshotHeaderRecord data module=clients versions=0 flexible=0+
  Version int16 0+
  LastContainedLogTimestamp int64 0+
"""

    def __init__(
        self,
        *,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields
