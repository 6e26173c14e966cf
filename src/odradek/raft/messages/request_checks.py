"""Checks of requests from peers, before a role handles them."""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.states.leader import Leader
from odradek.raft.values import METADATA_PARTITION, METADATA_TOPIC, ReplicaKey


class RequestChecks:
    def __init__(self, context: QuorumContext) -> None:
        self._local = context.local
        self._quorum = context.quorum

    def has_valid_cluster_id(self, cluster_id: str | None) -> bool:
        """Return whether the request is for this cluster; requests of old versions do not say it."""
        return cluster_id is None or cluster_id == self._local.cluster_id

    def request_error(self, message: VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest) -> ErrorCode | None:
        """Return the error of the whole request; None if it is for this cluster and the one metadata partition."""
        if not self.has_valid_cluster_id(message.cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
            return ErrorCode.INVALID_REQUEST
        topic = message.topics[0]
        if not is_metadata_partition(topic.topic_name, topic.partitions[0].partition_index):
            return ErrorCode.INVALID_REQUEST
        return None

    def voter_request_error(self, sender_id: int, epoch: int) -> ErrorCode | None:
        """Return the error of a Vote, BeginQuorumEpoch or EndQuorumEpoch request of `sender_id` in `epoch`."""
        if epoch < self._quorum.state.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if sender_id < 0 or sender_id == self._local.id:
            return ErrorCode.INVALID_REQUEST  # no node; another node with our id, or our own request
        return None

    def leader_request_error(self, epoch: int) -> ErrorCode | None:
        """Return the error of a request that only the leader of `epoch` handles."""
        state = self._quorum.state
        if epoch < state.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > state.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(state, Leader):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return None

    def is_for_local_replica(self, voter_id: int, directory_id: bytes) -> bool:
        """Return whether the request is for this replica, if it names one; a node that lost its disk is another."""
        if voter_id < 0:
            return True
        local = self._local.key
        return local is not None and ReplicaKey.from_wire(voter_id, directory_id).covers(local)


def is_metadata_partition(topic_name: str, partition_index: int) -> bool:
    return topic_name == METADATA_TOPIC and partition_index == METADATA_PARTITION


def parse_error_code(code: int) -> ErrorCode:
    """Return the error of a response; UNKNOWN_SERVER_ERROR for one that only newer versions define."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
