"""InitProducerId (key 22): an id and an epoch for a producer, idempotent or transactional (KIP-98).

v1 throttle after the response (KIP-219) · v2 flexible · v3 a producer asks for its next epoch (KIP-360) · v4
PRODUCER_FENCED (KIP-588) · v5 transactions of version 2 (KIP-890) · v6 two-phase commit (KIP-939)

A producer without a transactional id gets a new id each time it asks, out of the block that this broker holds; there is
nothing to fence. With one, the coordinator fences whoever had it before.

Authorised by WRITE on any topic, or IDEMPOTENT_WRITE on the cluster; with a transactional id by WRITE on that, and by
TWO_PHASE_COMMIT where the transaction is to be one.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.transactional import check_id, for_old_clients, transactional_id
from odradek.common.failures import ApiError
from odradek.coordinator.transaction.shard import Identity
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.init_producer_id_response import InitProducerIdResponse
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.INIT_PRODUCER_ID)

_NO_ID, _NO_EPOCH = -1, -1
_FIRST_VERSION_WITH_FENCED = 4


async def handle(ctx: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    _authorize(ctx, request)
    if (request.producer_id == _NO_ID) != (request.producer_epoch == _NO_EPOCH):
        raise ApiError("a producer names its id and its epoch, or neither", ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        return InitProducerIdResponse(producer_id=await ctx.services.new_producer_id(), producer_epoch=0)
    try:
        identity = await _begin(ctx, request.transactional_id, request)
    except ApiError as error:
        raise for_old_clients(ctx, error, _FIRST_VERSION_WITH_FENCED) from None
    return InitProducerIdResponse(
        error_code=identity.error_code, producer_id=identity.producer_id, producer_epoch=identity.producer_epoch
    )


async def _begin(ctx: Context, name: str, request: InitProducerIdRequest) -> Identity:
    check_id(name)
    if request.keep_prepared_txn:
        raise ApiError("prepared transactions cannot be kept", ErrorCode.UNSUPPORTED_VERSION)
    expected = None if request.producer_id == _NO_ID else Identity(request.producer_id, request.producer_epoch)
    await ctx.services.producer_ids_at_hand()
    identity: Identity = await ctx.transactions.write(
        name,
        lambda shard: shard.init_producer_id(
            name, request.transaction_timeout_ms, expected, is_two_phase=request.enable2_pc
        ),
    )
    return identity


def _authorize(ctx: Context, request: InitProducerIdRequest) -> None:
    if request.transactional_id is not None:
        transaction = transactional_id(request.transactional_id)
        ctx.authorize(Operation.WRITE, transaction)
        if request.enable2_pc:
            ctx.authorize(Operation.TWO_PHASE_COMMIT, transaction)
    elif not ctx.may_on_any(Operation.WRITE, ResourceType.TOPIC):
        ctx.authorize(Operation.IDEMPOTENT_WRITE)
