"""DescribeDelegationTokenResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribedDelegationTokenRenewer(Message):
    __slots__ = (
        "principal_name",
        "principal_type",
    )

    def __init__(
        self,
        *,
        principal_type: str = "",
        principal_name: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribedDelegationToken(Message):
    __slots__ = (
        "expiry_timestamp",
        "hmac",
        "issue_timestamp",
        "max_timestamp",
        "principal_name",
        "principal_type",
        "renewers",
        "token_id",
        "token_requester_principal_name",
        "token_requester_principal_type",
    )

    def __init__(
        self,
        *,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: list[DescribedDelegationTokenRenewer] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers: list[DescribedDelegationTokenRenewer] = [] if renewers is DEFAULT else renewers
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeDelegationTokenResponse(Message):
    __slots__ = (
        "error_code",
        "throttle_time_ms",
        "tokens",
    )

    API_KEY = 41
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DescribeDelegationTokenResponse response module=clients key=41 versions=1-3 flexible=2+
  ErrorCode int16 0+
  Tokens []DescribedDelegationToken 0+
    PrincipalType string 0+
    PrincipalName string 0+
    TokenRequesterPrincipalType string 3+
    TokenRequesterPrincipalName string 3+
    IssueTimestamp int64 0+
    ExpiryTimestamp int64 0+
    MaxTimestamp int64 0+
    TokenId string 0+
    Hmac bytes 0+
    Renewers []DescribedDelegationTokenRenewer 0+
      PrincipalType string 0+
      PrincipalName string 0+
  ThrottleTimeMs int32 0+
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        tokens: list[DescribedDelegationToken] = DEFAULT,
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.tokens: list[DescribedDelegationToken] = [] if tokens is DEFAULT else tokens
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields
