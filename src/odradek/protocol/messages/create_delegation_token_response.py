"""CreateDelegationTokenResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class CreateDelegationTokenResponse(Message):
    __slots__ = (
        "error_code",
        "expiry_timestamp_ms",
        "hmac",
        "issue_timestamp_ms",
        "max_timestamp_ms",
        "principal_name",
        "principal_type",
        "throttle_time_ms",
        "token_id",
        "token_requester_principal_name",
        "token_requester_principal_type",
    )

    API_KEY = 38
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
CreateDelegationTokenResponse response module=clients key=38 versions=1-3 flexible=2+
  ErrorCode int16 0+
  PrincipalType string 0+
  PrincipalName string 0+
  TokenRequesterPrincipalType string 3+
  TokenRequesterPrincipalName string 3+
  IssueTimestampMs int64 0+
  ExpiryTimestampMs int64 0+
  MaxTimestampMs int64 0+
  TokenId string 0+
  Hmac bytes 0+
  ThrottleTimeMs int32 0+
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields
