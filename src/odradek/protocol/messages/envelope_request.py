"""EnvelopeRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class EnvelopeRequest(Message):
    __slots__ = (
        "client_host_address",
        "request_data",
        "request_principal",
    )

    API_KEY = 58
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
EnvelopeRequest request module=clients key=58 versions=0 flexible=0+
  RequestData bytes 0+
  RequestPrincipal bytes 0+ nullable=0+
  ClientHostAddress bytes 0+
"""

    def __init__(
        self,
        *,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address
        self.unknown_tagged_fields = unknown_tagged_fields
