"""The requests that a replica sends: about the one partition that there is, with everything a peer may check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.messages import (
    add_raft_voter_request,
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    fetch_request,
    fetch_snapshot_request,
    update_raft_voter_request,
    vote_request,
)
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.raft.values import (
    METADATA_PARTITION,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    NO_ID,
    NO_OFFSET,
    OffsetAndEpoch,
    ReplicaKey,
)

if TYPE_CHECKING:
    from odradek.raft.quorum_context import Core

SOFTWARE_NAME = "odradek"
SOFTWARE_VERSION = "1"


def build_vote_request(core: Core, voter: ReplicaKey, pre_vote: bool) -> VoteRequest:
    end, key = core.end, core.quorum.local_key
    partition = vote_request.PartitionData(
        partition_index=METADATA_PARTITION,
        replica_epoch=core.epoch,
        replica_id=key.id,
        replica_directory_id=key.wire_directory_id,
        voter_directory_id=voter.wire_directory_id,
        last_offset_epoch=end.epoch,
        last_offset=end.offset,
        pre_vote=pre_vote,
    )
    topic = vote_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return VoteRequest(cluster_id=core.local.cluster_id, voter_id=voter.id, topics=[topic])


def build_begin_epoch_request(core: Core, voter: ReplicaKey) -> BeginQuorumEpochRequest:
    partition = begin_quorum_epoch_request.PartitionData(
        partition_index=METADATA_PARTITION,
        voter_directory_id=voter.wire_directory_id,
        leader_id=core.quorum.local_key.id,
        leader_epoch=core.epoch,
    )
    topic = begin_quorum_epoch_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    endpoints = [
        begin_quorum_epoch_request.LeaderEndpoint(name=e.listener, host=e.host, port=e.port)
        for e in core.local.endpoints
    ]
    return BeginQuorumEpochRequest(
        cluster_id=core.local.cluster_id, voter_id=voter.id, topics=[topic], leader_endpoints=endpoints
    )


def build_end_epoch_request(core: Core, successors: tuple[ReplicaKey, ...]) -> EndQuorumEpochRequest:
    partition = end_quorum_epoch_request.PartitionData(
        partition_index=METADATA_PARTITION,
        leader_id=core.quorum.local_key.id,
        leader_epoch=core.epoch,
        preferred_successors=[key.id for key in successors],
        preferred_candidates=[
            end_quorum_epoch_request.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.wire_directory_id)
            for key in successors
        ],
    )
    topic = end_quorum_epoch_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    endpoints = [
        end_quorum_epoch_request.LeaderEndpoint(name=e.listener, host=e.host, port=e.port) for e in core.local.endpoints
    ]
    return EndQuorumEpochRequest(cluster_id=core.local.cluster_id, topics=[topic], leader_endpoints=endpoints)


def build_fetch_request(core: Core) -> FetchRequest:
    end, high_watermark = core.end, core.quorum.state.high_watermark
    partition = fetch_request.FetchPartition(
        partition=METADATA_PARTITION,
        current_leader_epoch=core.epoch,
        fetch_offset=end.offset,
        last_fetched_epoch=end.epoch,
        replica_directory_id=core.local.directory_id,
        high_watermark=NO_OFFSET if high_watermark is None else high_watermark,
    )
    topic = fetch_request.FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return FetchRequest(
        cluster_id=core.local.cluster_id,
        replica_state=fetch_request.ReplicaState(replica_id=_local_id(core)),
        max_wait_ms=core.config.fetch_max_wait_ms,
        max_bytes=core.config.fetch_max_bytes,
        topics=[topic],
    )


def build_fetch_snapshot_request(core: Core, snapshot_id: OffsetAndEpoch, position: int) -> FetchSnapshotRequest:
    partition = fetch_snapshot_request.PartitionSnapshot(
        partition=METADATA_PARTITION,
        current_leader_epoch=core.epoch,
        snapshot_id=fetch_snapshot_request.SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch),
        position=position,
        replica_directory_id=core.local.directory_id,
    )
    topic = fetch_snapshot_request.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
    return FetchSnapshotRequest(
        cluster_id=core.local.cluster_id,
        replica_id=_local_id(core),
        max_bytes=core.config.fetch_snapshot_max_bytes,
        topics=[topic],
    )


def build_add_voter_request(core: Core) -> AddRaftVoterRequest:
    """Ourselves. It is enough that the leader has written it: waiting for the commit would hold back our fetches,
    without which it may never come."""
    key = core.quorum.local_key
    return AddRaftVoterRequest(
        cluster_id=core.local.cluster_id,
        timeout_ms=core.config.request_timeout_ms,
        voter_id=key.id,
        voter_directory_id=key.wire_directory_id,
        listeners=[
            add_raft_voter_request.Listener(name=e.listener, host=e.host, port=e.port) for e in core.local.endpoints
        ],
        ack_when_committed=False,
    )


def build_remove_voter_request(core: Core, voter: ReplicaKey) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(
        cluster_id=core.local.cluster_id, voter_id=voter.id, voter_directory_id=voter.wire_directory_id
    )


def build_update_voter_request(core: Core) -> UpdateRaftVoterRequest:
    local = core.quorum.local_voter
    return UpdateRaftVoterRequest(
        cluster_id=core.local.cluster_id,
        current_leader_epoch=core.epoch,
        voter_id=local.key.id,
        voter_directory_id=local.key.wire_directory_id,
        listeners=[
            update_raft_voter_request.Listener(name=e.listener, host=e.host, port=e.port) for e in local.endpoints
        ],
        kraft_version_feature=update_raft_voter_request.KRaftVersionFeature(
            min_supported_version=local.kraft_versions.first, max_supported_version=local.kraft_versions.last
        ),
    )


def build_api_versions_request() -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)


def _local_id(core: Core) -> int:
    return NO_ID if core.local.id is None else core.local.id
