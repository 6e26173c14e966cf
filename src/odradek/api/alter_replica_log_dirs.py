"""AlterReplicaLogDirs (key 34): replicas of this broker move to other log directories of it (KIP-113).

v1 throttle after the response (KIP-219) · v2 flexible

The answer says that a move has begun; DescribeLogDirs shows how far it is. A replica that is not here yet will be made
in the directory, but is answered with REPLICA_NOT_AVAILABLE.

Authorised by ALTER on the cluster.
"""

import asyncio

from odradek.api.context import Context
from odradek.common.ids import TopicPartition
from odradek.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from odradek.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from odradek.security.resources import Operation

#: A log is made for each: others may have the loop in between.
_AT_ONCE = 8


async def handle(ctx: Context, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    ctx.authorize(Operation.ALTER)
    wanted = [
        (TopicPartition(topic.name, index), directory.path)
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    ]
    # Of a replica that is to go to two places the last one counts.
    paths = list(dict(wanted).items())
    codes: list[int] = []
    while len(codes) < len(paths):
        codes += ctx.replicas.alter_replica_log_dirs(paths[len(codes) : len(codes) + _AT_ONCE])
        await asyncio.sleep(0)
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (tp, _), code in zip(paths, codes, strict=True):
        topic = topics.setdefault(tp.topic, AlterReplicaLogDirTopicResult(topic_name=tp.topic))
        topic.partitions.append(AlterReplicaLogDirPartitionResult(partition_index=tp.partition, error_code=code))
    return AlterReplicaLogDirsResponse(results=list(topics.values()))
