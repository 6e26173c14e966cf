"""Client quotas of users, client ids and addresses, and SCRAM credentials of users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes
from odradek.client.errors import check_error, refusal
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

#: Pairs of entity type (user, client-id, ip) and name, sorted by type; None is the default entity of the type.
QuotaEntity = tuple[tuple[str, str | None], ...]

_EXACT, _DEFAULT, _ANY = 0, 1, 2


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """Selects the entities that have all of these components; with `strict` only those that have no others."""

    #: Entity type and name; None is the default entity of the type.
    exact: Mapping[str, str | None]
    #: Entity types with any name.
    any_name: Sequence[str] = ()
    strict: bool = False


class ScramMechanism(IntEnum):
    """Mechanism of a SCRAM credential."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """Mechanism and iterations of a credential; neither salt nor keys are returned by a cluster."""

    mechanism: ScramMechanism
    iterations: int


def quota_entity(components: Mapping[str, str | None]) -> QuotaEntity:
    return tuple(sorted(components.items()))


class QuotaOperations:
    """Describes and alters client quotas, and describes SCRAM credentials."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(self, quota_filter: QuotaFilter | None = None) -> dict[QuotaEntity, dict[str, float]]:
        """Return the quotas of all entities, or of those that the filter selects. Raises Refused."""
        components: list[ComponentData] = []
        if quota_filter is not None:
            components += [
                ComponentData(entity_type=entity_type, match_type=_DEFAULT if name is None else _EXACT, match=name)
                for entity_type, name in quota_filter.exact.items()
            ]
            components += [
                ComponentData(entity_type=entity_type, match_type=_ANY, match=None)
                for entity_type in quota_filter.any_name
            ]
        request = DescribeClientQuotasRequest(
            components=components, strict=quota_filter is not None and quota_filter.strict
        )
        response: DescribeClientQuotasResponse = await self._router.send_to_any(request)
        check_error(response.error_code, response.error_message)
        return {
            quota_entity({component.entity_type: component.entity_name for component in entry.entity}): {
                value.key: value.value for value in entry.values
            }
            for entry in response.entries or ()
        }

    async def alter(
        self, changes: Mapping[QuotaEntity, Mapping[str, float | None]], *, validate_only: bool = False
    ) -> Outcomes[QuotaEntity, None]:
        """Set quotas; None removes a quota."""
        request = AlterClientQuotasRequest(
            entries=[
                EntryData(
                    entity=[EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in entity],
                    ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()],
                )
                for entity, values in changes.items()
            ],
            validate_only=validate_only,
        )
        response: AlterClientQuotasResponse = await self._router.send_change(
            request, lambda r: [entry.error_code for entry in r.entries]
        )
        return Outcomes(
            {
                quota_entity({component.entity_type: component.entity_name for component in entry.entity}): refusal(
                    entry.error_code, entry.error_message
                )
                for entry in response.entries
            }
        )

    async def describe_scram_credentials(
        self, users: Sequence[str] | None = None
    ) -> Outcomes[str, tuple[ScramCredential, ...]]:
        """Return the credentials of these users, or of all users that have any. Raises Refused."""
        names = None if users is None else [UserName(name=name) for name in users]
        request = DescribeUserScramCredentialsRequest(users=names)
        response: DescribeUserScramCredentialsResponse = await self._router.send_to_any(request)
        check_error(response.error_code, response.error_message)
        return Outcomes(
            {
                result.user: refusal(result.error_code, result.error_message)
                or tuple(
                    ScramCredential(ScramMechanism(credential.mechanism), credential.iterations)
                    for credential in result.credential_infos
                )
                for result in response.results
            }
        )
