"""ResponseHeader. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ResponseHeader(Message):
    __slots__ = ("correlation_id",)

    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
ResponseHeader header module=clients versions=0-1 flexible=1+
  CorrelationId int32 0+
"""

    def __init__(
        self,
        *,
        correlation_id: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.correlation_id = correlation_id
        self.unknown_tagged_fields = unknown_tagged_fields
