"""VotersRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class Endpoint(Message):
    __slots__ = (
        "host",
        "name",
        "port",
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class KRaftVersionFeature(Message):
    __slots__ = (
        "max_supported_version",
        "min_supported_version",
    )

    def __init__(
        self,
        *,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version
        self.unknown_tagged_fields = unknown_tagged_fields


class Voter(Message):
    __slots__ = (
        "endpoints",
        "kraft_version_feature",
        "voter_directory_id",
        "voter_id",
    )

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        endpoints: list[Endpoint] = DEFAULT,
        kraft_version_feature: KRaftVersionFeature = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints: list[Endpoint] = [] if endpoints is DEFAULT else endpoints
        self.kraft_version_feature: KRaftVersionFeature = (
            KRaftVersionFeature() if kraft_version_feature is DEFAULT else kraft_version_feature
        )
        self.unknown_tagged_fields = unknown_tagged_fields


class VotersRecord(Message):
    __slots__ = (
        "version",
        "voters",
    )

    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
VotersRecord data module=clients versions=0 flexible=0+
  Version int16 0+
  Voters []Voter 0+
    VoterId int32 0+ entity=brokerId
    VoterDirectoryId uuid 0+
    Endpoints []Endpoint 0+
      Name string 0+ key
      Host string 0+
      Port uint16 0+
    KRaftVersionFeature KRaftVersionFeature 0+
      MinSupportedVersion int16 0+
      MaxSupportedVersion int16 0+
"""

    def __init__(
        self,
        *,
        version: int = 0,
        voters: list[Voter] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.version = version
        self.voters: list[Voter] = [] if voters is DEFAULT else voters
        self.unknown_tagged_fields = unknown_tagged_fields
