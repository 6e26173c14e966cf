"""AddPartitionsToTxn (key 24): partitions that the transaction will write to (KIP-98).

v1 throttle after the response (KIP-219) · v2 PRODUCER_FENCED (KIP-588) · v3 flexible · v4 from brokers: many
transactions at once, to verify or to add (KIP-890) · v5 TRANSACTION_ABORTABLE

A partition that is not there, or not to be written to, keeps all others of its transaction out.

Authorised by WRITE on the transactional id and on each topic; since v4, by CLUSTER_ACTION on the cluster.
"""

import asyncio
from collections.abc import Iterable

from odradek.api.dispatch.context import Context
from odradek.api.shared.transactional import check_id, for_old_clients, transactional_id
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.transaction.transaction import EPOCH_BUMP_VERSION
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from odradek.security.resources import Operation, ResourceType

_FIRST_VERSION_OF_BROKERS = 4
_FIRST_VERSION_WITH_FENCED = 2

Codes = dict[TopicPartition, int]


async def handle(ctx: Context, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if ctx.api_version >= _FIRST_VERSION_OF_BROKERS:
        ctx.authorize(Operation.CLUSTER_ACTION)
        return await add_or_verify(ctx, request)
    asked = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_by_topic(await _of_client(ctx, asked)))


async def add_or_verify(ctx: Context, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """For whoever may: also this node's own replicas, without a connection."""
    results = await asyncio.gather(*(_of_broker(ctx, each) for each in request.transactions))
    return AddPartitionsToTxnResponse(results_by_transaction=list(results))


async def _of_client(ctx: Context, asked: AddPartitionsToTxnTransaction) -> Codes:
    partitions = _partitions(asked.topics)
    if not ctx.may(Operation.WRITE, transactional_id(asked.transactional_id)):
        return dict.fromkeys(partitions, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    names = (topic.name for topic in asked.topics if topic.name not in INTERNAL_TOPICS)
    allowed = ctx.allowed(Operation.WRITE, ResourceType.TOPIC, names)
    refused: Codes = dict.fromkeys(
        (tp for tp in partitions if tp.topic in INTERNAL_TOPICS or tp.topic not in allowed),
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )
    return await _codes(ctx, asked, partitions, refused)


async def _of_broker(ctx: Context, asked: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResult:
    codes = await _codes(ctx, asked, _partitions(asked.topics), {})
    return AddPartitionsToTxnResult(transactional_id=asked.transactional_id, topic_results=_by_topic(codes))


async def _codes(
    ctx: Context, asked: AddPartitionsToTxnTransaction, partitions: list[TopicPartition], refused: Codes
) -> Codes:
    topics = ctx.services.image().topics.by_name
    for tp in partitions:
        topic = topics.get(tp.topic)
        if tp not in refused and (topic is None or tp.partition not in topic.partitions):
            refused[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if refused:
        return {tp: refused.get(tp, ErrorCode.OPERATION_NOT_ATTEMPTED) for tp in partitions}
    try:
        return await _ask_coordinator(ctx, asked, partitions)
    except ApiError as error:
        return dict.fromkeys(partitions, for_old_clients(ctx, error, _FIRST_VERSION_WITH_FENCED).code)


async def _ask_coordinator(
    ctx: Context, asked: AddPartitionsToTxnTransaction, partitions: list[TopicPartition]
) -> Codes:
    name, producer = asked.transactional_id, (asked.producer_id, asked.producer_epoch)
    check_id(name)
    if asked.verify_only:
        found: Codes = await ctx.transactions.read(
            name, lambda shard: shard.verify_partitions(name, *producer, partitions)
        )
        return found
    version = EPOCH_BUMP_VERSION if ctx.api_version >= _FIRST_VERSION_OF_BROKERS else 0
    await ctx.transactions.write(name, lambda shard: shard.add_partitions(name, *producer, partitions, version))
    return dict.fromkeys(partitions, ErrorCode.NONE)


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions]


def _by_topic(codes: Codes) -> list[AddPartitionsToTxnTopicResult]:
    found: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (topic, partition), code in codes.items():
        result = AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=code)
        found.setdefault(topic, AddPartitionsToTxnTopicResult(name=topic)).results_by_partition.append(result)
    return list(found.values())
