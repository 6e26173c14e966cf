"""QuorumStateData. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class Voter(Message):
    __slots__ = ("voter_id",)

    def __init__(
        self,
        *,
        voter_id: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.voter_id = voter_id
        self.unknown_tagged_fields = unknown_tagged_fields


class QuorumStateData(Message):
    __slots__ = (
        "applied_offset",
        "cluster_id",
        "current_voters",
        "leader_epoch",
        "leader_id",
        "voted_directory_id",
        "voted_id",
    )

    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
QuorumStateData data module=raft versions=0-1 flexible=0+
  ClusterId string 0
  LeaderId int32 0+ default=-1
  LeaderEpoch int32 0+ default=-1
  VotedId int32 0+ default=-1
  VotedDirectoryId uuid 1+
  AppliedOffset int64 0
  CurrentVoters []Voter 0 nullable=0
    VoterId int32 0
"""

    def __init__(
        self,
        *,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: bytes = ZERO_UUID,
        applied_offset: int = 0,
        current_voters: list[Voter] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.voted_directory_id = voted_directory_id
        self.applied_offset = applied_offset
        self.current_voters: list[Voter] | None = [] if current_voters is DEFAULT else current_voters
        self.unknown_tagged_fields = unknown_tagged_fields
