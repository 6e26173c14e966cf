"""UpdateFeatures (key 57): features go up or down, metadata.version among them.

v0 KIP-584 · v1 kinds of downgrade, dry runs (KIP-778) · v2 one error for all features (KIP-1022)

Authorised by ALTER on the cluster.
"""

from typing import cast

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import FORWARDED, Api
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.update_features_request import UpdateFeaturesRequest
from odradek.protocol.messages.update_features_response import UpdateFeaturesResponse
from odradek.security.resources import Operation

API = Api(ApiKey.UPDATE_FEATURES, listeners=(ListenerRole.CONTROLLER,), pipelined=True, forwarded_by=FORWARDED)


async def handle(ctx: Context, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    ctx.authorize(Operation.ALTER)
    return cast(UpdateFeaturesResponse, await ctx.controller.handle(request))
