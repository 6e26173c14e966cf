"""WriteTxnMarkers (key 27): ends transactions in partitions that this broker leads; from their coordinators (KIP-98).

v1 flexible · v2 the version of transactions, by which epochs are checked more strictly (KIP-1228)

A marker in a partition of groups' offsets goes through the groups' coordinator, which takes the offsets over with it.

Authorised by ALTER or CLUSTER_ACTION on the cluster.
"""

import asyncio

from odradek.api.dispatch.context import Context
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.shard import Writer
from odradek.metadata.internal_topics import CONSUMER_OFFSETS
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from odradek.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from odradek.replica.txn_markers import TransactionMarker, append_markers
from odradek.replica.values import ProduceResult
from odradek.security.resources import CLUSTER, Operation

#: A coordinator of transactions knows what to do about a leader that is elsewhere.
_ELSEWHERE = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


async def handle(ctx: Context, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    if not ctx.may(Operation.ALTER, CLUSTER):
        ctx.authorize(Operation.CLUSTER_ACTION)
    return await write_markers(ctx, request)


async def write_markers(ctx: Context, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    """For whoever may: also this node's own coordinator, without a connection."""
    for marker in request.markers:
        here = [tp for tp in _partitions(marker, is_groups=False) if tp in ctx.replicas.partitions]
        if here and not _written(marker).has_producer:
            raise ApiError("A marker requires a producer id and a producer epoch", ErrorCode.UNKNOWN_SERVER_ERROR)
    results = await asyncio.gather(*(_write(ctx, marker) for marker in request.markers))
    return WriteTxnMarkersResponse(markers=list(results))


async def _write(ctx: Context, marker: WritableTxnMarker) -> WritableTxnMarkerResult:
    """Appends first and waits afterwards, so that markers of one producer stay in their order."""
    groups = [tp for tp in _partitions(marker, is_groups=True) if tp in ctx.replicas.partitions]
    others = [tp for tp in _partitions(marker) if tp not in groups]
    codes = dict(zip(others, await _append(ctx, marker, others), strict=True))
    for tp in groups:
        codes[tp] = await _complete(ctx, marker, tp.partition)
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=index, error_code=codes[TopicPartition(topic.name, index)]
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )


def _partitions(marker: WritableTxnMarker, *, is_groups: bool | None = None) -> list[TopicPartition]:
    """All partitions of the marker, or only those with (or without) the offsets of groups."""
    return [
        TopicPartition(topic.name, index)
        for topic in marker.topics
        if is_groups is None or (topic.name == CONSUMER_OFFSETS) == is_groups
        for index in topic.partition_indexes
    ]


def _written(marker: WritableTxnMarker) -> TransactionMarker:
    return TransactionMarker(
        marker.producer_id,
        marker.producer_epoch,
        marker.transaction_result,
        marker.coordinator_epoch,
        marker.transaction_version,
    )


async def _append(ctx: Context, marker: WritableTxnMarker, places: list[TopicPartition]) -> list[int]:
    done: asyncio.Future[list[ProduceResult]] = asyncio.get_running_loop().create_future()
    append_markers(
        ctx.replicas,
        places,
        _written(marker),
        lambda results: None if done.done() else done.set_result(results),
    )
    if not done.done():
        ctx.services.began_to_wait()
    partitions = ctx.replicas.partitions
    return [
        result.error_code if tp in partitions or not result.error_code else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for tp, result in zip(places, await done, strict=True)
    ]


async def _complete(ctx: Context, marker: WritableTxnMarker, partition: int) -> int:
    if not _written(marker).has_producer:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    writer = Writer("", marker.producer_id, marker.producer_epoch, marker.transaction_version)
    try:
        await ctx.groups.complete_transaction(partition, writer, marker.coordinator_epoch, marker.transaction_result)
    except ApiError as error:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if error.code in _ELSEWHERE else error.code
    return 0
