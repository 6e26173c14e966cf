"""DescribeQuorum (key 55): the leader tells who the replicas are and how far they have come.

v0 first version · v1 times of the last fetch and of having caught up · v2 directory ids, listeners (KIP-853)
"""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_words import ERROR_WORDS
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
from odradek.raft.messages.request_checks import is_our_partition
from odradek.raft.quorum_context import Core
from odradek.raft.states.leader import Leader
from odradek.raft.states.replica_progress import LONG_AGO_MS, ReplicaProgress
from odradek.raft.values import METADATA_PARTITION, METADATA_TOPIC, NO_OFFSET

_WITH_DIRECTORIES = 2


def handle_request(core: Core, request: Request, message: DescribeQuorumRequest) -> None:
    core.reply(request.handle, _answer(core, request, message))


def _answer(core: Core, request: Request, message: DescribeQuorumRequest) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, partition) for topic in message.topics for partition in topic.partitions]
    if len(asked) != 1 or not is_our_partition(asked[0][0], asked[0][1].partition_index):
        return _error_response(message, request.version)
    leader = core.quorum.state
    if not isinstance(leader, Leader):
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        partition = PartitionData(partition_index=METADATA_PARTITION, error_code=error)
        if request.version >= _WITH_DIRECTORIES:
            partition.error_message = error.message
        return DescribeQuorumResponse(topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[partition])])
    return _description(core, leader, request.version)


def _error_response(message: DescribeQuorumRequest, version: int) -> DescribeQuorumResponse:
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


def _description(core: Core, leader: Leader, version: int) -> DescribeQuorumResponse:
    partition = PartitionData(
        partition_index=METADATA_PARTITION,
        leader_id=leader.leader_id,
        leader_epoch=leader.epoch,
        high_watermark=NO_OFFSET if leader.high_watermark is None else leader.high_watermark,
        current_voters=[_replica(core, leader, voter, version) for voter in leader.voters.values()],
        observers=[_replica(core, leader, observer, version) for observer in leader.observers(core.now_ms)],
    )
    response = DescribeQuorumResponse(topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[partition])])
    if version >= _WITH_DIRECTORIES:
        response.nodes = [
            Node(
                node_id=voter.key.id,
                listeners=[Listener(name=e.listener, host=e.host, port=e.port) for e in voter.endpoints],
            )
            for voter in leader.voters.values()
        ]
    return response


def _replica(core: Core, leader: Leader, replica: ReplicaProgress, version: int) -> ReplicaState:
    """Times on the wire are a calendar's; the leader itself is always up to date."""
    is_leader = replica.key == leader.local.key or replica.key.id == leader.leader_id
    state = ReplicaState(
        replica_id=replica.key.id,
        log_end_offset=NO_OFFSET if replica.end_offset is None else replica.end_offset,
        last_fetch_timestamp=_wall_ms(core, core.now_ms if is_leader else replica.last_fetch_ms),
        last_caught_up_timestamp=_wall_ms(core, core.now_ms if is_leader else replica.caught_up_ms),
    )
    if version >= _WITH_DIRECTORIES:
        state.replica_directory_id = replica.key.wire_directory_id
    return state


def _wall_ms(core: Core, monotonic_ms: int) -> int:
    return -1 if monotonic_ms == LONG_AGO_MS else core.wall_ms - (core.now_ms - monotonic_ms)
