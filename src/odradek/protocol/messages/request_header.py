"""RequestHeader. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class RequestHeader(Message):
    __slots__ = (
        "client_id",
        "correlation_id",
        "request_api_key",
        "request_api_version",
    )

    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
RequestHeader header module=clients versions=1-2 flexible=2+
  RequestApiKey int16 0+
  RequestApiVersion int16 0+
  CorrelationId int32 0+
  ClientId string 1+ nullable=1+ flexible=none
"""

    def __init__(
        self,
        *,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.unknown_tagged_fields = unknown_tagged_fields
