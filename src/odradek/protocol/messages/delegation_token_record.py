"""DelegationTokenRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DelegationTokenRecord(Message):
    __slots__ = (
        "expiration_timestamp",
        "issue_timestamp",
        "max_timestamp",
        "owner",
        "renewers",
        "requester",
        "token_id",
    )

    API_KEY = 10
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DelegationTokenRecord metadata module=metadata key=10 versions=0 flexible=0+
  Owner string 0+
  Requester string 0+
  Renewers []string 0+
  IssueTimestamp int64 0+
  MaxTimestamp int64 0+
  ExpirationTimestamp int64 0+
  TokenId string 0+
"""

    def __init__(
        self,
        *,
        owner: str = "",
        requester: str = "",
        renewers: list[str] = DEFAULT,
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.owner = owner
        self.requester = requester
        self.renewers: list[str] = [] if renewers is DEFAULT else renewers
        self.issue_timestamp = issue_timestamp
        self.max_timestamp = max_timestamp
        self.expiration_timestamp = expiration_timestamp
        self.token_id = token_id
        self.unknown_tagged_fields = unknown_tagged_fields
