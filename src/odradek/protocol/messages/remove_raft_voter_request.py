"""RemoveRaftVoterRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class RemoveRaftVoterRequest(Message):
    __slots__ = (
        "cluster_id",
        "voter_directory_id",
        "voter_id",
    )

    API_KEY = 81
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemoveRaftVoterRequest request module=clients key=81 versions=0 flexible=0+
  ClusterId string 0+ nullable=0+
  VoterId int32 0+
  VoterDirectoryId uuid 0+
"""

    def __init__(
        self,
        *,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields
