"""ExpireDelegationTokenRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ExpireDelegationTokenRequest(Message):
    __slots__ = (
        "expiry_time_period_ms",
        "hmac",
    )

    API_KEY = 40
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
ExpireDelegationTokenRequest request module=clients key=40 versions=1-2 flexible=2+
  Hmac bytes 0+
  ExpiryTimePeriodMs int64 0+
"""

    def __init__(
        self,
        *,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms
        self.unknown_tagged_fields = unknown_tagged_fields
