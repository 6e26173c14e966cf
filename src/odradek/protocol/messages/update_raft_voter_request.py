"""UpdateRaftVoterRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class Listener(Message):
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


class UpdateRaftVoterRequest(Message):
    __slots__ = (
        "cluster_id",
        "current_leader_epoch",
        "kraft_version_feature",
        "listeners",
        "voter_directory_id",
        "voter_id",
    )

    API_KEY = 82
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
UpdateRaftVoterRequest request module=clients key=82 versions=0 flexible=0+
  ClusterId string 0+ nullable=0+
  CurrentLeaderEpoch int32 0+
  VoterId int32 0+
  VoterDirectoryId uuid 0+
  Listeners []Listener 0+
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
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] = DEFAULT,
        kraft_version_feature: KRaftVersionFeature = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners: list[Listener] = [] if listeners is DEFAULT else listeners
        self.kraft_version_feature: KRaftVersionFeature = (
            KRaftVersionFeature() if kraft_version_feature is DEFAULT else kraft_version_feature
        )
        self.unknown_tagged_fields = unknown_tagged_fields
