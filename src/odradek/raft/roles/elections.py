"""Vote (key 52): a candidate asks for a vote, a prospective candidate whether it would get it.

v0 first version · v1 directory ids, leader's address in the answer (KIP-853) · v2 pre-vote (KIP-996)
"""

import logging
from functools import partial

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.vote_request import PartitionData, VoteRequest
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import (
    error_in,
    handle_common,
    has_valid_cluster_id,
    is_meant_for_us,
    is_our_partition,
    voter_only_error,
)
from odradek.raft.messages.requests import build_vote_request
from odradek.raft.messages.responses import build_vote_response, leader_hint
from odradek.raft.quorum_context import Core
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.prospective import Prospective
from odradek.raft.values import NEVER_MS, OffsetAndEpoch, ReplicaKey


def handle_request(core: Core, request: Request, message: VoteRequest) -> None:
    core.reply(request.handle, _answer(core, request, message))


def _answer(core: Core, request: Request, message: VoteRequest) -> VoteResponse:
    if not has_valid_cluster_id(core, message.cluster_id):
        return VoteResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    partition = _only_partition(message)
    if partition is None:
        return VoteResponse(error_code=ErrorCode.INVALID_REQUEST)
    error = _error(core, partition)
    if error is not None:
        return build_vote_response(core, request, error, False)
    if partition.replica_epoch > core.epoch:
        core.become_unattached(partition.replica_epoch)
    if not is_meant_for_us(core, message.voter_id, partition.voter_directory_id):
        return build_vote_response(core, request, ErrorCode.INVALID_VOTER_KEY, False)
    candidate = ReplicaKey.from_wire(partition.replica_id, partition.replica_directory_id)
    core.gone.pop(candidate.id, None)
    end = OffsetAndEpoch(partition.last_offset_epoch, partition.last_offset)
    granted = core.quorum.state.can_grant_vote(candidate, up_to_date=end >= core.end, pre_vote=partition.pre_vote)
    if granted and not partition.pre_vote and core.quorum.state.voted_key is None:
        core.quorum.add_vote(candidate, core.now_ms)
    return build_vote_response(core, request, ErrorCode.NONE, granted)


def _only_partition(message: VoteRequest) -> PartitionData | None:
    if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return None
    topic = message.topics[0]
    partition = topic.partitions[0]
    return partition if is_our_partition(topic.topic_name, partition.partition_index) else None


def _error(core: Core, partition: PartitionData) -> ErrorCode | None:
    """A candidate has begun an epoch that no log can have records of; a prospective one is still in its old epoch."""
    limit = partition.replica_epoch + 1 if partition.pre_vote else partition.replica_epoch
    if partition.last_offset < 0 or partition.last_offset_epoch < 0 or partition.last_offset_epoch >= limit:
        return ErrorCode.INVALID_REQUEST
    return voter_only_error(core, partition.replica_id, partition.replica_epoch)


def handle_response(core: Core, voter_id: int, message: VoteResponse) -> bool:
    if message.error_code != ErrorCode.NONE:
        return handle_failure(core, error_in(message.error_code))
    if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return False
    partition = message.topics[0].partitions[0]
    error = error_in(partition.error_code)
    hint = leader_hint(core, partition.leader_id, partition.leader_epoch, message.node_endpoints)
    handled = handle_common(core, error, hint)
    if handled is not None:
        return handled
    if error != ErrorCode.NONE:
        return False
    state = core.quorum.state
    if isinstance(state, Candidate | Prospective) and not state.votes.can_record(voter_id):
        return False
    if isinstance(state, Candidate):
        if state.votes.vote_of(voter_id) not in (None, partition.vote_granted):
            text = f"voter {voter_id} votes twice in epoch {core.epoch}, and not the same"
            core.note_contradiction(logging.WARNING, text)
            return False  # a voter has one vote in an epoch: the first counts
        state.record_vote(voter_id, partition.vote_granted)
        core.maybe_win()
    elif isinstance(state, Prospective):
        state.votes.record(voter_id, partition.vote_granted)
        core.maybe_win()
        if core.quorum.state is state and state.votes.is_rejected:
            lose_pre_vote(core, state)
    return True


def handle_failure(core: Core, error: ErrorCode) -> bool:
    """A voter that does not know of pre-votes is asked for its vote."""
    if error == ErrorCode.UNSUPPORTED_VERSION and isinstance(core.quorum.state, Prospective):
        core.become_candidate()
        return True
    return False


def lose_pre_vote(core: Core, state: Prospective) -> None:
    """Back to the leader of this epoch, if there is one that can be reached. One that has resigned or is gone does not
    come back in it: whoever refused may not have heard of it yet, and is asked again soon."""
    if state.leader_id is not None and state.leader_endpoints:
        core.become_follower(state.epoch, state.leader_id, state.leader_endpoints)
        if state.doubts_leader:
            core.doubt_leader(state.leader_id)
    else:
        core.become_unattached(state.epoch, state.leader_id)


def maybe_send(core: Core, state: Candidate | Prospective) -> int:
    """Ask every voter that has not answered, for as long as the election can be won. When to look again."""
    if state.votes.is_rejected:
        return NEVER_MS
    at_ms = NEVER_MS
    pre_vote = isinstance(state, Prospective)
    for voter in state.votes.unrecorded:
        destination = core.control.voters.destination(voter.id, core.local.listener)
        if destination is not None:
            _, again_ms = core.send(destination, partial(build_vote_request, core, voter, pre_vote))
            at_ms = min(at_ms, again_ms)
    return at_ms
