"""EnvelopeResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class EnvelopeResponse(Message):
    __slots__ = (
        "error_code",
        "response_data",
    )

    API_KEY = 58
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
EnvelopeResponse response module=clients key=58 versions=0 flexible=0+
  ResponseData bytes 0+ nullable=0+ default=null
  ErrorCode int16 0+
"""

    def __init__(
        self,
        *,
        response_data: bytes | None = None,
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields
