"""BrokerRegistration (key 62): a broker's process joins the cluster and gets its epoch.

v0 KIP-631 · v1 brokers that migrate from ZooKeeper (KIP-866) · v2 log directories (KIP-858) · v3 the epoch of the
last clean shutdown (KIP-966) · v4 features whose lowest level is 0 (KIP-1022)

Authorised by CLUSTER_ACTION on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from odradek.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from odradek.security.resources import Operation

API = Api(ApiKey.BROKER_REGISTRATION, listeners=(ListenerRole.CONTROLLER,), pipelined=True)


async def handle(ctx: Context, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
    ctx.authorize(Operation.CLUSTER_ACTION)
    return cast(BrokerRegistrationResponse, await ctx.controller.handle(request))
