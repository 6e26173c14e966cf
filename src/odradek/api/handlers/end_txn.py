"""EndTxn (key 26): commits or aborts the producer's transaction (KIP-98).

v1 throttle after the response (KIP-219) · v2 PRODUCER_FENCED (KIP-588) · v3 flexible · v4 TRANSACTION_ABORTABLE
(KIP-890) · v5 the producer's epoch grows with each end: the answer tells the new one (KIP-890)

Answered when the decision is durable; consumers see it when the partitions have their markers, which follow.

Authorised by WRITE on the transactional id.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.transactional import check_id, for_old_clients, transactional_id
from odradek.common.failures import ApiError
from odradek.coordinator.transaction.ending import EndRequest
from odradek.coordinator.transaction.transaction import EPOCH_BUMP_VERSION
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.end_txn_request import EndTxnRequest
from odradek.protocol.messages.end_txn_response import EndTxnResponse
from odradek.security.resources import Operation

API = Api(ApiKey.END_TXN)

_FIRST_VERSION_WITH_EPOCHS = 5
_FIRST_VERSION_WITH_FENCED = 2


async def handle(ctx: Context, request: EndTxnRequest) -> EndTxnResponse:
    ctx.authorize(Operation.WRITE, transactional_id(request.transactional_id))
    check_id(request.transactional_id)
    version = EPOCH_BUMP_VERSION if ctx.api_version >= _FIRST_VERSION_WITH_EPOCHS else 0
    end = EndRequest(request.producer_id, request.producer_epoch, request.committed, version)
    try:
        identity = await ctx.transactions.write(
            request.transactional_id, lambda shard: shard.end(request.transactional_id, end)
        )
    except ApiError as error:
        raise for_old_clients(ctx, error, _FIRST_VERSION_WITH_FENCED) from None
    return EndTxnResponse(producer_id=identity.producer_id, producer_epoch=identity.producer_epoch)
