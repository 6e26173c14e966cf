"""Settings of topics, brokers and groups from outside: describe, and change one by one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, change, in_order
from odradek.client.errors import check_error, refusal
from odradek.common.addresses import HostPort
from odradek.errors import Refused
from odradek.protocol.config_kinds import ConfigOp, ConfigResourceType, ConfigSource
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from odradek.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from odradek.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from odradek.protocol.messages.list_config_resources_response import ListConfigResourcesResponse


class ConfigResource(NamedTuple):
    """A broker's name is its id; without a name it stands for the defaults of all brokers."""

    type: ConfigResourceType
    name: str

    @property
    def node_id(self) -> int | None:
        """Who has to be asked, if not anybody can answer."""
        is_node = self.type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) and self.name.isdecimal()
        return int(self.name) if is_node else None


class ConfigSynonym(NamedTuple):
    """The same setting on a lower level, and what it says there."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    name: str
    #: None for one that has no value, and for one that is secret.
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]


class ConfigChange(NamedTuple):
    name: str
    operation: ConfigOp
    value: str | None = None


async def describe_configs(
    cluster: ClusterRouter, resources: Sequence[ConfigResource]
) -> Outcomes[ConfigResource, Mapping[str, ConfigEntry]]:
    """By name, sorted. Each broker is asked about itself."""
    outcomes: dict[ConfigResource, Mapping[str, ConfigEntry] | Refused] = {}
    brokers = await _brokers_of(cluster, resources)
    for node_id, group in _by_node(resources).items():
        if node_id is not None and node_id not in brokers:
            outcomes.update(dict.fromkeys(group, _no_broker(node_id)))
            continue
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=each.type, resource_name=each.name, configuration_keys=None)
                for each in group
            ],
            include_synonyms=True,
        )
        response: DescribeConfigsResponse = await (
            cluster.send_to_any(request) if node_id is None else cluster.send_to(brokers[node_id], request)
        )
        for result in response.results:
            resource = ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)
            outcomes[resource] = refusal(result.error_code, result.error_message) or _entries(result.configs)
    return in_order(outcomes, resources)


async def alter_configs(
    cluster: ClusterRouter, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
) -> Outcomes[ConfigResource, None]:
    """All changes of a resource, or none of them. A broker checks its own first."""
    outcomes: dict[ConfigResource, Refused | None] = {}
    brokers = await _brokers_of(cluster, list(changes))
    for node_id, group in _by_node(changes).items():
        if node_id is not None and node_id not in brokers:
            outcomes.update(dict.fromkeys(group, _no_broker(node_id)))
            continue
        request = IncrementalAlterConfigsRequest(
            resources=[_alteration(resource, changes[resource]) for resource in group], validate_only=validate_only
        )
        response: IncrementalAlterConfigsResponse = await (
            change(cluster, request, lambda r: [each.error_code for each in r.responses])
            if node_id is None
            else cluster.send_to(brokers[node_id], request)
        )
        for result in response.responses:
            resource = ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)
            outcomes[resource] = refusal(result.error_code, result.error_message)
    return in_order(outcomes, changes)


async def list_config_resources(
    cluster: ClusterRouter, types: Sequence[ConfigResourceType] = ()
) -> list[ConfigResource]:
    """Those that may have settings, of these types or of all. Raises Refused."""
    request = ListConfigResourcesRequest(resource_types=list(types))
    response: ListConfigResourcesResponse = await cluster.send_to_any(request)
    check_error(response.error_code, None)
    return sorted(
        ConfigResource(ConfigResourceType(each.resource_type), each.resource_name) for each in response.config_resources
    )


def _by_node(resources: Iterable[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
    groups: dict[int | None, list[ConfigResource]] = {}
    for resource in resources:
        groups.setdefault(resource.node_id, []).append(resource)
    return groups


async def _brokers_of(cluster: ClusterRouter, resources: Sequence[ConfigResource]) -> Mapping[int, HostPort]:
    """Only where one has to be asked itself."""
    if all(resource.node_id is None for resource in resources):
        return {}
    return (await cluster.describe()).nodes


def _no_broker(node_id: int) -> Refused:
    return Refused(f"there is no broker {node_id} that runs", ErrorCode.BROKER_NOT_AVAILABLE)


def _alteration(resource: ConfigResource, changes: Sequence[ConfigChange]) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=resource.type,
        resource_name=resource.name,
        configs=[
            AlterableConfig(name=each.name, config_operation=each.operation, value=each.value) for each in changes
        ],
    )


def _entries(results: Iterable[DescribeConfigsResourceResult]) -> Mapping[str, ConfigEntry]:
    return {result.name: _entry(result) for result in sorted(results, key=lambda each: each.name)}


def _entry(result: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        result.name,
        result.value,
        ConfigSource(result.config_source),
        result.read_only,
        result.is_sensitive,
        tuple(ConfigSynonym(each.name, each.value, ConfigSource(each.source)) for each in result.synonyms),
    )
