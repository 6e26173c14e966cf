"""The answers that a replica gives, each with what it knows about the leader; and what it reads in those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.common.ports import Buffer
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import (
    begin_quorum_epoch_response,
    end_quorum_epoch_response,
    fetch_response,
    fetch_snapshot_response,
    update_raft_voter_response,
    vote_response,
)
from odradek.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from odradek.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from odradek.protocol.messages.update_raft_voter_response import UpdateRaftVoterResponse
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.raft.storage.raft_log import Fit, Validity
from odradek.raft.values import (
    METADATA_PARTITION,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    NO_ENDPOINTS,
    NO_ID,
    NO_OFFSET,
    Endpoint,
    Endpoints,
    OffsetAndEpoch,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.raft.events import Request
    from odradek.raft.quorum_context import Core

#: Versions from which an answer tells where the leader listens.
_FETCH_WITH_ENDPOINTS = 17
_OTHERS_WITH_ENDPOINTS = 1


class NodeEndpoint(Protocol):
    node_id: int
    host: str
    port: int


class LeaderHint(NamedTuple):
    """What an answer says about the leader."""

    leader_id: int | None
    epoch: int
    endpoints: Endpoints


def leader_hint(core: Core, leader_id: int, epoch: int, nodes: Sequence[NodeEndpoint]) -> LeaderHint:
    """An answer without addresses comes from a replica that does not know of them: the voters have to do."""
    if leader_id < 0:
        return LeaderHint(None, epoch, NO_ENDPOINTS)
    listener = core.local.listener
    told = Endpoints(Endpoint(listener, n.host, n.port) for n in nodes if n.node_id == leader_id)
    return LeaderHint(leader_id, epoch, told or core.control.voters.endpoints(leader_id))


def leader_address(core: Core, request: Request, first_version: int) -> tuple[int, Endpoint] | None:
    """The leader and where it listens, on the listener the request came in on; None if the version cannot say it."""
    state = core.quorum.state
    if request.version < first_version or state.leader_id is None:
        return None
    address = state.leader_endpoints.address(request.listener)
    return None if address is None else (state.leader_id, address)


def build_vote_response(core: Core, request: Request, error: ErrorCode, granted: bool) -> VoteResponse:
    state = core.quorum.state
    partition = vote_response.PartitionData(
        partition_index=METADATA_PARTITION,
        error_code=error,
        leader_id=NO_ID if state.leader_id is None else state.leader_id,
        leader_epoch=state.epoch,
        vote_granted=granted,
    )
    response = VoteResponse(topics=[vote_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])])
    known = leader_address(core, request, _OTHERS_WITH_ENDPOINTS)
    if known is not None:
        leader_id, at = known
        response.node_endpoints = [vote_response.NodeEndpoint(node_id=leader_id, host=at.host, port=at.port)]
    return response


def build_begin_epoch_response(core: Core, request: Request, error: ErrorCode) -> BeginQuorumEpochResponse:
    state = core.quorum.state
    partition = begin_quorum_epoch_response.PartitionData(
        partition_index=METADATA_PARTITION,
        error_code=error,
        leader_id=NO_ID if state.leader_id is None else state.leader_id,
        leader_epoch=state.epoch,
    )
    topic = begin_quorum_epoch_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    response = BeginQuorumEpochResponse(topics=[topic])
    known = leader_address(core, request, _OTHERS_WITH_ENDPOINTS)
    if known is not None:
        leader_id, at = known
        node = begin_quorum_epoch_response.NodeEndpoint(node_id=leader_id, host=at.host, port=at.port)
        response.node_endpoints = [node]
    return response


def build_end_epoch_response(core: Core, request: Request, error: ErrorCode) -> EndQuorumEpochResponse:
    state = core.quorum.state
    partition = end_quorum_epoch_response.PartitionData(
        partition_index=METADATA_PARTITION,
        error_code=error,
        leader_id=NO_ID if state.leader_id is None else state.leader_id,
        leader_epoch=state.epoch,
    )
    topic = end_quorum_epoch_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    response = EndQuorumEpochResponse(topics=[topic])
    known = leader_address(core, request, _OTHERS_WITH_ENDPOINTS)
    if known is not None:
        leader_id, at = known
        node = end_quorum_epoch_response.NodeEndpoint(node_id=leader_id, host=at.host, port=at.port)
        response.node_endpoints = [node]
    return response


def build_fetch_response(
    core: Core,
    request: Request,
    error: ErrorCode,
    *,
    records: Buffer = b"",
    validity: Validity | None = None,
    high_watermark: int | None = None,
) -> FetchResponse:
    state = core.quorum.state
    leader_id = NO_ID if state.leader_id is None else state.leader_id
    partition = fetch_response.PartitionData(
        partition_index=METADATA_PARTITION,
        error_code=error,
        high_watermark=NO_OFFSET if high_watermark is None else high_watermark,
        log_start_offset=core.log.start_offset,
        current_leader=fetch_response.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=state.epoch),
        records=records,
    )
    if validity is not None and validity.fit is Fit.DIVERGING:
        at = validity.at
        partition.diverging_epoch = fetch_response.EpochEndOffset(epoch=at.epoch, end_offset=at.offset)
    elif validity is not None and validity.fit is Fit.SNAPSHOT:
        partition.snapshot_id = fetch_response.SnapshotId(end_offset=validity.at.offset, epoch=validity.at.epoch)
    topic = fetch_response.FetchableTopicResponse(
        topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
    )
    response = FetchResponse(responses=[topic])
    known = leader_address(core, request, _FETCH_WITH_ENDPOINTS)
    if known is not None:
        known_id, address = known
        response.node_endpoints = [fetch_response.NodeEndpoint(node_id=known_id, host=address.host, port=address.port)]
    return response


def build_fetch_snapshot_response(
    core: Core,
    request: Request,
    error: ErrorCode,
    *,
    topic_name: str = METADATA_TOPIC,
    partition_index: int = METADATA_PARTITION,
    snapshot_id: OffsetAndEpoch | None = None,
    size_bytes: int = 0,
    position: int = 0,
    data: Buffer = b"",
) -> FetchSnapshotResponse:
    state = core.quorum.state
    partition = fetch_snapshot_response.PartitionSnapshot(
        index=partition_index, error_code=error, size=size_bytes, position=position, unaligned_records=data
    )
    if error != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        partition.current_leader = fetch_snapshot_response.LeaderIdAndEpoch(
            leader_id=NO_ID if state.leader_id is None else state.leader_id, leader_epoch=state.epoch
        )
    if snapshot_id is not None:
        partition.snapshot_id = fetch_snapshot_response.SnapshotId(
            end_offset=snapshot_id.offset, epoch=snapshot_id.epoch
        )
    topic = fetch_snapshot_response.TopicSnapshot(name=topic_name, partitions=[partition])
    response = FetchSnapshotResponse(topics=[topic])
    known = leader_address(core, request, _OTHERS_WITH_ENDPOINTS)
    if known is not None:
        leader_id, at = known
        node = fetch_snapshot_response.NodeEndpoint(node_id=leader_id, host=at.host, port=at.port)
        response.node_endpoints = [node]
    return response


def build_update_voter_response(core: Core, request: Request, error: ErrorCode) -> UpdateRaftVoterResponse:
    state = core.quorum.state
    leader = update_raft_voter_response.CurrentLeader(
        leader_id=NO_ID if state.leader_id is None else state.leader_id, leader_epoch=state.epoch
    )
    address = state.leader_endpoints.address(request.listener)
    if address is not None:
        leader.host, leader.port = address.host, address.port
    return UpdateRaftVoterResponse(error_code=error, current_leader=leader)
