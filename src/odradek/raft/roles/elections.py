"""Elections: from Unattached or Follower to Prospective, Candidate and Leader; and the votes for other candidates.

Vote (key 52): v0 first version · v1 directory ids, leader's address in the response (KIP-853) · v2 pre-vote (KIP-996)
A candidate requests votes; a prospective candidate requests pre-votes, which promise nothing.
"""

import logging
from functools import partial

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.vote_request import PartitionData, VoteRequest
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import RequestChecks, parse_error_code
from odradek.raft.messages.requests import RequestBuilder
from odradek.raft.messages.responses import ResponseBuilder
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.request_manager import RequestManager
from odradek.raft.roles.leader_discovery import LeaderDiscovery
from odradek.raft.roles.role_changes import RoleChanges
from odradek.raft.roles.shutdown import Shutdown
from odradek.raft.roles.voter_changes import VoterChanges
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.prospective import Prospective
from odradek.raft.states.unattached import Unattached
from odradek.raft.storage.commit_listener import CommitListener
from odradek.raft.storage.control_records import leader_change
from odradek.raft.values import NEVER_MS, OffsetAndEpoch, ReplicaKey


class Elections:
    def __init__(
        self,
        context: QuorumContext,
        requests: RequestManager,
        listener: CommitListener,
        voter_changes: VoterChanges,
        role_changes: RoleChanges,
        discovery: LeaderDiscovery,
        shutdown: Shutdown,
    ) -> None:
        self._context = context
        self._quorum = context.quorum
        self._requests = requests
        self._listener = listener
        self._voter_changes = voter_changes
        self._role_changes = role_changes
        self._discovery = discovery
        self._shutdown = shutdown
        self._checks = RequestChecks(context)
        self._builder = RequestBuilder(context)
        self._responses = ResponseBuilder(context)

    def start_pre_vote(self) -> None:
        """Become prospective: ask the voters whether they would vote for this replica."""
        self._quorum.to_prospective(self._context.now_ms)
        self._requests.reset_all()
        self.maybe_win()

    def start_election(self) -> None:
        """Become a candidate: begin a new epoch, and request the votes in it."""
        self._quorum.to_candidate(self._context.now_ms)
        self._requests.reset_all()
        self._listener.maybe_leader_change(self._quorum.state)
        self.maybe_win()

    def maybe_win(self) -> None:
        """Take the next step if the votes for it are there; at once where this replica is the only voter."""
        state = self._quorum.state
        if isinstance(state, Prospective) and state.votes.is_granted:
            self.start_election()
        elif isinstance(state, Candidate) and state.votes.is_granted:
            self._become_leader()

    def _become_leader(self) -> None:
        """Write a record of the new epoch at once: without one nothing of earlier epochs can be committed."""
        context = self._context
        leader = self._quorum.to_leader(context.log.end_offset, context.now_ms)
        context.log.initialize_leader_epoch(leader.epoch)
        records: list[Message] = [leader_change(leader.leader_id, tuple(leader.voters), leader.granting_voters)]
        records += self._voter_changes.start_epoch(leader)
        leader.accumulator.append_control(records, context.now_ms, context.wall_ms)
        self._requests.reset_all()

    def poll(self, state: Unattached | Prospective | Candidate) -> int:
        """Do what is due in the state. Return when to poll again."""
        if isinstance(state, Candidate):
            return self._poll_candidate(state)
        if isinstance(state, Prospective):
            return self._poll_prospective(state)
        return self._poll_unattached(state)

    def _poll_unattached(self, state: Unattached) -> int:
        if self._quorum.may_stand:
            if self._shutdown.deadline_ms is not None:
                return self._shutdown.deadline_ms
            if self._context.now_ms >= state.election_deadline_ms:
                self.start_pre_vote()
                return self._context.now_ms
        return min(state.election_deadline_ms, self._discovery.fetch_from_any())

    def _poll_prospective(self, state: Prospective) -> int:
        if self._shutdown.deadline_ms is not None:
            return min(self._shutdown.deadline_ms, self._send_vote_requests(state))
        if self._context.now_ms >= state.election_deadline_ms:
            self._lose_pre_vote(state)
            return self._context.now_ms
        return min(state.election_deadline_ms, self._send_vote_requests(state))

    def _poll_candidate(self, state: Candidate) -> int:
        """In a shutdown the election goes on: a leader can resign, which the others notice sooner than the end of a
        candidate's process."""
        if self._shutdown.deadline_ms is not None:
            return min(self._shutdown.deadline_ms, self._send_vote_requests(state))
        if self._context.now_ms >= state.election_deadline_ms:
            self.start_pre_vote()
            return self._context.now_ms
        return min(state.election_deadline_ms, self._send_vote_requests(state))

    def _send_vote_requests(self, state: Candidate | Prospective) -> int:
        """Request the vote of every voter without a response, as long as the election can be won. Return when to poll
        again."""
        if state.votes.is_rejected:
            return NEVER_MS
        context, retry_at_ms = self._context, NEVER_MS
        pre_vote = isinstance(state, Prospective)
        for voter in state.votes.unrecorded:
            destination = context.voters.destination(voter.id, context.local.listener)
            if destination is not None:
                build = partial(self._builder.build_vote, voter, pre_vote)
                _, ready_at_ms = context.outbox.send(destination, build, context.now_ms)
                retry_at_ms = min(retry_at_ms, ready_at_ms)
        return retry_at_ms

    def handle_vote_request(self, request: Request, message: VoteRequest) -> None:
        error = self._checks.request_error(message)
        response = VoteResponse(error_code=error) if error is not None else self._vote(request, message)
        self._context.outbox.reply(request.handle, response)

    def _vote(self, request: Request, message: VoteRequest) -> VoteResponse:
        quorum, partition = self._quorum, message.topics[0].partitions[0]
        error = self._vote_request_error(partition)
        if error is not None:
            return self._responses.build_vote(request, error)
        if partition.replica_epoch > quorum.epoch:
            self._role_changes.become_unattached(partition.replica_epoch)
        if not self._checks.is_for_local_replica(message.voter_id, partition.voter_directory_id):
            return self._responses.build_vote(request, ErrorCode.INVALID_VOTER_KEY)
        candidate = ReplicaKey.from_wire(partition.replica_id, partition.replica_directory_id)
        self._requests.mark_reachable(candidate.id)
        candidate_end = OffsetAndEpoch(partition.last_offset_epoch, partition.last_offset)
        up_to_date = candidate_end >= self._context.log_end
        granted = quorum.state.can_grant_vote(candidate, up_to_date=up_to_date, pre_vote=partition.pre_vote)
        if granted and not partition.pre_vote and quorum.state.voted_key is None:
            quorum.add_vote(candidate, self._context.now_ms)
        return self._responses.build_vote(request, ErrorCode.NONE, granted=granted)

    def _vote_request_error(self, partition: PartitionData) -> ErrorCode | None:
        """A candidate has no records of its new epoch; a prospective one, still in its old epoch, may have some."""
        limit = partition.replica_epoch + 1 if partition.pre_vote else partition.replica_epoch
        if partition.last_offset < 0 or partition.last_offset_epoch < 0 or partition.last_offset_epoch >= limit:
            return ErrorCode.INVALID_REQUEST
        return self._checks.voter_request_error(partition.replica_id, partition.replica_epoch)

    def handle_vote_response(self, voter_id: int, message: VoteResponse) -> bool:
        """Return whether the voter may be sent another request at once."""
        if message.error_code != ErrorCode.NONE:
            return self.handle_vote_failure(parse_error_code(message.error_code))
        if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
            return False
        partition = message.topics[0].partitions[0]
        error = parse_error_code(partition.error_code)
        handled = self._discovery.handle_response(
            error, partition.leader_id, partition.leader_epoch, message.node_endpoints
        )
        if handled is not None:
            return handled
        return error == ErrorCode.NONE and self._record_vote(voter_id, partition.vote_granted)

    def _record_vote(self, voter_id: int, granted: bool) -> bool:
        """Return False if the vote does not count."""
        state = self._quorum.state
        if isinstance(state, Candidate | Prospective) and not state.votes.can_record(voter_id):
            return False
        if isinstance(state, Candidate):
            if state.votes.vote_of(voter_id) not in (None, granted):
                text = f"voter {voter_id} votes twice in epoch {state.epoch}, and not the same"
                self._context.contradictions.report(logging.WARNING, text)
                return False  # a voter has one vote in an epoch: the first counts
            state.record_vote(voter_id, granted)
            self.maybe_win()
        elif isinstance(state, Prospective):
            state.votes.record(voter_id, granted)
            self.maybe_win()
            if self._quorum.state is state and state.votes.is_rejected:
                self._lose_pre_vote(state)
        return True

    def handle_vote_failure(self, error: ErrorCode) -> bool:
        """Request votes from a voter that does not support pre-votes. Return whether that is so."""
        if error == ErrorCode.UNSUPPORTED_VERSION and isinstance(self._quorum.state, Prospective):
            self.start_election()
            return True
        return False

    def _lose_pre_vote(self, state: Prospective) -> None:
        """Go back to the leader of this epoch, if its address is known. One that has resigned or does not run will not
        return in this epoch: the voters that refused may not know it yet, and receive another request soon."""
        if state.leader_id is not None and state.leader_endpoints:
            self._role_changes.become_follower(state.epoch, state.leader_id, state.leader_endpoints)
            if state.doubts_leader:
                self._quorum.doubt_leader(self._context.now_ms)
        else:
            self._role_changes.become_unattached(state.epoch, state.leader_id)
