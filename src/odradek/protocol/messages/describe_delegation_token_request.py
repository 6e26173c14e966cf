"""DescribeDelegationTokenRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribeDelegationTokenOwner(Message):
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


class DescribeDelegationTokenRequest(Message):
    __slots__ = ("owners",)

    API_KEY = 41
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DescribeDelegationTokenRequest request module=clients key=41 versions=1-3 flexible=2+
  Owners []DescribeDelegationTokenOwner 0+ nullable=0+
    PrincipalType string 0+
    PrincipalName string 0+
"""

    def __init__(
        self,
        *,
        owners: list[DescribeDelegationTokenOwner] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.owners: list[DescribeDelegationTokenOwner] | None = [] if owners is DEFAULT else owners
        self.unknown_tagged_fields = unknown_tagged_fields
