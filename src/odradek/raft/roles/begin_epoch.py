"""BeginQuorumEpoch (key 53): the leader tells a voter that does not fetch that it leads.

v0 first version · v1 directory ids, the leader's listeners (KIP-853)
Followers pull, so a new leader has no other way to be found quickly.
"""

from functools import partial

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import (
    error_in,
    handle_common,
    has_valid_cluster_id,
    is_meant_for_us,
    is_our_partition,
    maybe_transition,
    voter_only_error,
)
from odradek.raft.messages.requests import build_begin_epoch_request
from odradek.raft.messages.responses import build_begin_epoch_response, leader_hint
from odradek.raft.quorum_context import Core
from odradek.raft.states.leader import Leader
from odradek.raft.values import Endpoint, Endpoints


def handle_request(core: Core, request: Request, message: BeginQuorumEpochRequest) -> None:
    core.reply(request.handle, _answer(core, request, message))


def _answer(core: Core, request: Request, message: BeginQuorumEpochRequest) -> BeginQuorumEpochResponse:
    if not has_valid_cluster_id(core, message.cluster_id):
        return BeginQuorumEpochResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return BeginQuorumEpochResponse(error_code=ErrorCode.INVALID_REQUEST)
    topic, partition = message.topics[0], message.topics[0].partitions[0]
    if not is_our_partition(topic.topic_name, partition.partition_index):
        return BeginQuorumEpochResponse(error_code=ErrorCode.INVALID_REQUEST)
    error = voter_only_error(core, partition.leader_id, partition.leader_epoch)
    if error is not None:
        return build_begin_epoch_response(core, request, error)
    told = Endpoints.of(Endpoint(e.name, e.host, e.port) for e in message.leader_endpoints)
    endpoints = told or core.control.voters.endpoints(partition.leader_id)
    if not maybe_transition(core, partition.leader_id, partition.leader_epoch, endpoints):
        return build_begin_epoch_response(core, request, ErrorCode.INVALID_REQUEST)
    if not is_meant_for_us(core, message.voter_id, partition.voter_directory_id):
        return build_begin_epoch_response(core, request, ErrorCode.INVALID_VOTER_KEY)
    return build_begin_epoch_response(core, request, ErrorCode.NONE)


def handle_response(core: Core, voter_id: int, message: BeginQuorumEpochResponse) -> bool:
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
    if isinstance(state, Leader) and voter_id in state.voters:
        state.voters[voter_id].has_acknowledged = True
    return True


def maybe_send(core: Core, state: Leader) -> int:
    """To the voters that have not fetched lately. When to look again."""
    if core.now_ms < state.begin_epoch_at_ms:
        return state.begin_epoch_at_ms
    for voter in state.voters_to_begin_epoch(core.now_ms):
        destination = core.control.voters.destination(voter.id, core.local.listener)
        if destination is not None:
            core.send(destination, partial(build_begin_epoch_request, core, voter))
    state.begin_epoch_at_ms = core.now_ms + max(1, state.begin_epoch_interval_ms)
    return state.begin_epoch_at_ms
