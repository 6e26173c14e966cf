"""Builds the requests of this replica, with everything that a peer may check."""

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
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.storage.raft_log import log_end
from odradek.raft.values import (
    METADATA_PARTITION,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    NO_ID,
    NO_OFFSET,
    OffsetAndEpoch,
    ReplicaKey,
)

SOFTWARE_NAME = "odradek"
SOFTWARE_VERSION = "1"


class RequestBuilder:
    def __init__(self, context: QuorumContext) -> None:
        self._local = context.local
        self._config = context.config
        self._log = context.log
        self._quorum = context.quorum

    def build_vote(self, voter: ReplicaKey, pre_vote: bool) -> VoteRequest:
        end, key = log_end(self._log), self._quorum.local_key
        partition = vote_request.PartitionData(
            partition_index=METADATA_PARTITION,
            replica_epoch=self._quorum.epoch,
            replica_id=key.id,
            replica_directory_id=key.wire_directory_id,
            voter_directory_id=voter.wire_directory_id,
            last_offset_epoch=end.epoch,
            last_offset=end.offset,
            pre_vote=pre_vote,
        )
        topic = vote_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return VoteRequest(cluster_id=self._local.cluster_id, voter_id=voter.id, topics=[topic])

    def build_begin_epoch(self, voter: ReplicaKey) -> BeginQuorumEpochRequest:
        partition = begin_quorum_epoch_request.PartitionData(
            partition_index=METADATA_PARTITION,
            voter_directory_id=voter.wire_directory_id,
            leader_id=self._quorum.local_key.id,
            leader_epoch=self._quorum.epoch,
        )
        topic = begin_quorum_epoch_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        endpoints = [
            begin_quorum_epoch_request.LeaderEndpoint(name=e.listener, host=e.host, port=e.port)
            for e in self._local.endpoints
        ]
        return BeginQuorumEpochRequest(
            cluster_id=self._local.cluster_id, voter_id=voter.id, topics=[topic], leader_endpoints=endpoints
        )

    def build_end_epoch(self, successors: tuple[ReplicaKey, ...]) -> EndQuorumEpochRequest:
        partition = end_quorum_epoch_request.PartitionData(
            partition_index=METADATA_PARTITION,
            leader_id=self._quorum.local_key.id,
            leader_epoch=self._quorum.epoch,
            preferred_successors=[key.id for key in successors],
            preferred_candidates=[
                end_quorum_epoch_request.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.wire_directory_id)
                for key in successors
            ],
        )
        topic = end_quorum_epoch_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        endpoints = [
            end_quorum_epoch_request.LeaderEndpoint(name=e.listener, host=e.host, port=e.port)
            for e in self._local.endpoints
        ]
        return EndQuorumEpochRequest(cluster_id=self._local.cluster_id, topics=[topic], leader_endpoints=endpoints)

    def build_fetch(self) -> FetchRequest:
        end, high_watermark = log_end(self._log), self._quorum.state.high_watermark
        partition = fetch_request.FetchPartition(
            partition=METADATA_PARTITION,
            current_leader_epoch=self._quorum.epoch,
            fetch_offset=end.offset,
            last_fetched_epoch=end.epoch,
            replica_directory_id=self._local.directory_id,
            high_watermark=NO_OFFSET if high_watermark is None else high_watermark,
        )
        topic = fetch_request.FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
        return FetchRequest(
            cluster_id=self._local.cluster_id,
            replica_state=fetch_request.ReplicaState(replica_id=self._local_id),
            max_wait_ms=self._config.fetch_max_wait_ms,
            max_bytes=self._config.fetch_max_bytes,
            topics=[topic],
        )

    def build_fetch_snapshot(self, snapshot_id: OffsetAndEpoch, position: int) -> FetchSnapshotRequest:
        partition = fetch_snapshot_request.PartitionSnapshot(
            partition=METADATA_PARTITION,
            current_leader_epoch=self._quorum.epoch,
            snapshot_id=fetch_snapshot_request.SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch),
            position=position,
            replica_directory_id=self._local.directory_id,
        )
        topic = fetch_snapshot_request.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
        return FetchSnapshotRequest(
            cluster_id=self._local.cluster_id,
            replica_id=self._local_id,
            max_bytes=self._config.fetch_snapshot_max_bytes,
            topics=[topic],
        )

    def build_add_voter(self) -> AddRaftVoterRequest:
        """Build the request to add this replica. The leader responds once it has written the voters, not once they are
        committed: until the response this replica does not fetch, and without its fetches they may never be."""
        key = self._quorum.local_key
        return AddRaftVoterRequest(
            cluster_id=self._local.cluster_id,
            timeout_ms=self._config.request_timeout_ms,
            voter_id=key.id,
            voter_directory_id=key.wire_directory_id,
            listeners=[
                add_raft_voter_request.Listener(name=e.listener, host=e.host, port=e.port)
                for e in self._local.endpoints
            ],
            ack_when_committed=False,
        )

    def build_remove_voter(self, voter: ReplicaKey) -> RemoveRaftVoterRequest:
        return RemoveRaftVoterRequest(
            cluster_id=self._local.cluster_id, voter_id=voter.id, voter_directory_id=voter.wire_directory_id
        )

    def build_update_voter(self) -> UpdateRaftVoterRequest:
        local = self._quorum.local_voter
        return UpdateRaftVoterRequest(
            cluster_id=self._local.cluster_id,
            current_leader_epoch=self._quorum.epoch,
            voter_id=local.key.id,
            voter_directory_id=local.key.wire_directory_id,
            listeners=[
                update_raft_voter_request.Listener(name=e.listener, host=e.host, port=e.port) for e in local.endpoints
            ],
            kraft_version_feature=update_raft_voter_request.KRaftVersionFeature(
                min_supported_version=local.kraft_versions.first, max_supported_version=local.kraft_versions.last
            ),
        )

    @property
    def _local_id(self) -> int:
        return NO_ID if self._local.id is None else self._local.id


def build_api_versions_request() -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
