"""DescribeUserScramCredentialsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class UserName(Message):
    __slots__ = ("name",)

    def __init__(
        self,
        *,
        name: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeUserScramCredentialsRequest(Message):
    __slots__ = ("users",)

    API_KEY = 50
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeUserScramCredentialsRequest request module=clients key=50 versions=0 flexible=0+
  Users []UserName 0+ nullable=0+
    Name string 0+
"""

    def __init__(
        self,
        *,
        users: list[UserName] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.users: list[UserName] | None = [] if users is DEFAULT else users
        self.unknown_tagged_fields = unknown_tagged_fields
