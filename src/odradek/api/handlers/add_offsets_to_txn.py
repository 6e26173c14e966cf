"""AddOffsetsToTxn (key 25): a group's offsets will be committed in the transaction (KIP-98).

v1 throttle after the response (KIP-219) · v2 PRODUCER_FENCED (KIP-588) · v3 flexible · v4 TRANSACTION_ABORTABLE
(KIP-890)

What is added is the group's partition of the internal topic. Clients with transactions of version 2 leave it to the
brokers, so whoever sends this speaks an older one.

Authorised by WRITE on the transactional id and READ on the group.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.transactional import check_id, for_old_clients, transactional_id
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from odradek.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from odradek.security.resources import Operation, Resource, ResourceType

API = Api(ApiKey.ADD_OFFSETS_TO_TXN)

_FIRST_VERSION_WITH_FENCED = 2
_CLIENT_TRANSACTION_VERSION = 0


async def handle(ctx: Context, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    name = request.transactional_id
    ctx.authorize(Operation.WRITE, transactional_id(name))
    ctx.authorize(Operation.READ, Resource(ResourceType.GROUP, request.group_id))
    check_id(name)
    partition = TopicPartition(ctx.groups.topic, ctx.groups.partition_for(request.group_id))
    producer = (request.producer_id, request.producer_epoch)
    try:
        await ctx.transactions.write(
            name, lambda shard: shard.add_partitions(name, *producer, (partition,), _CLIENT_TRANSACTION_VERSION)
        )
    except ApiError as error:
        raise for_old_clients(ctx, error, _FIRST_VERSION_WITH_FENCED) from None
    return AddOffsetsToTxnResponse()
