"""DescribeLogDirs (key 35): the log directories of this broker, what is in them and how full their disks are.

v2 flexible · v3 an error for the whole answer · v4 size of the disk (KIP-827) · v5 cordoned directories (KIP-1066)

Authorised by DESCRIBE on the cluster.
"""

from collections.abc import Iterable
from itertools import groupby

from odradek.api.dispatch.context import Context
from odradek.common.ids import TopicPartition
from odradek.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from odradek.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.replica.requests import LogDirInfo, ReplicaInfo
from odradek.security.resources import Operation


def handle(ctx: Context, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    ctx.authorize(Operation.DESCRIBE)
    wanted = None
    if request.topics is not None:
        wanted = [TopicPartition(topic.topic, index) for topic in request.topics for index in topic.partitions]
    found = ctx.replicas.description.log_dirs(wanted)
    return DescribeLogDirsResponse(results=[_directory(ctx, info) for info in found])


def _directory(ctx: Context, info: LogDirInfo) -> DescribeLogDirsResult:
    total_bytes, usable_bytes = ctx.services.disk_space(info.path) if not info.error_code else (-1, -1)
    return DescribeLogDirsResult(
        error_code=info.error_code,
        log_dir=info.path,
        topics=_topics(info.replicas),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        is_cordoned=info.is_cordoned,
    )


def _topics(replicas: Iterable[ReplicaInfo]) -> list[DescribeLogDirsTopic]:
    ordered = sorted(replicas, key=lambda replica: replica.topic_partition)
    return [
        DescribeLogDirsTopic(
            name=name,
            partitions=[
                DescribeLogDirsPartition(
                    partition_index=replica.topic_partition.partition,
                    partition_size=replica.size_bytes,
                    offset_lag=replica.offset_lag,
                    is_future_key=replica.is_future,
                )
                for replica in of_topic
            ],
        )
        for name, of_topic in groupby(ordered, key=lambda replica: replica.topic_partition.topic)
    ]
