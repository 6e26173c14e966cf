"""AddRaftVoterRequest. Made by tools/make_messages.py from tables/messages.txt."""

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


class AddRaftVoterRequest(Message):
    __slots__ = (
        "ack_when_committed",
        "cluster_id",
        "listeners",
        "timeout_ms",
        "voter_directory_id",
        "voter_id",
    )

    API_KEY = 80
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AddRaftVoterRequest request module=clients key=80 versions=0-1 flexible=0+
  ClusterId string 0+ nullable=0+
  TimeoutMs int32 0+
  VoterId int32 0+
  VoterDirectoryId uuid 0+
  Listeners []Listener 0+
    Name string 0+ key
    Host string 0+
    Port uint16 0+
  AckWhenCommitted bool 1+ default=true
"""

    def __init__(
        self,
        *,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] = DEFAULT,
        ack_when_committed: bool = True,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners: list[Listener] = [] if listeners is DEFAULT else listeners
        self.ack_when_committed = ack_when_committed
        self.unknown_tagged_fields = unknown_tagged_fields
