"""FetchSnapshot (key 59): a replica of the metadata log that is too far behind reads a snapshot, a piece at a time.

v0 KIP-630 · v1 the replica's directory id, the leader's endpoints (KIP-853)

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from odradek.security.resources import Operation

API = Api(ApiKey.FETCH_SNAPSHOT, listeners=(ListenerRole.CONTROLLER,))


async def handle(ctx: Context, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(FetchSnapshotResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
