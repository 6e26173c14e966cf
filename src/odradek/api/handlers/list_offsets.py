"""ListOffsets (key 2): offsets by time, or the first, the last, the one with the largest timestamp.

v1 one offset · v2 isolation level (KIP-98) · v4 leader epochs (KIP-320) · v5 OFFSET_NOT_AVAILABLE (KIP-207) · v6
flexible · v7 largest timestamp (KIP-734) · v8 first local offset (KIP-405) · v9 last tiered offset (KIP-1005) · v10
timeout (KIP-1075) · v11 first offset not yet tiered (KIP-1023)

Authorised by DESCRIBE on each topic.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.list_offsets_mapping import (
    list_offsets_entries,
    list_offsets_isolation,
    list_offsets_response,
)
from odradek.api.shared.refusals import only_allowed, with_refused
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.list_offsets_response import ListOffsetsResponse
from odradek.replica.requests import ListOffsetsResult
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.LIST_OFFSETS)

_NOT_AUTHORIZED = ListOffsetsResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def handle(ctx: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    isolation = list_offsets_isolation(request)
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, (topic.name for topic in request.topics))
    entries = list_offsets_entries(request)
    list_results = ctx.replicas.offsets.list_offsets(only_allowed(entries, allowed), request.replica_id, isolation)
    results = with_refused(entries, allowed, list_results, _NOT_AUTHORIZED)
    return list_offsets_response(request, entries, results, ctx.api_version)
