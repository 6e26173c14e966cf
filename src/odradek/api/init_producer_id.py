"""InitProducerId (key 22): an id for an idempotent producer (KIP-98), out of the block that this broker holds.

v1 throttle after the response (KIP-219) · v2 flexible · v3 a producer asks for its next epoch (KIP-360) · v4
PRODUCER_FENCED (KIP-588) · v5 transactions of version 2 (KIP-890)

A producer without a transactional id gets a new id each time it asks; there is nothing to fence.

Authorised by WRITE on any topic, or IDEMPOTENT_WRITE on the cluster; with a transactional id by WRITE on that, and by
TWO_PHASE_COMMIT where the transaction is to be one.
"""

from odradek.api.context import Context
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.init_producer_id_response import InitProducerIdResponse
from odradek.security.resources import Operation, Resource, ResourceType

_NO_ID, _NO_EPOCH = -1, -1


async def handle(ctx: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    _authorize(ctx, request)
    if (request.producer_id == _NO_ID) != (request.producer_epoch == _NO_EPOCH):
        raise ApiError("a producer names its id and its epoch, or neither", ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        raise ApiError("this broker coordinates no transactions", ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return InitProducerIdResponse(producer_id=await ctx.services.new_producer_id(), producer_epoch=0)


def _authorize(ctx: Context, request: InitProducerIdRequest) -> None:
    if request.transactional_id is not None:
        transaction = Resource(ResourceType.TRANSACTIONAL_ID, request.transactional_id)
        ctx.authorize(Operation.WRITE, transaction)
        if request.enable2_pc:
            ctx.authorize(Operation.TWO_PHASE_COMMIT, transaction)
    elif not ctx.may_on_any(Operation.WRITE, ResourceType.TOPIC):
        ctx.authorize(Operation.IDEMPOTENT_WRITE)
