"""A follower's report about itself: it lets the leader correct what the voter set says about it.

A voter reports its listeners and versions with UpdateRaftVoter. An observer that may become a voter adds itself with
AddRaftVoter, if `controller.quorum.auto.join.enable` is set (KIP-1186).
"""

from functools import partial

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from odradek.protocol.messages.update_raft_voter_response import UpdateRaftVoterResponse
from odradek.raft.messages.request_checks import parse_error_code
from odradek.raft.messages.requests import RequestBuilder
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.roles.leader_discovery import LeaderDiscovery, LeaderHint
from odradek.raft.states.follower import Follower
from odradek.raft.values import NO_ENDPOINTS, Destination, Endpoint, Endpoints


class VoterRegistration:
    def __init__(self, context: QuorumContext, discovery: LeaderDiscovery) -> None:
        self._context = context
        self._quorum = context.quorum
        self._discovery = discovery
        self._builder = RequestBuilder(context)

    def report(self, follower: Follower, leader: Destination) -> None:
        """Report what the voter set lacks, if anything, and plan the next report. If the leader is busy this report
        stays due."""
        if self._maybe_send(follower, leader):
            follower.schedule_voter_update(self._context.now_ms)

    def _maybe_send(self, follower: Follower, leader: Destination) -> bool:
        """Send what is to be reported. Return False if it could not be sent."""
        context, builder = self._context, self._builder
        if self._quorum.is_voter:
            if context.is_reconfigurable:
                is_due = context.voters.needs_update(self._quorum.local_voter)
            else:
                is_due = not follower.has_updated_leader
            return not is_due or context.outbox.send(leader, builder.build_update_voter, context.now_ms)[0]
        if not (context.is_reconfigurable and context.config.auto_join and context.local.can_become_voter):
            return True
        return self._join(leader)

    def _join(self, leader: Destination) -> bool:
        """Add this replica; first remove a former one with the same id, which has lost its disk."""
        context, builder = self._context, self._builder
        former = context.voters.get(self._quorum.local_key.id)
        build = builder.build_add_voter if former is None else partial(builder.build_remove_voter, former.key)
        return context.outbox.send(leader, build, context.now_ms)[0]

    def handle_update_response(self, message: UpdateRaftVoterResponse) -> bool:
        """Return whether the leader may be sent another request at once."""
        error, leader = parse_error_code(message.error_code), message.current_leader
        endpoints = NO_ENDPOINTS
        if leader.host:
            endpoints = Endpoints((Endpoint(self._context.local.listener, leader.host, leader.port),))
        leader_id = None if leader.leader_id < 0 else leader.leader_id
        handled = self._discovery.handle_hint(error, LeaderHint(leader_id, leader.leader_epoch, endpoints))
        if handled is not None:
            return handled
        state = self._quorum.state
        if error not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION) or not isinstance(state, Follower):
            return False
        state.record_leader_update(self._context.now_ms)
        return True

    def handle_join_response(self, message: AddRaftVoterResponse | RemoveRaftVoterResponse) -> bool:
        """Return whether the leader may be sent another request at once. The next report is due after a pause."""
        state = self._quorum.state
        if isinstance(state, Follower):
            state.schedule_voter_update(self._context.now_ms)
        return message.error_code in (
            ErrorCode.NONE,
            ErrorCode.REQUEST_TIMED_OUT,
            ErrorCode.DUPLICATE_VOTER,
            ErrorCode.VOTER_NOT_FOUND,
        )
