"""DescribeClientQuotas (key 48): the quotas of users, clients and addresses.

v0 KIP-546 · v1 flexible

Authorised by DESCRIBE_CONFIGS on the cluster.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.metadata.configs.quota_filter import quota_filter
from odradek.metadata.image.client_quotas import QuotaEntity, Quotas
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from odradek.protocol.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from odradek.security.resources import Operation

API = Api(ApiKey.DESCRIBE_CLIENT_QUOTAS)


def handle(ctx: Context, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    ctx.authorize(Operation.DESCRIBE_CONFIGS)
    entity_filter = quota_filter(request)
    entities = ctx.services.image().client_quotas.entities
    entries = [_entry(entity, quotas) for entity, quotas in entities.items() if entity_filter.matches(entity)]
    return DescribeClientQuotasResponse(entries=entries)


def _entry(entity: QuotaEntity, quotas: Quotas) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in entity],
        values=[ValueData(key=key, value=value) for key, value in sorted(quotas.items())],
    )
