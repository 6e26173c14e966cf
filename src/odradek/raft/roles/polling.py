"""What a replica does by itself, in each state: send what is due, and notice what has been waited for too long.

Each function does what can be done now and returns when to look again; a change of state asks for another look at
once.
"""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from odradek.protocol.messages.update_raft_voter_response import UpdateRaftVoterResponse
from odradek.raft.messages.request_checks import error_in, handle_common
from odradek.raft.messages.requests import (
    build_add_voter_request,
    build_fetch_request,
    build_fetch_snapshot_request,
    build_remove_voter_request,
    build_update_voter_request,
)
from odradek.raft.messages.responses import LeaderHint
from odradek.raft.quorum_context import Core
from odradek.raft.roles import begin_epoch, elections, fetch, resignation, voter_changes
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.follower import Follower
from odradek.raft.states.leader import Leader
from odradek.raft.states.prospective import Prospective
from odradek.raft.states.resigned import Resigned
from odradek.raft.states.unattached import Unattached
from odradek.raft.values import NEVER_MS, NO_ENDPOINTS, Destination, Endpoint, Endpoints


def poll(core: Core) -> int:
    state = core.quorum.state
    if isinstance(state, Leader):
        return _poll_leader(core, state)
    if isinstance(state, Follower):
        return _poll_follower(core, state)
    if isinstance(state, Candidate):
        return _poll_candidate(core, state)
    if isinstance(state, Prospective):
        return _poll_prospective(core, state)
    if isinstance(state, Resigned):
        return _poll_resigned(core, state)
    assert isinstance(state, Unattached)
    return _poll_unattached(core, state)


def _poll_leader(core: Core, state: Leader) -> int:
    check_quorum_ms = state.check_quorum_deadline_ms
    stops = core.shutdown_deadline_ms is not None and _has_passed_on(core, state)
    if stops or state.resign_requested or core.now_ms >= check_quorum_ms:
        core.become_resigned(state.successors())
        return core.now_ms
    change_ms = voter_changes.expire(core, state)
    append_ms = NEVER_MS
    if core.writable_epoch == state.epoch:
        if core.now_ms >= state.accumulator.deadline_ms:
            fetch.append_as_leader(core, state)
        append_ms = state.accumulator.deadline_ms
    begin_ms = begin_epoch.maybe_send(core, state)
    resign_ms = core.now_ms if state.resign_requested else NEVER_MS
    return min(check_quorum_ms, change_ms, append_ms, begin_ms, resign_ms, core.resign_deadline_ms)


def _has_passed_on(core: Core, state: Leader) -> bool:
    """Who resigns with records that its successor has not got can neither vote for it nor answer those who wait."""
    return state.high_watermark == state.accumulator.next_offset or core.now_ms >= core.resign_deadline_ms


def _poll_candidate(core: Core, state: Candidate) -> int:
    """In a shutdown the election goes on: a leader may resign, which is quicker than a candidate that is gone."""
    if core.shutdown_deadline_ms is not None:
        return min(core.shutdown_deadline_ms, elections.maybe_send(core, state))
    if core.now_ms >= state.election_deadline_ms:
        core.become_prospective()
        return core.now_ms
    return min(state.election_deadline_ms, elections.maybe_send(core, state))


def _poll_prospective(core: Core, state: Prospective) -> int:
    if core.shutdown_deadline_ms is not None:
        return min(core.shutdown_deadline_ms, elections.maybe_send(core, state))
    if core.now_ms >= state.election_deadline_ms:
        elections.lose_pre_vote(core, state)
        return core.now_ms
    return min(state.election_deadline_ms, elections.maybe_send(core, state))


def _poll_resigned(core: Core, state: Resigned) -> int:
    """It leaves into the next epoch: in its own one it could be taken for the leader."""
    at_ms = resignation.maybe_send(core, state)
    if core.shutdown_deadline_ms is not None:
        return min(at_ms, core.shutdown_deadline_ms)
    if core.now_ms >= state.election_deadline_ms:
        core.become_unattached(state.epoch + 1)
        return core.now_ms
    return min(at_ms, state.election_deadline_ms)


def _poll_unattached(core: Core, state: Unattached) -> int:
    if core.quorum.may_stand:
        if core.shutdown_deadline_ms is not None:
            return core.shutdown_deadline_ms
        if core.now_ms >= state.election_deadline_ms:
            core.become_prospective()
            return core.now_ms
    return min(state.election_deadline_ms, _fetch_from_any(core))


def _poll_follower(core: Core, state: Follower) -> int:
    if core.shutdown_deadline_ms is not None:
        return core.shutdown_deadline_ms
    if core.now_ms >= state.fetch_deadline_ms:
        if core.quorum.may_stand:
            core.become_prospective()
            return core.now_ms
        # An observer stays, but lets others be elected: it may be a voter by now without knowing it.
        state.hears_leader = False
    if core.now_ms >= state.update_voters_at_ms and _maybe_ask_for_voter_change(core, state):
        state.updated_voters(core.now_ms)
    deadline_ms = state.fetch_deadline_ms if core.now_ms < state.fetch_deadline_ms else NEVER_MS
    return min(deadline_ms, _fetch_from_leader(core, state))


def _maybe_ask_for_voter_change(core: Core, state: Follower) -> bool:
    """Tell the leader what the voters should say about us. False: try again, the leader is busy."""
    leader = _leader_destination(core, state)
    if core.quorum.is_voter:
        if core.is_reconfigurable:
            is_due = core.control.voters.needs_update(core.quorum.local_voter)
        else:
            is_due = not state.has_updated_leader
        return not is_due or core.send(leader, lambda: build_update_voter_request(core))[0]
    if not (core.is_reconfigurable and core.config.auto_join and core.local.can_become_voter):
        return True
    return _ask_to_join(core, leader)


def _ask_to_join(core: Core, leader: Destination) -> bool:
    """KIP-1186: first an old replica with our id, which lost its disk, has to go."""
    old = core.control.voters.get(core.quorum.local_key.id)
    if old is not None:
        return core.send(leader, lambda: build_remove_voter_request(core, old.key))[0]
    return core.send(leader, lambda: build_add_voter_request(core))[0]


def _fetch_from_leader(core: Core, state: Follower) -> int:
    """A leader that does not answer may be none any more: then others are asked."""
    leader, now_ms = _leader_destination(core, state), core.now_ms
    connections = core.connections
    if connections.has_timed_out(leader.id, now_ms):
        connections.reset(leader.id)
        return _fetch_from_any(core)
    if connections.is_backing_off(leader.id, now_ms):
        return min(_fetch_from_any(core), connections.ready_at_ms(leader.id, now_ms))
    waits_until_ms = connections.waits_until_ms(now_ms)
    if waits_until_ms is not None:
        return waits_until_ms
    snapshot = state.snapshot
    if snapshot is not None:
        position = snapshot.size_bytes
        return core.send(leader, lambda: build_fetch_snapshot_request(core, snapshot.id, position))[1]
    return core.send(leader, lambda: build_fetch_request(core))[1]


def _fetch_from_any(core: Core) -> int:
    servers = core.servers()
    server = core.connections.any_ready(servers, core.now_ms)
    if server is not None:
        core.send(server, lambda: build_fetch_request(core))
    return core.connections.any_ready_at_ms(servers, core.now_ms)


def _leader_destination(core: Core, state: Follower) -> Destination:
    address = state.leader_endpoints.address(core.local.listener) or state.leader_endpoints[0]
    return Destination(state.leader_id, address.host, address.port)


def handle_update_voter_response(core: Core, message: UpdateRaftVoterResponse) -> bool:
    error, leader = error_in(message.error_code), message.current_leader
    endpoints = NO_ENDPOINTS
    if leader.host:
        endpoints = Endpoints((Endpoint(core.local.listener, leader.host, leader.port),))
    leader_id = None if leader.leader_id < 0 else leader.leader_id
    handled = handle_common(core, error, LeaderHint(leader_id, leader.leader_epoch, endpoints))
    if handled is not None:
        return handled
    state = core.quorum.state
    if error not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION) or not isinstance(state, Follower):
        return False
    state.has_updated_leader = True
    state.heard_leader(core.now_ms)
    return True


def handle_join_response(core: Core, message: AddRaftVoterResponse | RemoveRaftVoterResponse) -> bool:
    """Done, or to be tried again after a while."""
    state = core.quorum.state
    if isinstance(state, Follower):
        state.updated_voters(core.now_ms)
    return message.error_code in (
        ErrorCode.NONE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.DUPLICATE_VOTER,
        ErrorCode.VOTER_NOT_FOUND,
    )
