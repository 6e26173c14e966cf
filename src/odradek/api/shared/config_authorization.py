"""Who may see and change settings: whoever may do so on the topic or group, or on the cluster for all else."""

from collections import Counter
from typing import Protocol, TypeVar

from odradek.api.dispatch.context import Context
from odradek.common.failures import ApiError
from odradek.protocol.config_types import ConfigResourceType
from odradek.security.resources import CLUSTER, Operation, Resource, ResourceType, refusal


class Named(Protocol):
    """A resource in a request about settings."""

    resource_type: int
    resource_name: str


AnyNamed = TypeVar("AnyNamed", bound=Named)


def check_may(ctx: Context, operation: Operation, resource: Named) -> None:
    """Raises ApiError with the code for the kind of resource."""
    ctx.authorize(operation, _needed_on(resource))


def split_changes(ctx: Context, resources: list[AnyNamed]) -> tuple[list[AnyNamed], list[tuple[AnyNamed, ApiError]]]:
    """What whoever asks may change, and what not. As in Kafka, what is named twice or of an unknown kind is the
    controller's to refuse, and so is passed to it."""
    times = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    allowed, refused = [], []
    for resource in resources:
        needed = _needed_on(resource)
        is_unique = times[resource.resource_type, resource.resource_name] == 1
        is_known = resource.resource_type in tuple(ConfigResourceType)
        if is_unique and is_known and not ctx.may(Operation.ALTER_CONFIGS, needed):
            refused.append((resource, refusal(needed.type)))
        else:
            allowed.append(resource)
    return allowed, refused


def _needed_on(resource: Named) -> Resource:
    match resource.resource_type:
        case ConfigResourceType.TOPIC:
            return Resource(ResourceType.TOPIC, resource.resource_name)
        case ConfigResourceType.GROUP:
            return Resource(ResourceType.GROUP, resource.resource_name)
    return CLUSTER
