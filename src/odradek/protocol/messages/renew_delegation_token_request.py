"""RenewDelegationTokenRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class RenewDelegationTokenRequest(Message):
    __slots__ = (
        "hmac",
        "renew_period_ms",
    )

    API_KEY = 39
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
RenewDelegationTokenRequest request module=clients key=39 versions=1-2 flexible=2+
  Hmac bytes 0+
  RenewPeriodMs int64 0+
"""

    def __init__(
        self,
        *,
        hmac: bytes = b"",
        renew_period_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.hmac = hmac
        self.renew_period_ms = renew_period_ms
        self.unknown_tagged_fields = unknown_tagged_fields
