"""AlterUserScramCredentialsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ScramCredentialDeletion(Message):
    __slots__ = (
        "mechanism",
        "name",
    )

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields


class ScramCredentialUpsertion(Message):
    __slots__ = (
        "iterations",
        "mechanism",
        "name",
        "salt",
        "salted_password",
    )

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterUserScramCredentialsRequest(Message):
    __slots__ = (
        "deletions",
        "upsertions",
    )

    API_KEY = 51
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AlterUserScramCredentialsRequest request module=clients key=51 versions=0 flexible=0+
  Deletions []ScramCredentialDeletion 0+
    Name string 0+
    Mechanism int8 0+
  Upsertions []ScramCredentialUpsertion 0+
    Name string 0+
    Mechanism int8 0+
    Iterations int32 0+
    Salt bytes 0+
    SaltedPassword bytes 0+
"""

    def __init__(
        self,
        *,
        deletions: list[ScramCredentialDeletion] = DEFAULT,
        upsertions: list[ScramCredentialUpsertion] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.deletions: list[ScramCredentialDeletion] = [] if deletions is DEFAULT else deletions
        self.upsertions: list[ScramCredentialUpsertion] = [] if upsertions is DEFAULT else upsertions
        self.unknown_tagged_fields = unknown_tagged_fields
