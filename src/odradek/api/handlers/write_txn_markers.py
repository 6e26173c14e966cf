"""WriteTxnMarkers (key 27): ends transactions in partitions that this broker leads, for coordinators (KIP-98).

v1 flexible · v2 the version of transactions, by which epochs are checked more strictly (KIP-1228)

The rules are in `coordinator.transaction.marker_writing`.

Authorized by ALTER or CLUSTER_ACTION on the cluster.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.dispatch.replies import answer
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from odradek.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse
from odradek.security.resources import CLUSTER, Operation

API = Api(ApiKey.WRITE_TXN_MARKERS)


async def handle(ctx: Context, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    if not ctx.may(Operation.ALTER, CLUSTER):
        ctx.authorize(Operation.CLUSTER_ACTION)
    return await answer(ctx.marker_writer.write(request))
