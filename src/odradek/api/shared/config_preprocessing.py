"""What a broker makes of a change of settings before the controller hears of it.

Only a broker knows whether a setting of its own can change while it runs, and only this process can set the level of
its loggers; the rest is the controller's to judge. What is refused here, or done, is not passed on.

Resources are looked at one by one. Words and codes are Kafka's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.api.dispatch.context import Context
from odradek.api.shared.broker_loggers import Change, change_levels
from odradek.api.shared.config_authorization import check_may
from odradek.common.config_definition import InvalidConfig
from odradek.common.failures import ApiError
from odradek.metadata.configs.definitions import InvalidRequest, definitions
from odradek.metadata.configs.dynamic import usable
from odradek.metadata.image.configs import ConfigResource
from odradek.protocol.config_types import ConfigOp, ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import alter_configs_request as alter
from odradek.protocol.messages import incremental_alter_configs_request as incremental
from odradek.security.resources import Operation

Resource = alter.AlterConfigsResource | incremental.AlterConfigsResource
Request = alter.AlterConfigsRequest | incremental.IncrementalAlterConfigsRequest

#: The controller judges these.
_PASSED_ON = (ConfigResourceType.TOPIC, ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP)


class Outcome(NamedTuple):
    code: int
    message: str | None


DONE = Outcome(ErrorCode.NONE, None)


def preprocess(ctx: Context, request: Request) -> list[Outcome | None]:
    """For each resource what came of it; None where it is still to be passed on."""
    times = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    outcomes: list[Outcome | None] = []
    for resource in request.resources:
        try:
            if times[resource.resource_type, resource.resource_name] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            outcomes.append(_preprocess(ctx, resource, request.validate_only))
        except ApiError as error:
            outcomes.append(Outcome(error.code, str(error)))
    return outcomes


def _preprocess(ctx: Context, resource: Resource, validate_only: bool) -> Outcome | None:
    changes = [_change(config) for config in resource.configs]
    if len({change.name for change in changes}) < len(changes):
        raise InvalidRequest("Error due to duplicate config keys")
    nulls = [change.name for change in changes if change.op != ConfigOp.DELETE and change.value is None]
    if nulls:
        raise InvalidRequest(f"Null value not supported for : {', '.join(nulls)}")
    is_incremental = isinstance(resource, incremental.AlterConfigsResource)
    if resource.resource_type == ConfigResourceType.BROKER_LOGGER and is_incremental:
        check_may(ctx, Operation.ALTER_CONFIGS, resource)
        change_levels(ctx.services.node_id, resource.resource_name, changes, validate_only=validate_only)
        return DONE
    if resource.resource_type == ConfigResourceType.BROKER:
        _check_broker(ctx, resource.resource_name, changes, is_incremental=is_incremental)
    elif resource.resource_type not in _PASSED_ON:
        raise InvalidRequest(f"Unknown resource type {resource.resource_type}")
    return None


def _change(config: alter.AlterableConfig | incremental.AlterableConfig) -> Change:
    op = config.config_operation if isinstance(config, incremental.AlterableConfig) else ConfigOp.SET
    return Change(config.name, op, config.value)


def _check_broker(ctx: Context, name: str, changes: Sequence[Change], *, is_incremental: bool) -> None:
    """Against all that would be set then."""
    if name:
        _check_own(name, ctx.services.node_id)
    after: dict[str, str] = {}
    if is_incremental:
        set_now = ctx.services.image().configs.settings(ConfigResource(ConfigResourceType.BROKER, name))
        after = usable(set_now, bool(name))
    for change in changes:
        _apply(change, after)
    ctx.services.check_broker_configs(after, bool(name))


def _check_own(name: str, node_id: int) -> None:
    try:
        asked = int(name)
    except ValueError:
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}") from None
    if asked != node_id:
        raise InvalidRequest(f"Unexpected broker id, expected {node_id}, but received {name}")


def _apply(change: Change, after: dict[str, str]) -> None:
    name, op, value = change
    if op == ConfigOp.DELETE:
        after.pop(name, None)
    elif value is not None and op == ConfigOp.SET:
        after[name] = value
    elif value is not None and op in (ConfigOp.APPEND, ConfigOp.SUBTRACT):
        after[name] = ",".join(_combined(name, ConfigOp(op), value.split(","), after))
    else:
        raise InvalidRequest(f"Unknown operations type {op}")


def _combined(name: str, op: ConfigOp, items: Sequence[str], after: Mapping[str, str]) -> list[str]:
    definition = definitions(ConfigResourceType.BROKER).get(name)
    if definition is None:
        raise InvalidConfig(f"Unknown config name: {name}")
    if not definition.is_list:
        raise InvalidConfig(f"Config value {op.name.lower()} is not allowed for config key: {name}")
    held = after.get(name, definition.default or "")
    held_items = held.split(",") if held else []
    if op == ConfigOp.APPEND:
        return [*held_items, *(item for item in items if item not in held_items)]
    for item in items:
        if item in held_items:
            held_items.remove(item)
    return held_items
