"""UpdateRaftVoter (key 82): a voter tells the leader its endpoints and the versions of kraft.version that it supports
(KIP-853).

v0 KIP-853

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from odradek.protocol.messages.update_raft_voter_response import UpdateRaftVoterResponse
from odradek.security.resources import Operation

API = Api(ApiKey.UPDATE_RAFT_VOTER, listeners=(ListenerRole.CONTROLLER,))


async def handle(ctx: Context, request: UpdateRaftVoterRequest) -> UpdateRaftVoterResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(UpdateRaftVoterResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
