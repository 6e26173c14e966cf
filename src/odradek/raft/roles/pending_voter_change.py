"""A change of the voters that is under way at the leader: one voter added or removed, and who waits for the answer."""

from dataclasses import dataclass

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from odradek.raft.values import Endpoints, ReplicaKey


@dataclass(slots=True)
class AddVoter:
    """First the new voter is asked for its versions (ApiVersions), then the record is written and waited for."""

    handle: object | None  # None: answered already
    key: ReplicaKey
    endpoints: Endpoints
    ack_when_committed: bool
    deadline_ms: int
    #: Of the record, once it is written.
    offset: int | None = None

    def expects_versions_of(self, node_id: int) -> bool:
        return self.offset is None and self.key.id == node_id


@dataclass(slots=True)
class RemoveVoter:
    handle: object | None
    offset: int
    deadline_ms: int


VoterChange = AddVoter | RemoveVoter


def add_voter_response(error: ErrorCode, message: str | None = None) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(error_code=error, error_message=_text(error, message))


def remove_voter_response(error: ErrorCode, message: str | None = None) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=error, error_message=_text(error, message))


def answer_voter_change(
    change: VoterChange, error: ErrorCode, message: str | None
) -> AddRaftVoterResponse | RemoveRaftVoterResponse:
    build = add_voter_response if isinstance(change, AddVoter) else remove_voter_response
    return build(error, message)


def _text(error: ErrorCode, message: str | None) -> str | None:
    """An error always says something."""
    if error == ErrorCode.NONE:
        return None
    return message or error.message
