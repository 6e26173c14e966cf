"""Which quotas somebody asks to see.

A filter names parts of an entity: with a certain name, with the default of the type, or with any name. An entity
matches if it has all of them; a strict filter allows it no others.
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
    #: Type and name; None is the default of the type.
    exact: QuotaEntity
    #: Types that may have any name.
    specified: tuple[str, ...]
    strict: bool

    def matches(self, entity: QuotaEntity) -> bool:
        if self.strict and len(entity) != len(self.exact) + len(self.specified):
            return False
        types = [kind for kind, _ in entity]
        return all(part in entity for part in self.exact) and all(kind in types for kind in self.specified)


def quota_filter(request: DescribeClientQuotasRequest) -> QuotaFilter:
    """Raises ApiError for a filter that means nothing."""
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
    for kind in types:
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in seen:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (_USER, _CLIENT_ID, _IP):
            raise ApiError(f"Unsupported entity type {kind}", ErrorCode.UNSUPPORTED_VERSION)
        seen.append(kind)
    if _IP in seen and len(seen) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )


def _check_match(component: ComponentData) -> None:
    if component.match_type not in tuple(MatchType):
        raise _invalid(f"Unknown match type {component.match_type}")
    kind = MatchType(component.match_type)
    if kind is MatchType.EXACT and component.match is None:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if kind is not MatchType.EXACT and component.match is not None:
        raise _invalid(f"Request specified MATCH_TYPE_{kind.name}, but also specified a match string.")


def _invalid(message: str) -> ApiError:
    return ApiError(message, ErrorCode.INVALID_REQUEST)
