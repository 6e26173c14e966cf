"""ListGroups (key 16): the groups that this broker coordinates.

v1 throttle time · v3 flexible · v4 by state (KIP-518) · v5 by type (KIP-848)

Authorised by DESCRIBE on the cluster for all of them, or else on each group.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.list_groups_request import ListGroupsRequest
from odradek.protocol.messages.list_groups_response import ListedGroup, ListGroupsResponse
from odradek.security.resources import CLUSTER, Operation, ResourceType

API = Api(ApiKey.LIST_GROUPS)


async def handle(ctx: Context, request: ListGroupsRequest) -> ListGroupsResponse:
    groups_by_partition: list[list[ListedGroup]] = await ctx.groups.read_all(
        lambda shard: shard.list_groups(request.states_filter, request.types_filter)
    )
    groups = [group for of_partition in groups_by_partition for group in of_partition]
    if not ctx.may(Operation.DESCRIBE, CLUSTER):
        allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.GROUP, (group.group_id for group in groups))
        groups = [group for group in groups if group.group_id in allowed]
    return ListGroupsResponse(groups=groups)
