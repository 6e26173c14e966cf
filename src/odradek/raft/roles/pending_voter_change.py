"""A change of the voters that the leader has accepted and not finished: one voter is added or removed."""

from dataclasses import dataclass

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from odradek.raft.values import Endpoints, ReplicaKey


@dataclass(frozen=True, slots=True)
class AddVoter:
    """The leader first requests the versions of the new voter (ApiVersions), then writes the voters record.

    `handle` is None if the request has its response already, `offset` if the record is not written yet.
    """

    handle: object | None
    key: ReplicaKey
    endpoints: Endpoints
    ack_when_committed: bool
    deadline_ms: int
    offset: int | None = None

    def awaits_versions_of(self, node_id: int) -> bool:
        return self.offset is None and self.key.id == node_id

    def build_response(self, error: ErrorCode, message: str | None) -> AddRaftVoterResponse:
        return build_add_voter_response(error, message)


@dataclass(frozen=True, slots=True)
class RemoveVoter:
    """`offset` is that of the voters record."""

    handle: object
    offset: int
    deadline_ms: int

    def build_response(self, error: ErrorCode, message: str | None) -> RemoveRaftVoterResponse:
        return build_remove_voter_response(error, message)


PendingVoterChange = AddVoter | RemoveVoter


def build_add_voter_response(error: ErrorCode, message: str | None = None) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(error_code=error, error_message=_error_message(error, message))


def build_remove_voter_response(error: ErrorCode, message: str | None = None) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=error, error_message=_error_message(error, message))


def _error_message(error: ErrorCode, message: str | None) -> str | None:
    """Return the message, or the general one of the error."""
    if error == ErrorCode.NONE:
        return None
    return message or error.message
