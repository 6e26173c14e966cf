"""AlterReplicaLogDirs (key 34): replicas of this broker move to other log directories of it (KIP-113).

v1 throttle after the response (KIP-219) · v2 flexible

The answer says that a move has begun; DescribeLogDirs shows how far it is. A replica that is not here yet will be made
in the directory, but is answered with REPLICA_NOT_AVAILABLE.

Authorised by ALTER on the cluster.
"""

import asyncio

from odradek.api.dispatch.context import Context
from odradek.common.ids import TopicPartition
from odradek.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from odradek.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from odradek.security.resources import Operation


async def handle(ctx: Context, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    ctx.authorize(Operation.ALTER)
    wanted = [
        (TopicPartition(topic.name, index), directory.path)
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    ]
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    # Of a replica that is to go to two places the last one counts.
    for tp, path in dict(wanted).items():
        code = ctx.replicas.log_dir_moves.start(tp, path)
        topic = topics.setdefault(tp.topic, AlterReplicaLogDirTopicResult(topic_name=tp.topic))
        topic.partitions.append(AlterReplicaLogDirPartitionResult(partition_index=tp.partition, error_code=code))
        await asyncio.sleep(0)  # a log was made for it: others may have the loop
    return AlterReplicaLogDirsResponse(results=list(topics.values()))
