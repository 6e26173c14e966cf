"""CreateDelegationTokenRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class CreatableRenewers(Message):
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


class CreateDelegationTokenRequest(Message):
    __slots__ = (
        "max_lifetime_ms",
        "owner_principal_name",
        "owner_principal_type",
        "renewers",
    )

    API_KEY = 38
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
CreateDelegationTokenRequest request module=clients key=38 versions=1-3 flexible=2+
  OwnerPrincipalType string 3+ nullable=3+
  OwnerPrincipalName string 3+ nullable=3+
  Renewers []CreatableRenewers 0+
    PrincipalType string 0+
    PrincipalName string 0+
  MaxLifetimeMs int64 0+
"""

    def __init__(
        self,
        *,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreatableRenewers] = DEFAULT,
        max_lifetime_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers: list[CreatableRenewers] = [] if renewers is DEFAULT else renewers
        self.max_lifetime_ms = max_lifetime_ms
        self.unknown_tagged_fields = unknown_tagged_fields
