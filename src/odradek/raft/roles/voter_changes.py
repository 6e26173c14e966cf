"""AddRaftVoter (80), RemoveRaftVoter (81), UpdateRaftVoter (82): the leader changes the set of voters (KIP-853).

One change at a time, and none before the last one and a record of this epoch are committed: so any two majorities that
may decide at the same moment share a voter. A voters record holds from when it is in a log; the answer waits until it
is committed, by a majority of the new set. A leader that removed itself leads until then, and resigns.

Update is how a voter tells its listeners and versions. While voters are static the log cannot hold that, and the
leader keeps it in memory for an upgrade of `kraft.version`.
"""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import error_in, has_valid_cluster_id, leader_only_error
from odradek.raft.messages.requests import build_api_versions_request
from odradek.raft.messages.responses import build_update_voter_response
from odradek.raft.quorum_context import Core
from odradek.raft.roles.pending_voter_change import AddVoter, RemoveVoter, add_voter_response, remove_voter_response
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


class Refused(Exception):
    """Why a change cannot be made now."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def handle_add(core: Core, request: Request, message: AddRaftVoterRequest) -> None:
    try:
        leader = _leader(core, message.cluster_id)
        key = _voter_key(message.voter_id, message.voter_directory_id)
        endpoints = Endpoints.of(Endpoint(e.name, e.host, e.port) for e in message.listeners)
        address = endpoints.address(core.local.listener)
        if address is None:
            raise Refused(ErrorCode.INVALID_REQUEST, f"the voter does not listen on {core.local.listener}")
        voters = _changeable_voters(core, leader)
        if key.id in voters:
            raise Refused(ErrorCode.DUPLICATE_VOTER, f"{key.id} is one of the voters {voters.ids} already")
        destination = Destination(key.id, address.host, address.port)
        sent, deadline_ms = core.send(destination, build_api_versions_request)
        if not sent:
            raise Refused(ErrorCode.REQUEST_TIMED_OUT, f"the new voter {key} is busy")
    except Refused as refused:
        core.reply(request.handle, add_voter_response(refused.error, refused.message))
        return
    leader.voter_change = AddVoter(request.handle, key, endpoints, message.ack_when_committed, deadline_ms)


def handle_api_versions(core: Core, node_id: int, message: ApiVersionsResponse) -> bool:
    """The new voter has answered: write the record, if it can be one of us."""
    leader = core.quorum.state
    change = leader.voter_change if isinstance(leader, Leader) else None
    if not isinstance(leader, Leader) or not isinstance(change, AddVoter) or not change.expects_versions_of(node_id):
        return True
    try:
        _add(core, leader, change, message)
    except Refused as refused:
        core.finish_voter_change(leader, refused.error, refused.message)
        return message.error_code == ErrorCode.NONE
    if not change.ack_when_committed:
        core.reply(change.handle, add_voter_response(ErrorCode.NONE))
        change.handle = None
    return True


def _add(core: Core, leader: Leader, change: AddVoter, message: ApiVersionsResponse) -> None:
    if message.error_code != ErrorCode.NONE:
        error = error_in(message.error_code)
        raise Refused(ErrorCode.REQUEST_TIMED_OUT, f"the new voter {change.key} answers {error.name}")
    feature = next((f for f in message.supported_features if f.name == KRAFT_VERSION_FEATURE), None)
    versions = VersionRange(0, 0) if feature is None else VersionRange(feature.min_version, feature.max_version)
    version = core.control.kraft_version
    if not versions.includes(version):
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"the new voter {change.key} supports {KRAFT_VERSION_FEATURE} {versions.first} to {versions.last}, "
            f"the cluster is at {version}",
        )
    if not leader.has_caught_up(change.key, core.now_ms):
        raise Refused(ErrorCode.REQUEST_TIMED_OUT, f"the new voter {change.key} has not caught up with the log")
    voters = core.control.voters.add(Voter(change.key, change.endpoints, versions))
    if voters is None:
        raise Refused(ErrorCode.DUPLICATE_VOTER, f"{change.key.id} is a voter already")
    change.offset = _append_voters(core, leader, voters)


def failed_api_versions(core: Core, node_id: int) -> None:
    leader = core.quorum.state
    change = leader.voter_change if isinstance(leader, Leader) else None
    if isinstance(leader, Leader) and isinstance(change, AddVoter) and change.expects_versions_of(node_id):
        core.finish_voter_change(leader, ErrorCode.REQUEST_TIMED_OUT, f"the new voter {change.key} does not answer")


def handle_remove(core: Core, request: Request, message: RemoveRaftVoterRequest) -> None:
    try:
        leader = _leader(core, message.cluster_id)
        key = _voter_key(message.voter_id, message.voter_directory_id)
        voters = _changeable_voters(core, leader)
        fewer = voters.remove(key)
        if fewer is None:
            raise Refused(ErrorCode.VOTER_NOT_FOUND, f"{key} cannot be removed from the voters {voters}")
    except Refused as refused:
        core.reply(request.handle, remove_voter_response(refused.error, refused.message))
        return
    offset = _append_voters(core, leader, fewer)
    leader.voter_change = RemoveVoter(request.handle, offset, core.now_ms + core.config.request_timeout_ms)


def handle_update(core: Core, request: Request, message: UpdateRaftVoterRequest) -> None:
    try:
        _update(core, message)
        error = ErrorCode.NONE
    except Refused as refused:
        error = refused.error
    core.reply(request.handle, build_update_voter_response(core, request, error))


def _update(core: Core, message: UpdateRaftVoterRequest) -> None:
    leader = _leader(core, message.cluster_id, message.current_leader_epoch)
    key = _voter_key(message.voter_id, message.voter_directory_id)
    endpoints = Endpoints.of(Endpoint(e.name, e.host, e.port) for e in message.listeners)
    feature = message.kraft_version_feature
    versions = VersionRange(feature.min_supported_version, feature.max_supported_version)
    if endpoints.address(core.local.listener) is None or not 0 <= versions.first <= versions.last:
        raise Refused(ErrorCode.INVALID_REQUEST)
    reconfigurable = core.is_reconfigurable
    voters = _changeable_voters(core, leader) if reconfigurable else _told_voters(core, leader)
    if not versions.includes(core.control.kraft_version):
        raise Refused(ErrorCode.INVALID_REQUEST)
    updated = voters.update(Voter(key, endpoints, versions), ignoring_directory=not reconfigurable)
    if updated is None:
        raise Refused(ErrorCode.VOTER_NOT_FOUND)
    if reconfigurable:
        _append_voters(core, leader, updated)
    else:
        leader.told_voters = updated
    leader.heard_from(key, core.now_ms)


def _told_voters(core: Core, leader: Leader) -> VoterSet:
    if leader.voter_change is not None or leader.high_watermark is None or leader.told_voters is None:
        raise Refused(ErrorCode.REQUEST_TIMED_OUT)
    return leader.told_voters


def _leader(core: Core, cluster_id: str | None, epoch: int | None = None) -> Leader:
    if not has_valid_cluster_id(core, cluster_id):
        raise Refused(ErrorCode.INCONSISTENT_CLUSTER_ID, f"this cluster is {core.local.cluster_id}, not {cluster_id}")
    error = leader_only_error(core, core.epoch if epoch is None else epoch)
    if error is not None:
        raise Refused(error)
    leader = core.quorum.state
    assert isinstance(leader, Leader)
    return leader


def _voter_key(voter_id: int, directory_id: bytes) -> ReplicaKey:
    key = ReplicaKey.from_wire(voter_id, directory_id)
    if voter_id < 0 or key.directory_id is None:
        raise Refused(ErrorCode.INVALID_REQUEST, "a voter has an id and a directory id")
    return key


def _changeable_voters(core: Core, leader: Leader) -> VoterSet:
    """The voters in the log, if they may change now."""
    expire(core, leader)
    if leader.voter_change is not None:
        raise Refused(ErrorCode.REQUEST_TIMED_OUT, "another change of the voters is under way")
    if leader.high_watermark is None:
        raise Refused(ErrorCode.REQUEST_TIMED_OUT, "nothing of this leader's epoch is committed yet")
    if not core.is_reconfigurable:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"voters cannot change while {KRAFT_VERSION_FEATURE} is {core.control.kraft_version}",
        )
    entry = core.control.voters_entry
    if entry is None or entry[0] >= leader.high_watermark:
        raise Refused(ErrorCode.REQUEST_TIMED_OUT, "the last change of the voters is not committed yet")
    return entry[1]


def _append_voters(core: Core, leader: Leader, voters: VoterSet) -> int:
    return leader.accumulator.append_control([voters.to_record()], core.now_ms, core.wall_ms)


def voters_committed(core: Core, leader: Leader) -> None:
    """The high watermark has moved: answer whoever waits for a change of the voters."""
    change, entry, committed = leader.voter_change, core.control.voters_entry, leader.high_watermark or 0
    if change is not None and change.offset is not None and committed > change.offset:
        core.finish_voter_change(leader, ErrorCode.NONE)
    if entry is not None and committed > entry[0] and not core.quorum.is_voter:
        leader.resign_requested = True


def expire(core: Core, leader: Leader) -> int:
    """Give up a change that takes too long; should its record be committed later, it holds all the same."""
    change = leader.voter_change
    if change is None:
        return NEVER_MS
    if core.now_ms < change.deadline_ms:
        return change.deadline_ms
    core.finish_voter_change(leader, ErrorCode.REQUEST_TIMED_OUT)
    return NEVER_MS
