"""OffsetForLeaderEpoch (key 23): where an epoch ends in this broker's log, so that a reader can see what was cut.

v2 the asker's current epoch (KIP-320) · v3 replica id · v4 flexible

Authorised by DESCRIBE on each topic, or CLUSTER_ACTION on the cluster for a follower.
"""

from collections.abc import Container

from odradek.api.dispatch.context import Context
from odradek.api.shared.refusals import only_allowed, with_refused
from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from odradek.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.replica.requests import EpochEntry, EpochResult
from odradek.security.authorizer import EVERYTHING
from odradek.security.resources import CLUSTER, Operation, ResourceType

_REFUSED = EpochResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def handle(ctx: Context, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    allowed: Container[str] = EVERYTHING
    if not ctx.may(Operation.CLUSTER_ACTION, CLUSTER):
        allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, (topic.topic for topic in request.topics))
    entries = [
        EpochEntry(TopicPartition(topic.topic, asked.partition), asked.leader_epoch, asked.current_leader_epoch)
        for topic in request.topics
        for asked in topic.partitions
    ]
    found = ctx.replicas.offsets.offsets_for_epoch(only_allowed(entries, allowed))
    results = with_refused(entries, allowed, found, _REFUSED)
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
