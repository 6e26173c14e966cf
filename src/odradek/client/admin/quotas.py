"""Quotas of users, client ids and addresses, and SCRAM credentials of users, from outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, change
from odradek.client.errors import check_error, refusal
from odradek.errors import Refused
from odradek.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from odradek.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse
from odradek.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from odradek.protocol.messages.describe_client_quotas_response import DescribeClientQuotasResponse
from odradek.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from odradek.protocol.messages.describe_user_scram_credentials_response import DescribeUserScramCredentialsResponse

#: Pairs of type (user, client-id, ip) and name, by type; a name that is None is the default of the type.
QuotaEntity = tuple[tuple[str, str | None], ...]

_EXACT, _DEFAULT, _ANY = 0, 1, 2


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """Entities that have all of these parts; `strict`: and no others."""

    #: Type and name; None is the default of the type.
    exact: Mapping[str, str | None]
    #: Types with whatever name.
    any_name: Sequence[str] = ()
    strict: bool = False


class ScramMechanism(IntEnum):
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


@dataclass(frozen=True, slots=True)
class ScramCredential:
    mechanism: ScramMechanism
    iterations: int


def quota_entity(parts: Mapping[str, str | None]) -> QuotaEntity:
    return tuple(sorted(parts.items()))


async def describe_client_quotas(
    cluster: ClusterRouter, wanted: QuotaFilter | None = None
) -> dict[QuotaEntity, dict[str, float]]:
    """All, or those that the filter wants. Raises Refused."""
    parts = [
        ComponentData(entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name)
        for kind, name in (wanted.exact.items() if wanted is not None else ())
    ]
    parts += [
        ComponentData(entity_type=kind, match_type=_ANY, match=None)
        for kind in (wanted.any_name if wanted is not None else ())
    ]
    request = DescribeClientQuotasRequest(components=parts, strict=wanted is not None and wanted.strict)
    response: DescribeClientQuotasResponse = await cluster.send_to_any(request)
    check_error(response.error_code, response.error_message)
    return {
        quota_entity({part.entity_type: part.entity_name for part in entry.entity}): {
            value.key: value.value for value in entry.values
        }
        for entry in response.entries or ()
    }


async def alter_client_quotas(
    cluster: ClusterRouter, changes: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
) -> Outcomes[QuotaEntity, None]:
    """None takes a quota away."""
    request = AlterClientQuotasRequest(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()],
            )
            for entity, values in changes.items()
        ],
        validate_only=validate_only,
    )
    response: AlterClientQuotasResponse = await change(
        cluster, request, lambda r: [each.error_code for each in r.entries]
    )
    return {
        quota_entity({part.entity_type: part.entity_name for part in entry.entity}): refusal(
            entry.error_code, entry.error_message
        )
        for entry in response.entries
    }


async def describe_user_scram_credentials(
    cluster: ClusterRouter, users: Sequence[str] | None = None
) -> Outcomes[str, tuple[ScramCredential, ...]]:
    """Of these users, or of all that have any. The passwords are nowhere. Raises Refused."""
    names = None if users is None else [UserName(name=name) for name in users]
    request = DescribeUserScramCredentialsRequest(users=names)
    response: DescribeUserScramCredentialsResponse = await cluster.send_to_any(request)
    check_error(response.error_code, response.error_message)
    found: dict[str, tuple[ScramCredential, ...] | Refused] = {}
    for result in response.results:
        found[result.user] = refusal(result.error_code, result.error_message) or tuple(
            ScramCredential(ScramMechanism(each.mechanism), each.iterations) for each in result.credential_infos
        )
    return found
