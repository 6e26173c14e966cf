"""Settings of topics, brokers and groups, and levels of brokers' loggers: describe and change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, broker_not_running
from odradek.client.errors import check_error, refusal
from odradek.common.addresses import HostPort
from odradek.protocol.config_types import ConfigOp, ConfigResourceType, ConfigSource
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
    """Owner of settings. The name of a broker is its id; without a name it stands for the defaults of all brokers."""

    type: ConfigResourceType
    name: str

    @property
    def node_id(self) -> int | None:
        """Id of the broker that has to handle the request; None if any broker can."""
        is_node = self.type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) and self.name.isdecimal()
        return int(self.name) if is_node else None


class ConfigSynonym(NamedTuple):
    """Same setting on another level, with its value there."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """Value of a setting, and the level it comes from."""

    name: str
    #: None if the setting has no value, or is sensitive.
    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]


class ConfigChange(NamedTuple):
    """Change of one setting."""

    name: str
    operation: ConfigOp
    value: str | None = None


class ConfigOperations:
    """Describes and changes settings. Requests about one broker go to that broker."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(
        self, resources: Sequence[ConfigResource]
    ) -> Outcomes[ConfigResource, Mapping[str, ConfigEntry]]:
        """Return the settings of each resource, sorted by name."""
        outcomes: Outcomes[ConfigResource, Mapping[str, ConfigEntry]] = Outcomes()
        brokers = await self._brokers_of(resources)
        for node_id, group in _by_node(resources).items():
            if node_id is not None and node_id not in brokers:
                outcomes.update(dict.fromkeys(group, broker_not_running(node_id)))
                continue
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=resource.type, resource_name=resource.name, configuration_keys=None
                    )
                    for resource in group
                ],
                include_synonyms=True,
            )
            response: DescribeConfigsResponse = await (
                self._router.send_to_any(request)
                if node_id is None
                else self._router.send_to(brokers[node_id], request)
            )
            for result in response.results:
                resource = ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)
                outcomes[resource] = refusal(result.error_code, result.error_message) or _entries(result.configs)
        return outcomes.in_order_of(resources)

    async def alter(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]], *, validate_only: bool = False
    ) -> Outcomes[ConfigResource, None]:
        """Make all changes of a resource, or none of them."""
        outcomes: Outcomes[ConfigResource, None] = Outcomes()
        brokers = await self._brokers_of(list(changes))
        for node_id, group in _by_node(changes).items():
            if node_id is not None and node_id not in brokers:
                outcomes.update(dict.fromkeys(group, broker_not_running(node_id)))
                continue
            request = IncrementalAlterConfigsRequest(
                resources=[_alteration(resource, changes[resource]) for resource in group], validate_only=validate_only
            )
            response: IncrementalAlterConfigsResponse = await (
                self._router.send_change(request, lambda r: [result.error_code for result in r.responses])
                if node_id is None
                else self._router.send_to(brokers[node_id], request)
            )
            for result in response.responses:
                resource = ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)
                outcomes[resource] = refusal(result.error_code, result.error_message)
        return outcomes.in_order_of(changes)

    async def list_resources(self, types: Sequence[ConfigResourceType] = ()) -> list[ConfigResource]:
        """Return the resources of these types, or of all types, that can have settings. Raises Refused."""
        request = ListConfigResourcesRequest(resource_types=list(types))
        response: ListConfigResourcesResponse = await self._router.send_to_any(request)
        check_error(response.error_code, None)
        return sorted(
            ConfigResource(ConfigResourceType(resource.resource_type), resource.resource_name)
            for resource in response.config_resources
        )

    async def _brokers_of(self, resources: Sequence[ConfigResource]) -> Mapping[int, HostPort]:
        """Return the addresses of brokers, if any of the resources needs one."""
        if all(resource.node_id is None for resource in resources):
            return {}
        return (await self._router.describe()).nodes


def _by_node(resources: Iterable[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
    groups: dict[int | None, list[ConfigResource]] = {}
    for resource in resources:
        groups.setdefault(resource.node_id, []).append(resource)
    return groups


def _alteration(resource: ConfigResource, changes: Sequence[ConfigChange]) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=resource.type,
        resource_name=resource.name,
        configs=[
            AlterableConfig(name=change.name, config_operation=change.operation, value=change.value)
            for change in changes
        ],
    )


def _entries(results: Iterable[DescribeConfigsResourceResult]) -> Mapping[str, ConfigEntry]:
    return {result.name: _entry(result) for result in sorted(results, key=lambda result: result.name)}


def _entry(result: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        result.name,
        result.value,
        ConfigSource(result.config_source),
        result.read_only,
        result.is_sensitive,
        tuple(ConfigSynonym(synonym.name, synonym.value, ConfigSource(synonym.source)) for synonym in result.synonyms),
    )
