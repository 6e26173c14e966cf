"""ConsumerGroupRegularExpressionValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ConsumerGroupRegularExpressionValue(Message):
    __slots__ = (
        "timestamp",
        "topics",
        "version",
    )

    API_KEY = 16
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConsumerGroupRegularExpressionValue coordinator-value module=group-coordinator key=16 versions=0 flexible=0+
  Topics []string 0+
  Version int64 0+
  Timestamp int64 0+
"""

    def __init__(
        self,
        *,
        topics: list[str] = DEFAULT,
        version: int = 0,
        timestamp: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[str] = [] if topics is DEFAULT else topics
        self.version = version
        self.timestamp = timestamp
        self.unknown_tagged_fields = unknown_tagged_fields
