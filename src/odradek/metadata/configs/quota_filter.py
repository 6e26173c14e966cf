"""Filter of DescribeClientQuotas.

A filter has components of an entity: with a certain name, with the default name of the type, or with any name. An
entity matches if it has all of them; a strict filter matches no entity that has others.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from odradek.common.failures import ApiError
from odradek.metadata.image.client_quotas import QuotaEntity
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest

_USER, _CLIENT_ID, _IP = "user", "client-id", "ip"


class MatchType(IntEnum):
    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    #: Types and names; None is the default name of the type.
    exact: QuotaEntity
    #: Types that may have any name.
    specified: tuple[str, ...]
    strict: bool

    def matches(self, entity: QuotaEntity) -> bool:
        if self.strict and len(entity) != len(self.exact) + len(self.specified):
            return False
        types = [entity_type for entity_type, _ in entity]
        return all(part in entity for part in self.exact) and all(specified in types for specified in self.specified)


def quota_filter(request: DescribeClientQuotasRequest) -> QuotaFilter:
    """Return the filter of a request. Raises ApiError for a contradictory one."""
    _check_types([component.entity_type for component in request.components])
    exact = []
    specified = []
    for component in request.components:
        _check_match(component)
        if component.match_type == MatchType.SPECIFIED:
            specified.append(component.entity_type)
        else:
            exact.append((component.entity_type, component.match))
    return QuotaFilter(tuple(exact), tuple(specified), request.strict)


def _check_types(types: Iterable[str]) -> None:
    seen: list[str] = []
    for entity_type in types:
        if not entity_type:
            raise _invalid("Invalid empty entity type.")
        if entity_type in seen:
            raise _invalid(f"Entity type {entity_type} cannot appear more than once in the filter.")
        if entity_type not in (_USER, _CLIENT_ID, _IP):
            raise ApiError(f"Unsupported entity type {entity_type}", ErrorCode.UNSUPPORTED_VERSION)
        seen.append(entity_type)
    if _IP in seen and len(seen) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )


def _check_match(component: ComponentData) -> None:
    if component.match_type not in tuple(MatchType):
        raise _invalid(f"Unknown match type {component.match_type}")
    match_type = MatchType(component.match_type)
    if match_type is MatchType.EXACT and component.match is None:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if match_type is not MatchType.EXACT and component.match is not None:
        raise _invalid(f"Request specified MATCH_TYPE_{match_type.name}, but also specified a match string.")


def _invalid(message: str) -> ApiError:
    return ApiError(message, ErrorCode.INVALID_REQUEST)
