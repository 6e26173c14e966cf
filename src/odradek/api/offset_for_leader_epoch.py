"""OffsetForLeaderEpoch (key 23): where an epoch ends in this broker's log, so that a reader can see what was cut.

v2 the asker's current epoch (KIP-320) · v3 replica id · v4 flexible

Authorised by DESCRIBE on each topic, or CLUSTER_ACTION on the cluster for a follower.
"""

from odradek.api.context import Context
from odradek.common.ids import TopicPartition
from odradek.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from odradek.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.replica.values import EpochEntry


def handle(ctx: Context, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    entries = [
        EpochEntry(TopicPartition(topic.topic, asked.partition), asked.leader_epoch, asked.current_leader_epoch)
        for topic in request.topics
        for asked in topic.partitions
    ]
    results = iter(ctx.replicas.offsets_for_leader_epoch(entries))
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(
                        error_code=result.error_code,
                        partition=asked.partition,
                        leader_epoch=result.leader_epoch,
                        end_offset=result.end_offset,
                    )
                    for asked, result in zip(topic.partitions, results, strict=False)
                ],
            )
            for topic in request.topics
        ]
    )
