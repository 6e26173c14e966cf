"""EndQuorumEpoch (key 54): the leader resigns, and names its successors in the order of their progress.

v0 first version · v1 directory ids of the successors, the leader's listeners (KIP-853)
The first successor asks for votes at once; each further one waits twice as long as the one before it.
"""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest, PartitionData
from odradek.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import (
    error_in,
    handle_common,
    has_valid_cluster_id,
    is_our_partition,
    maybe_transition,
    voter_only_error,
)
from odradek.raft.messages.requests import build_end_epoch_request
from odradek.raft.messages.responses import build_end_epoch_response, leader_hint
from odradek.raft.quorum_context import Core
from odradek.raft.states.follower import Follower
from odradek.raft.states.resigned import Resigned
from odradek.raft.values import NEVER_MS, Endpoint, Endpoints, ReplicaKey


def handle_request(core: Core, request: Request, message: EndQuorumEpochRequest) -> None:
    core.reply(request.handle, _answer(core, request, message))


def _answer(core: Core, request: Request, message: EndQuorumEpochRequest) -> EndQuorumEpochResponse:
    if not has_valid_cluster_id(core, message.cluster_id):
        return EndQuorumEpochResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return EndQuorumEpochResponse(error_code=ErrorCode.INVALID_REQUEST)
    topic, partition = message.topics[0], message.topics[0].partitions[0]
    if not is_our_partition(topic.topic_name, partition.partition_index):
        return EndQuorumEpochResponse(error_code=ErrorCode.INVALID_REQUEST)
    error = voter_only_error(core, partition.leader_id, partition.leader_epoch)
    if error is not None:
        return build_end_epoch_response(core, request, error)
    told = Endpoints.of(Endpoint(e.name, e.host, e.port) for e in message.leader_endpoints)
    endpoints = told or core.control.voters.endpoints(partition.leader_id)
    if not maybe_transition(core, partition.leader_id, partition.leader_epoch, endpoints):
        return build_end_epoch_response(core, request, ErrorCode.INVALID_REQUEST)
    state = core.quorum.state
    if isinstance(state, Follower) and state.leader_id == partition.leader_id:
        state.doubt_leader(core.now_ms + _backoff_ms(core, partition))
    return build_end_epoch_response(core, request, ErrorCode.NONE)


def _backoff_ms(core: Core, partition: PartitionData) -> int:
    successors = [
        ReplicaKey.from_wire(info.candidate_id, info.candidate_directory_id) for info in partition.preferred_candidates
    ] or [ReplicaKey(successor_id) for successor_id in partition.preferred_successors]
    local = core.local.key
    position = next((i for i, key in enumerate(successors) if local is not None and key.covers(local)), len(successors))
    return successor_backoff_ms(position, len(successors), core.config.election_backoff_max_ms)


def successor_backoff_ms(position: int, successors: int, max_ms: int) -> int:
    """None for the first; then doubling, up to `max_ms` for the last and for those that are not named."""
    if position == 0 and successors > 0:
        return 0
    if position >= successors:
        return max_ms
    return min(max_ms, (max_ms >> (successors - 1)) << (position - 1))


def handle_response(core: Core, voter_id: int, message: EndQuorumEpochResponse) -> bool:
    if message.error_code != ErrorCode.NONE or len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
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
    if isinstance(state, Resigned):
        state.acknowledged(voter_id)
    return True


def maybe_send(core: Core, state: Resigned) -> int:
    """To every voter that has not heard it. When to look again."""
    at_ms = NEVER_MS
    for voter_id in state.unacknowledged:
        destination = core.control.voters.destination(voter_id, core.local.listener)
        if destination is not None:
            _, again_ms = core.send(destination, lambda: build_end_epoch_request(core, state.preferred_successors))
            at_ms = min(at_ms, again_ms)
    return at_ms
