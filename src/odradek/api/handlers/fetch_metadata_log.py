"""Fetch (key 1) on a controller's listener: a replica of the metadata log, voter or observer, reads on (KIP-595).

v4 what transactions need · v5 the follower's log start · v7 sessions (KIP-227) · v9 leader epochs (KIP-320) · v10
zstd · v11 racks (KIP-392) · v12 flexible, diverging epoch, snapshot id, cluster id (KIP-595) · v13 topic ids
(KIP-516) · v15 the replica's epoch (KIP-903) · v16 endpoints (KIP-951) · v17 the replica's directory id (KIP-853) ·
v18 the replica's high watermark (KIP-1166)

It waits for records as long as the request says. What the leader learns of the replica, it learns before.

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.security.resources import Operation

API = Api(ApiKey.FETCH, listeners=(ListenerRole.CONTROLLER,), long_poll=True, pipelined=True)


async def handle(ctx: Context, request: FetchRequest) -> FetchResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(FetchResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
