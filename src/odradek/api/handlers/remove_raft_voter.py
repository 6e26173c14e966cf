"""RemoveRaftVoter (key 81): a voter leaves the quorum (KIP-853). Answered once the change of voters is committed.

v0 KIP-853

Authorised by ALTER on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from odradek.security.resources import Operation

API = Api(ApiKey.REMOVE_RAFT_VOTER, listeners=(ListenerRole.CONTROLLER,), forwarded_by=FORWARDED)


async def handle(ctx: Context, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    ctx.authorize(Operation.ALTER)
    return cast(RemoveRaftVoterResponse, await ctx.quorum.handle(request, ctx.api_version, ctx.listener_name))
