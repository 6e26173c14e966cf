"""Changes of the voters by the leader: AddRaftVoter (80), RemoveRaftVoter (81), UpdateRaftVoter (82) (KIP-853).

One change at a time, and none before the last one and a record of this epoch are committed: so any two majorities that
may decide at the same time share a voter. A voters record is in effect as soon as it is in a log; the response waits
until a majority of the new voters has committed it. A leader that removed itself leads until then, and resigns.

With UpdateRaftVoter a voter reports its listeners and versions. While the voters are static the report is kept for an
upgrade of `kraft.version`.
"""

from dataclasses import replace

from odradek.common.failures import fail
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse
from odradek.protocol.messages.kraft_version_record import KRaftVersionRecord
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import RequestChecks, parse_error_code
from odradek.raft.messages.requests import build_api_versions_request
from odradek.raft.messages.responses import ResponseBuilder
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.roles.kraft_version_upgrade import KRaftVersionUpgrade
from odradek.raft.roles.pending_voter_change import (
    AddVoter,
    PendingVoterChange,
    RemoveVoter,
    build_add_voter_response,
    build_remove_voter_response,
)
from odradek.raft.states.leader import Leader
from odradek.raft.values import (
    KRAFT_VERSION_FEATURE,
    NEVER_MS,
    Destination,
    Endpoint,
    Endpoints,
    ReplicaKey,
    VersionRange,
)
from odradek.raft.voters import Voter, VoterSet


class VoterChangeRejected(Exception):
    """Why a change cannot be made now."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


class VoterChanges:
    def __init__(self, context: QuorumContext, upgrade: KRaftVersionUpgrade) -> None:
        self._context = context
        self._outbox = context.outbox
        self._upgrade = upgrade
        self._checks = RequestChecks(context)
        self._responses = ResponseBuilder(context)
        self._pending: PendingVoterChange | None = None

    def start_epoch(self, leader: Leader) -> list[Message]:
        """Return the control records about the voters that a new leader writes: once those of the bootstrap snapshot,
        which is not replicated, and whenever the leader has other listeners than the log says."""
        self._upgrade.start_epoch(leader)
        if not self._context.is_reconfigurable:
            return []
        control = self._context.control
        entry = control.voters_entry
        if entry is None:
            fail("kraft.version says that the log has voters, but it has none")
        offset, voters = entry
        updated = voters.update(leader.local)
        if updated is None or (offset >= 0 and not voters.needs_update(leader.local)):
            return []
        return [KRaftVersionRecord(kraft_version=control.kraft_version), updated.to_record()]

    def end_epoch(self, error: ErrorCode) -> None:
        """Abandon the pending change: this replica does not lead any more."""
        self._finish(error)
        self._upgrade.end_epoch()

    def handle_add_request(self, request: Request, message: AddRaftVoterRequest) -> None:
        try:
            self._pending = self._start_adding(request, message)
        except VoterChangeRejected as rejected:
            self._outbox.reply(request.handle, build_add_voter_response(rejected.error, rejected.message))

    def _start_adding(self, request: Request, message: AddRaftVoterRequest) -> AddVoter:
        """Request the versions of the new voter."""
        leader, listener = self._leader(message.cluster_id), self._context.local.listener
        key = _voter_key(message.voter_id, message.voter_directory_id)
        endpoints = Endpoints.of(Endpoint(e.name, e.host, e.port) for e in message.listeners)
        address = endpoints.address(listener)
        if address is None:
            raise VoterChangeRejected(ErrorCode.INVALID_REQUEST, f"the voter does not listen on {listener}")
        voters = self._changeable_voters(leader)
        if key.id in voters:
            raise VoterChangeRejected(ErrorCode.DUPLICATE_VOTER, f"{key.id} is one of the voters {voters.ids} already")
        destination = Destination(key.id, address.host, address.port)
        is_sent, deadline_ms = self._outbox.send(destination, build_api_versions_request, self._context.now_ms)
        if not is_sent:
            raise VoterChangeRejected(ErrorCode.REQUEST_TIMED_OUT, f"the new voter {key} is busy")
        return AddVoter(request.handle, key, endpoints, message.ack_when_committed, deadline_ms)

    def handle_api_versions_response(self, node_id: int, message: ApiVersionsResponse) -> bool:
        """Write the voters with the new voter, if it fits. Return whether it may be sent another request at once."""
        leader, change = self._context.state, self._pending
        if not isinstance(leader, Leader) or not isinstance(change, AddVoter) or not change.awaits_versions_of(node_id):
            return True
        try:
            offset = self._append_with_new_voter(leader, change, message)
        except VoterChangeRejected as rejected:
            self._finish(rejected.error, rejected.message)
            return message.error_code == ErrorCode.NONE
        if change.ack_when_committed:
            self._pending = replace(change, offset=offset)
        else:
            self._pending = replace(change, offset=offset, handle=None)
            self._outbox.reply(change.handle, build_add_voter_response(ErrorCode.NONE))
        return True

    def _append_with_new_voter(self, leader: Leader, change: AddVoter, message: ApiVersionsResponse) -> int:
        key, timed_out = change.key, ErrorCode.REQUEST_TIMED_OUT
        if message.error_code != ErrorCode.NONE:
            error = parse_error_code(message.error_code)
            raise VoterChangeRejected(timed_out, f"the new voter {key} answers {error.name}")
        feature = next((f for f in message.supported_features if f.name == KRAFT_VERSION_FEATURE), None)
        versions = VersionRange(0, 0) if feature is None else VersionRange(feature.min_version, feature.max_version)
        version = self._context.control.kraft_version
        if not versions.includes(version):
            raise VoterChangeRejected(
                ErrorCode.INVALID_REQUEST,
                f"the new voter {key} supports {KRAFT_VERSION_FEATURE} {versions.first} to {versions.last}, "
                f"the cluster is at {version}",
            )
        if not leader.has_caught_up(key, self._context.now_ms):
            raise VoterChangeRejected(timed_out, f"the new voter {key} has not caught up with the log")
        voters = self._context.voters.add(Voter(key, change.endpoints, versions))
        if voters is None:
            raise VoterChangeRejected(ErrorCode.DUPLICATE_VOTER, f"{key.id} is a voter already")
        return self._append(leader, voters)

    def handle_api_versions_failure(self, node_id: int) -> None:
        change = self._pending
        if isinstance(change, AddVoter) and change.awaits_versions_of(node_id):
            self._finish(ErrorCode.REQUEST_TIMED_OUT, f"the new voter {change.key} does not answer")

    def handle_remove_request(self, request: Request, message: RemoveRaftVoterRequest) -> None:
        try:
            leader = self._leader(message.cluster_id)
            key = _voter_key(message.voter_id, message.voter_directory_id)
            voters = self._changeable_voters(leader)
            remaining = voters.remove(key)
            if remaining is None:
                text = f"{key} cannot be removed from the voters {voters}"
                raise VoterChangeRejected(ErrorCode.VOTER_NOT_FOUND, text)
        except VoterChangeRejected as rejected:
            self._outbox.reply(request.handle, build_remove_voter_response(rejected.error, rejected.message))
            return
        offset = self._append(leader, remaining)
        deadline_ms = self._context.now_ms + self._context.config.request_timeout_ms
        self._pending = RemoveVoter(request.handle, offset, deadline_ms)

    def handle_update_request(self, request: Request, message: UpdateRaftVoterRequest) -> None:
        try:
            self._update(message)
            error = ErrorCode.NONE
        except VoterChangeRejected as rejected:
            error = rejected.error
        self._outbox.reply(request.handle, self._responses.build_update_voter(request, error))

    def _update(self, message: UpdateRaftVoterRequest) -> None:
        context = self._context
        leader = self._leader(message.cluster_id, message.current_leader_epoch)
        key = _voter_key(message.voter_id, message.voter_directory_id)
        endpoints = Endpoints.of(Endpoint(e.name, e.host, e.port) for e in message.listeners)
        feature = message.kraft_version_feature
        versions = VersionRange(feature.min_supported_version, feature.max_supported_version)
        if endpoints.address(context.local.listener) is None or not 0 <= versions.first <= versions.last:
            raise VoterChangeRejected(ErrorCode.INVALID_REQUEST)
        is_reconfigurable = context.is_reconfigurable
        voters = self._changeable_voters(leader) if is_reconfigurable else self._reported_voters(leader)
        if not versions.includes(context.control.kraft_version):
            raise VoterChangeRejected(ErrorCode.INVALID_REQUEST)
        updated = voters.update(Voter(key, endpoints, versions), ignoring_directory=not is_reconfigurable)
        if updated is None:
            raise VoterChangeRejected(ErrorCode.VOTER_NOT_FOUND)
        if is_reconfigurable:
            self._append(leader, updated)
        else:
            self._upgrade.record_report(updated)
        leader.record_contact(key, context.now_ms)

    def _leader(self, cluster_id: str | None, epoch: int | None = None) -> Leader:
        context = self._context
        if not self._checks.has_valid_cluster_id(cluster_id):
            text = f"this cluster is {context.local.cluster_id}, not {cluster_id}"
            raise VoterChangeRejected(ErrorCode.INCONSISTENT_CLUSTER_ID, text)
        error = self._checks.leader_request_error(context.epoch if epoch is None else epoch)
        if error is not None:
            raise VoterChangeRejected(error)
        leader = context.state
        assert isinstance(leader, Leader)
        return leader

    def _reported_voters(self, leader: Leader) -> VoterSet:
        voters = self._upgrade.reported_voters
        if self._pending is not None or leader.high_watermark is None or voters is None:
            raise VoterChangeRejected(ErrorCode.REQUEST_TIMED_OUT)
        return voters

    def _changeable_voters(self, leader: Leader) -> VoterSet:
        """Return the voters in the log, if they may change now."""
        timed_out, control = ErrorCode.REQUEST_TIMED_OUT, self._context.control
        self.expire()
        if self._pending is not None:
            raise VoterChangeRejected(timed_out, "another change of the voters is under way")
        if leader.high_watermark is None:
            raise VoterChangeRejected(timed_out, "nothing of this leader's epoch is committed yet")
        if not self._context.is_reconfigurable:
            raise VoterChangeRejected(
                ErrorCode.UNSUPPORTED_VERSION,
                f"voters cannot change while {KRAFT_VERSION_FEATURE} is {control.kraft_version}",
            )
        entry = control.voters_entry
        if entry is None or entry[0] >= leader.high_watermark:
            raise VoterChangeRejected(timed_out, "the last change of the voters is not committed yet")
        return entry[1]

    def _append(self, leader: Leader, voters: VoterSet) -> int:
        return leader.accumulator.append_control([voters.to_record()], self._context.now_ms, self._context.wall_ms)

    def handle_high_watermark(self, leader: Leader) -> None:
        """Finish the pending change if it is committed; resign if this leader is no voter any more."""
        change, entry, committed = self._pending, self._context.control.voters_entry, leader.high_watermark or 0
        if change is not None and change.offset is not None and committed > change.offset:
            self._finish(ErrorCode.NONE)
        if entry is not None and committed > entry[0] and not self._context.quorum.is_voter:
            leader.request_resignation()

    def expire(self) -> int:
        """Abandon a change that takes too long; its record, if it is committed later, is in effect all the same.
        Return when to call again."""
        change = self._pending
        if change is None:
            return NEVER_MS
        if self._context.now_ms < change.deadline_ms:
            return change.deadline_ms
        self._finish(ErrorCode.REQUEST_TIMED_OUT)
        return NEVER_MS

    def _finish(self, error: ErrorCode, message: str | None = None) -> None:
        change, self._pending = self._pending, None
        if change is not None and change.handle is not None:
            self._outbox.reply(change.handle, change.build_response(error, message))


def _voter_key(voter_id: int, directory_id: bytes) -> ReplicaKey:
    key = ReplicaKey.from_wire(voter_id, directory_id)
    if voter_id < 0 or key.directory_id is None:
        raise VoterChangeRejected(ErrorCode.INVALID_REQUEST, "a voter has an id and a directory id")
    return key
