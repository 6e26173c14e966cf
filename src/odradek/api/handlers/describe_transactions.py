"""DescribeTransactions (key 65): the transactions of some transactional ids (KIP-664).

Authorised by DESCRIBE on each transactional id; topics that may not be described are left out.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.transactional import check_id, transactional_id
from odradek.common.failures import ApiError
from odradek.coordinator.transaction.transaction import Transaction
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from odradek.protocol.messages.describe_transactions_response import (
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.DESCRIBE_TRANSACTIONS)


async def handle(ctx: Context, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[await _state(ctx, name) for name in request.transactional_ids]
    )


async def _state(ctx: Context, name: str) -> TransactionState:
    try:
        ctx.authorize(Operation.DESCRIBE, transactional_id(name))
        check_id(name)
        transaction: Transaction = await ctx.transactions.read(name, lambda shard: shard.describe(name))
    except ApiError as error:
        return TransactionState(transactional_id=name, error_code=error.code)
    return TransactionState(
        transactional_id=name,
        transaction_state=transaction.state.shown,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=_topics(ctx, transaction),
    )


def _topics(ctx: Context, found: Transaction) -> list[TopicData]:
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, (tp.topic for tp in found.partitions))
    by_topic: dict[str, TopicData] = {}
    for topic, partition in found.partitions:
        if topic in allowed:
            by_topic.setdefault(topic, TopicData(topic=topic)).partitions.append(partition)
    return list(by_topic.values())
