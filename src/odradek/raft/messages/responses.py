"""Builds the responses of this replica. All but two say who leads and, from a certain version on, where it listens."""

from collections.abc import Callable
from typing import TypedDict, TypeVar

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
from odradek.raft.events import Request
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.storage.raft_log import Fit, Validity
from odradek.raft.values import (
    METADATA_PARTITION,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    NO_ID,
    NO_OFFSET,
    Endpoint,
    OffsetAndEpoch,
)

#: First versions of the responses that say where the leader listens (KIP-853).
_FETCH_WITH_ENDPOINTS = 17
_OTHERS_WITH_ENDPOINTS = 1

#: What a FetchSnapshot response without a part of a snapshot says.
_NO_SNAPSHOT_ID = OffsetAndEpoch(0, 0)

NodeEndpoint = TypeVar("NodeEndpoint")


class LeaderFields(TypedDict):
    leader_id: int
    leader_epoch: int


class ResponseBuilder:
    def __init__(self, context: QuorumContext) -> None:
        self._log = context.log
        self._quorum = context.quorum

    def leader_fields(self) -> LeaderFields:
        """Return the leader and the epoch under the names that all responses have for them."""
        state = self._quorum.state
        return {"leader_id": NO_ID if state.leader_id is None else state.leader_id, "leader_epoch": state.epoch}

    def leader_endpoints(
        self, request: Request, node_endpoint: Callable[..., NodeEndpoint], first_version: int = _OTHERS_WITH_ENDPOINTS
    ) -> list[NodeEndpoint]:
        """Return the leader's address on the listener of the request; nothing if it is unknown or the version of the
        request cannot say it."""
        state = self._quorum.state
        if request.version < first_version or state.leader_id is None:
            return []
        address = state.leader_endpoints.address(request.listener)
        if address is None:
            return []
        return [node_endpoint(node_id=state.leader_id, host=address.host, port=address.port)]

    def build_vote(self, request: Request, error: ErrorCode, *, granted: bool = False) -> VoteResponse:
        partition = vote_response.PartitionData(
            partition_index=METADATA_PARTITION, error_code=error, vote_granted=granted, **self.leader_fields()
        )
        return VoteResponse(
            topics=[vote_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
            node_endpoints=self.leader_endpoints(request, vote_response.NodeEndpoint),
        )

    def build_begin_epoch(self, request: Request, error: ErrorCode) -> BeginQuorumEpochResponse:
        partition = begin_quorum_epoch_response.PartitionData(
            partition_index=METADATA_PARTITION, error_code=error, **self.leader_fields()
        )
        return BeginQuorumEpochResponse(
            topics=[begin_quorum_epoch_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
            node_endpoints=self.leader_endpoints(request, begin_quorum_epoch_response.NodeEndpoint),
        )

    def build_end_epoch(self, request: Request, error: ErrorCode) -> EndQuorumEpochResponse:
        partition = end_quorum_epoch_response.PartitionData(
            partition_index=METADATA_PARTITION, error_code=error, **self.leader_fields()
        )
        return EndQuorumEpochResponse(
            topics=[end_quorum_epoch_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
            node_endpoints=self.leader_endpoints(request, end_quorum_epoch_response.NodeEndpoint),
        )

    def build_fetch(
        self,
        request: Request,
        error: ErrorCode,
        *,
        records: Buffer = b"",
        validity: Validity | None = None,
        high_watermark: int | None = None,
    ) -> FetchResponse:
        """`validity`: set if the fetcher's log does not fit, in which case the response says where to continue."""
        diverging_epoch, snapshot_id = fetch_response.EpochEndOffset(), fetch_response.SnapshotId()
        if validity is not None and validity.fit is Fit.DIVERGING:
            diverging_epoch = fetch_response.EpochEndOffset(epoch=validity.at.epoch, end_offset=validity.at.offset)
        elif validity is not None and validity.fit is Fit.SNAPSHOT:
            snapshot_id = fetch_response.SnapshotId(end_offset=validity.at.offset, epoch=validity.at.epoch)
        partition = fetch_response.PartitionData(
            partition_index=METADATA_PARTITION,
            error_code=error,
            high_watermark=NO_OFFSET if high_watermark is None else high_watermark,
            log_start_offset=self._log.start_offset,
            diverging_epoch=diverging_epoch,
            current_leader=fetch_response.LeaderIdAndEpoch(**self.leader_fields()),
            snapshot_id=snapshot_id,
            records=records,
        )
        topic = fetch_response.FetchableTopicResponse(
            topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
        )
        return FetchResponse(
            responses=[topic],
            node_endpoints=self.leader_endpoints(request, fetch_response.NodeEndpoint, _FETCH_WITH_ENDPOINTS),
        )

    def build_fetch_snapshot(
        self,
        request: Request,
        error: ErrorCode,
        *,
        snapshot_id: OffsetAndEpoch = _NO_SNAPSHOT_ID,
        size_bytes: int = 0,
        position: int = 0,
        data: Buffer = b"",
    ) -> FetchSnapshotResponse:
        partition = fetch_snapshot_response.PartitionSnapshot(
            index=METADATA_PARTITION,
            error_code=error,
            snapshot_id=fetch_snapshot_response.SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch),
            current_leader=fetch_snapshot_response.LeaderIdAndEpoch(**self.leader_fields()),
            size=size_bytes,
            position=position,
            unaligned_records=data,
        )
        return self._fetch_snapshot_of(request, METADATA_TOPIC, partition)

    def build_fetch_snapshot_of_unknown(
        self, request: Request, topic_name: str, partition_index: int
    ) -> FetchSnapshotResponse:
        """Build the response for any other partition than that of the metadata log, without its leader."""
        partition = fetch_snapshot_response.PartitionSnapshot(
            index=partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
        return self._fetch_snapshot_of(request, topic_name, partition)

    def _fetch_snapshot_of(
        self, request: Request, topic_name: str, partition: fetch_snapshot_response.PartitionSnapshot
    ) -> FetchSnapshotResponse:
        return FetchSnapshotResponse(
            topics=[fetch_snapshot_response.TopicSnapshot(name=topic_name, partitions=[partition])],
            node_endpoints=self.leader_endpoints(request, fetch_snapshot_response.NodeEndpoint),
        )

    def build_update_voter(self, request: Request, error: ErrorCode) -> UpdateRaftVoterResponse:
        address = self._quorum.state.leader_endpoints.address(request.listener) or Endpoint(request.listener, "", 0)
        leader = update_raft_voter_response.CurrentLeader(host=address.host, port=address.port, **self.leader_fields())
        return UpdateRaftVoterResponse(error_code=error, current_leader=leader)
