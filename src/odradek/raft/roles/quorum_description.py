"""DescribeQuorum (key 55): the leader describes the replicas and their progress.

v0 first version · v1 times of the last fetch and of having caught up · v2 directory ids, listeners (KIP-853)
"""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_messages import ERROR_WORDS
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from odradek.protocol.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import is_metadata_partition
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.states.leader import Leader
from odradek.raft.states.replica_progress import LONG_AGO_MS, ReplicaProgress
from odradek.raft.values import METADATA_PARTITION, METADATA_TOPIC, NO_OFFSET

_WITH_DIRECTORIES = 2


class QuorumDescription:
    def __init__(self, context: QuorumContext) -> None:
        self._context = context

    def handle_describe_request(self, request: Request, message: DescribeQuorumRequest) -> None:
        self._context.outbox.reply(request.handle, self._describe(message, request.version))

    def _describe(self, message: DescribeQuorumRequest, version: int) -> DescribeQuorumResponse:
        requested = [(topic.topic_name, p.partition_index) for topic in message.topics for p in topic.partitions]
        if len(requested) != 1 or not is_metadata_partition(*requested[0]):
            return _build_unknown_partitions(message, version)
        leader = self._context.state
        if not isinstance(leader, Leader):
            return _build_not_leader(version)
        return self._describe_as_leader(leader, version)

    def _describe_as_leader(self, leader: Leader, version: int) -> DescribeQuorumResponse:
        partition = PartitionData(
            partition_index=METADATA_PARTITION,
            leader_id=leader.leader_id,
            leader_epoch=leader.epoch,
            high_watermark=NO_OFFSET if leader.high_watermark is None else leader.high_watermark,
            current_voters=[self._describe_replica(leader, voter, version) for voter in leader.voters.values()],
            observers=[
                self._describe_replica(leader, observer, version) for observer in leader.observers(self._context.now_ms)
            ],
        )
        return DescribeQuorumResponse(
            topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[partition])],
            nodes=_build_nodes(leader) if version >= _WITH_DIRECTORIES else [],
        )

    def _describe_replica(self, leader: Leader, replica: ReplicaProgress, version: int) -> ReplicaState:
        """The leader itself is always up to date."""
        is_leader = replica.key == leader.local.key or replica.key.id == leader.leader_id
        now_ms = self._context.now_ms
        return ReplicaState(
            replica_id=replica.key.id,
            replica_directory_id=replica.key.wire_directory_id if version >= _WITH_DIRECTORIES else ZERO_UUID,
            log_end_offset=NO_OFFSET if replica.end_offset is None else replica.end_offset,
            last_fetch_timestamp=self._to_wall_ms(now_ms if is_leader else replica.last_fetch_ms),
            last_caught_up_timestamp=self._to_wall_ms(now_ms if is_leader else replica.caught_up_ms),
        )

    def _to_wall_ms(self, monotonic_ms: int) -> int:
        """Convert a time of the monotonic clock to one of the wall clock, which the response has."""
        context = self._context
        return -1 if monotonic_ms == LONG_AGO_MS else context.wall_ms - (context.now_ms - monotonic_ms)


def _build_nodes(leader: Leader) -> list[Node]:
    return [
        Node(
            node_id=voter.key.id,
            listeners=[Listener(name=e.listener, host=e.host, port=e.port) for e in voter.endpoints],
        )
        for voter in leader.voters.values()
    ]


def _build_not_leader(version: int) -> DescribeQuorumResponse:
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    text = error.message if version >= _WITH_DIRECTORIES else ""
    partition = PartitionData(partition_index=METADATA_PARTITION, error_code=error, error_message=text)
    return DescribeQuorumResponse(topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[partition])])


def _build_unknown_partitions(message: DescribeQuorumRequest, version: int) -> DescribeQuorumResponse:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    text = ERROR_WORDS[error] if version >= _WITH_DIRECTORIES else None
    return DescribeQuorumResponse(
        topics=[
            TopicData(
                topic_name=topic.topic_name,
                partitions=[
                    PartitionData(partition_index=p.partition_index, error_code=error, error_message=text)
                    for p in topic.partitions
                ],
            )
            for topic in message.topics
        ]
    )
