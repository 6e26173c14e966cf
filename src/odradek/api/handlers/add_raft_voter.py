"""AddRaftVoter (key 80): a controller becomes a voter (KIP-853). Answered once the change of voters is committed.

v0 KIP-853 · v1 may be answered before that (KIP-1186)

Authorised by ALTER on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.security.resources import Operation

API = Api(ApiKey.ADD_RAFT_VOTER, listeners=(ListenerRole.CONTROLLER,), forwarded_by=FORWARDED)


async def handle(ctx: Context, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    ctx.authorize(Operation.ALTER)
    return cast(AddRaftVoterResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
