"""LeaderChangeMessage. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class Voter(Message):
    __slots__ = (
        "voter_directory_id",
        "voter_id",
    )

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields


class LeaderChangeMessage(Message):
    __slots__ = (
        "granting_voters",
        "leader_id",
        "version",
        "voters",
    )

    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
LeaderChangeMessage data module=clients versions=0-1 flexible=0+
  struct Voter
    VoterId int32 0+
    VoterDirectoryId uuid 1+
  Version int16 0+
  LeaderId int32 0+ entity=brokerId
  Voters []Voter 0+
  GrantingVoters []Voter 0+
"""

    def __init__(
        self,
        *,
        version: int = 0,
        leader_id: int = 0,
        voters: list[Voter] = DEFAULT,
        granting_voters: list[Voter] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters: list[Voter] = [] if voters is DEFAULT else voters
        self.granting_voters: list[Voter] = [] if granting_voters is DEFAULT else granting_voters
        self.unknown_tagged_fields = unknown_tagged_fields
