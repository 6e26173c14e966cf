"""ListTransactions (key 66): transactions that this broker coordinates (KIP-664).

v1 those that run for longer than so long (KIP-994) · v2 by a pattern of the transactional id (KIP-1152)

Authorised by DESCRIBE on each transactional id: others are left out.
"""

from collections.abc import Callable

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.coordinator.runtime.patterns import compile_pattern
from odradek.coordinator.transaction.states import BY_NAME, TransactionState
from odradek.coordinator.transaction.transaction import Transaction
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages import list_transactions_response as answer
from odradek.protocol.messages.list_transactions_request import ListTransactionsRequest
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.LIST_TRANSACTIONS)


async def handle(ctx: Context, request: ListTransactionsRequest) -> answer.ListTransactionsResponse:
    is_wanted = _filter(request, ctx.services.clock.wall_ms())
    shards = await ctx.transactions.read_all(
        lambda shard: [transaction for transaction in shard.transactions() if is_wanted(transaction)]
    )
    listed = [transaction for transactions in shards for transaction in transactions]
    names = (transaction.transactional_id for transaction in listed)
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, names)
    return answer.ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in BY_NAME],
        transaction_states=[
            answer.TransactionState(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.shown,
            )
            for transaction in listed
            if transaction.transactional_id in allowed
        ],
    )


def _filter(request: ListTransactionsRequest, now_ms: int) -> Callable[[Transaction], bool]:
    pattern = request.transactional_id_pattern
    matches = compile_pattern(pattern, "Transaction ID pattern") if pattern else None
    states = [BY_NAME.get(name) for name in request.state_filters]

    def is_wanted(found: Transaction) -> bool:
        return (
            found.state is not TransactionState.DEAD
            and (not request.producer_id_filters or found.producer_id in request.producer_id_filters)
            and (not states or found.state in states)
            and (request.duration_filter < 0 or now_ms - found.started_ms > request.duration_filter)
            and (matches is None or matches(found.transactional_id))
        )

    return is_wanted
