"""AddPartitionsToTxn (key 24): partitions that the transaction will write to (KIP-98).

v1 throttle after the response (KIP-219) · v2 PRODUCER_FENCED (KIP-588) · v3 flexible · v4 from brokers: many
transactions at once, to verify or to add (KIP-890) · v5 TRANSACTION_ABORTABLE

The rules are in `coordinator.transaction.partition_addition`.

Authorized by WRITE on the transactional id and on each topic; since v4, by CLUSTER_ACTION on the cluster.
"""

import asyncio
from collections.abc import Mapping

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.replies import answer
from odradek.api.shared.transactional import for_old_clients, transactional_id
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.transaction.partition_addition import NOTHING_REJECTED, PartitionErrors, partitions_of
from odradek.coordinator.transaction.transaction import EPOCH_BUMP_VERSION
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.ADD_PARTITIONS_TO_TXN)

_FIRST_VERSION_OF_BROKERS = 4
_FIRST_VERSION_WITH_FENCED = 2
_CLIENT_TRANSACTION_VERSION = 0


async def handle(ctx: Context, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if ctx.api_version >= _FIRST_VERSION_OF_BROKERS:
        ctx.authorize(Operation.CLUSTER_ACTION)
        errors = await asyncio.gather(
            *(_add(ctx, transaction, EPOCH_BUMP_VERSION) for transaction in request.transactions)
        )
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=_by_topic(codes))
                for transaction, codes in zip(request.transactions, errors, strict=True)
            ]
        )
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_by_topic(await _add_for_client(ctx, transaction)))


async def _add_for_client(ctx: Context, transaction: AddPartitionsToTxnTransaction) -> PartitionErrors:
    partitions = partitions_of(transaction)
    if not ctx.may(Operation.WRITE, transactional_id(transaction.transactional_id)):
        return dict.fromkeys(partitions, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    names = (topic.name for topic in transaction.topics if topic.name not in INTERNAL_TOPICS)
    allowed = ctx.allowed(Operation.WRITE, ResourceType.TOPIC, names)
    rejected: PartitionErrors = dict.fromkeys(
        (tp for tp in partitions if tp.topic in INTERNAL_TOPICS or tp.topic not in allowed),
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )
    return await _add(ctx, transaction, _CLIENT_TRANSACTION_VERSION, rejected)


async def _add(
    ctx: Context,
    transaction: AddPartitionsToTxnTransaction,
    version: int,
    rejected: Mapping[TopicPartition, int] = NOTHING_REJECTED,
) -> PartitionErrors:
    try:
        return await answer(ctx.partition_addition.add_or_verify(transaction, version, rejected))
    except ApiError as error:
        code = for_old_clients(ctx, error, _FIRST_VERSION_WITH_FENCED).code
        return dict.fromkeys(partitions_of(transaction), code)


def _by_topic(errors: PartitionErrors) -> list[AddPartitionsToTxnTopicResult]:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for (topic, partition_index), code in errors.items():
        result = AddPartitionsToTxnPartitionResult(partition_index=partition_index, partition_error_code=code)
        topics.setdefault(topic, AddPartitionsToTxnTopicResult(name=topic)).results_by_partition.append(result)
    return list(topics.values())
