"""Dynamic configs of topics, brokers, groups and client metrics subscriptions, which are kept in the metadata log."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from odradek.common.failures import ApiError
from odradek.controller.decision import SUCCESS, ControllerDecision, ItemResult, RequestRejected, item_result
from odradek.controller.feature_control import FeatureControl
from odradek.controller.topic_names import check_topic_name
from odradek.metadata.configs import definitions as config_schema
from odradek.metadata.configs.definitions import ConfigLayers, EffectiveConfig, definitions, effective_topic_config
from odradek.metadata.configs.groups import validate_group
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.config_types import ConfigOp, ConfigResourceType, ConfigSource
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import alter_configs_response as alter
from odradek.protocol.messages import incremental_alter_configs_response as incremental
from odradek.protocol.messages.alter_configs_request import AlterConfigsRequest
from odradek.protocol.messages.clear_elr_record import ClearElrRecord
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest

MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION = "unclean.leader.election.enable"
CORDONED_LOG_DIRS = "cordoned.log.dirs"

ALL_BROKERS = ConfigResource(ConfigResourceType.BROKER, "")

#: The length of a value on the wire is a 16-bit integer.
_VALUE_MAX = 2**15 - 1

_TRUE = "true"


#: Raises RequestRejected for a resource that does not exist.
ResourceCheck = Callable[[ConfigResource], None]


class ConfigChange(NamedTuple):
    name: str
    op: int
    value: str | None


class ConfigurationControl:
    def __init__(self, node_id: int, static: Mapping[str, str], features: FeatureControl) -> None:
        """`static` has the settings of the node's file, which apply where no dynamic config is set."""
        self._node = ConfigResource(ConfigResourceType.BROKER, str(node_id))
        self._static = static
        self._features = features
        self.settings: dict[ConfigResource, dict[str, str]] = {}
        #: Effective configs of a topic without configs of its own, cached; None while the cache is invalid.
        self._topic_defaults: dict[str, EffectiveConfig] | None = None

    # Queries

    def settings_of(self, resource: ConfigResource) -> Mapping[str, str]:
        return self.settings.get(resource, {})

    def topic_config(self, topic: str, name: str) -> str | None:
        return effective_topic_config(name, self._layers(self._topic_settings(topic))).value

    def is_unclean_election_enabled(self, topic: str) -> bool:
        return (self.topic_config(topic, UNCLEAN_LEADER_ELECTION) or "").strip().lower() == _TRUE

    def min_insync_replicas(self, topic: str) -> int:
        return int(self.topic_config(topic, MIN_INSYNC_REPLICAS) or 1)

    @property
    def static_min_insync_replicas(self) -> int:
        return int(self._static.get(MIN_INSYNC_REPLICAS) or 1)

    def effective_topic_configs(self, topic_settings: Mapping[str, str]) -> dict[str, EffectiveConfig]:
        """Return all topic configs by name. Every CreateTopics response has them, so those that topics share are
        cached."""
        if self._topic_defaults is None:
            layers, names = self._layers({}), sorted(definitions(ConfigResourceType.TOPIC))
            self._topic_defaults = {name: effective_topic_config(name, layers) for name in names}
        topic_configs = {
            name: EffectiveConfig(value, ConfigSource.DYNAMIC_TOPIC_CONFIG) for name, value in topic_settings.items()
        }
        return self._topic_defaults | topic_configs

    def _topic_settings(self, topic: str) -> Mapping[str, str]:
        return self.settings_of(ConfigResource(ConfigResourceType.TOPIC, topic))

    def _layers(self, topic_settings: Mapping[str, str]) -> ConfigLayers:
        return ConfigLayers(topic_settings, self.settings_of(self._node), self.settings_of(ALL_BROKERS), self._static)

    # Decisions

    def incremental_alter(
        self, request: IncrementalAlterConfigsRequest, check_exists: ResourceCheck
    ) -> ControllerDecision[incremental.IncrementalAlterConfigsResponse]:
        """Alter configs of each resource separately: all of its changes or none."""
        changes = [
            [ConfigChange(config.name, config.config_operation, config.value) for config in resource.configs]
            for resource in request.resources
        ]
        resources = [ConfigResource(resource.resource_type, resource.resource_name) for resource in request.resources]
        records, results = self._alter_resources(resources, changes, check_exists)
        responses = [
            incremental.AlterConfigsResourceResponse(
                error_code=result.code, error_message=result.message, resource_type=r.type, resource_name=r.name
            )
            for r, result in results.items()
        ]
        response = incremental.IncrementalAlterConfigsResponse(responses=responses)
        return ControllerDecision([] if request.validate_only else records, response, is_atomic=True)

    def legacy_alter(
        self, request: AlterConfigsRequest, check_exists: ResourceCheck
    ) -> ControllerDecision[alter.AlterConfigsResponse]:
        """Replace the configs of each resource by those of the request."""
        changes = [
            [ConfigChange(config.name, ConfigOp.SET, config.value) for config in resource.configs]
            for resource in request.resources
        ]
        resources = [ConfigResource(resource.resource_type, resource.resource_name) for resource in request.resources]
        records, results = self._alter_resources(resources, changes, check_exists, replaces=True)
        responses = [
            alter.AlterConfigsResourceResponse(
                error_code=result.code, error_message=result.message, resource_type=r.type, resource_name=r.name
            )
            for r, result in results.items()
        ]
        response = alter.AlterConfigsResponse(responses=responses)
        return ControllerDecision([] if request.validate_only else records, response, is_atomic=True)

    def _alter_resources(
        self,
        resources: Sequence[ConfigResource],
        changes: Sequence[Sequence[ConfigChange]],
        check_exists: ResourceCheck,
        *,
        replaces: bool = False,
    ) -> tuple[list[MetadataRecord], dict[ConfigResource, ItemResult]]:
        """Return the records, and the result of each resource. `replaces`: configs without a change are deleted."""
        records: list[MetadataRecord] = []
        results: dict[ConfigResource, ItemResult] = {}
        occurrences = Counter(resources)
        for resource, resource_changes in zip(resources, changes, strict=True):
            results[resource] = SUCCESS
            try:
                names = Counter(change.name for change in resource_changes)
                _check_request(resource, occurrences[resource], names)
                removed = [name for name in self.settings_of(resource) if replaces and name not in names]
                deletions = [ConfigChange(name, ConfigOp.DELETE, None) for name in removed]
                records += self.alter(resource, [*resource_changes, *deletions], check_exists)
            except ApiError as error:
                results[resource] = item_result(error)
        return [*records, *self._clear_elr_records(records)], results

    def alter(
        self,
        resource: ConfigResource,
        changes: Sequence[ConfigChange],
        check_exists: ResourceCheck | None,
    ) -> list[MetadataRecord]:
        """Return the validated records of one resource; `check_exists` is None for one that is being created."""
        current = self.settings_of(resource)
        updated = dict(current)
        records: list[MetadataRecord] = []
        for change in changes:
            value = self._new_value(resource, change, current.get(change.name))
            # A broker config is written again even if it is equal: it may be the path of a file that has changed.
            if value == current.get(change.name) and resource.type != ConfigResourceType.BROKER:
                continue
            self._check_change(resource, change.name, value, current)
            if value is None:
                updated.pop(change.name, None)
            else:
                updated[change.name] = value
            record = ConfigRecord(
                resource_type=resource.type, resource_name=resource.name, name=change.name, value=value
            )
            records.append(MetadataRecord(record, 0))
        validate(resource, updated, self._static)
        if check_exists is not None:
            check_exists(resource)
        return records

    def elr_safety_records(self) -> list[MetadataRecord]:
        """Return the records before ELR is enabled: one min.insync.replicas for all brokers must be in the log."""
        records = []
        if MIN_INSYNC_REPLICAS not in self.settings_of(ALL_BROKERS):
            records.append(_record(ALL_BROKERS, MIN_INSYNC_REPLICAS, str(self.static_min_insync_replicas)))
        for resource, settings in sorted(self.settings.items()):
            is_one_broker = resource.type == ConfigResourceType.BROKER and resource.name != ""
            if is_one_broker and MIN_INSYNC_REPLICAS in settings:
                records.append(_record(resource, MIN_INSYNC_REPLICAS, None))
        return records

    def _new_value(self, resource: ConfigResource, change: ConfigChange, current: str | None) -> str | None:
        if change.op == ConfigOp.SET:
            return change.value
        if change.op == ConfigOp.DELETE:
            return None
        if change.op not in (ConfigOp.APPEND, ConfigOp.SUBTRACT):
            raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Unknown operation type {change.op}")
        definition = definitions(resource.type).get(change.name)
        if definition is None or not definition.is_list:
            op = ConfigOp(change.op).name
            raise RequestRejected(
                ErrorCode.INVALID_CONFIG, f"Can't {op} to key {change.name} because its type is not LIST."
            )
        items = [item for item in (definition.default or "" if current is None else current).split(",") if item]
        for item in (change.value or "").split(","):
            if change.op == ConfigOp.APPEND and item not in items:
                items.append(item)
            elif change.op == ConfigOp.SUBTRACT and item in items:
                items.remove(item)
        return ",".join(items)

    def _check_change(self, resource: ConfigResource, name: str, value: str | None, current: Mapping[str, str]) -> None:
        if value is not None and len(value) > _VALUE_MAX:
            raise _invalid_config(
                "The configuration value cannot be added because it exceeds the maximum value size of "
                f"{_VALUE_MAX} bytes."
            )
        if resource.type != ConfigResourceType.BROKER:
            return
        if name == MIN_INSYNC_REPLICAS and self._features.is_elr_enabled:
            if resource.name:
                raise _invalid_config(f"Broker-level {name} cannot be altered while ELR is enabled.")
            if value is None:
                raise _invalid_config(f"Cluster-level {name} cannot be removed while ELR is enabled.")
        if name == CORDONED_LOG_DIRS and not self._features.metadata_version.is_cordoned_log_dirs_supported:
            raise _invalid_config(
                f"The {name} configuration value cannot be set because it requires metadata.version >= 4.3-IV0"
            )

    def _clear_elr_records(self, records: Sequence[MetadataRecord]) -> list[MetadataRecord]:
        """Return the records that clear ELRs: they are based on another min.insync.replicas."""
        if not self._features.is_elr_enabled:
            return []
        topics: dict[str, None] = {}
        for message, _ in records:
            if isinstance(message, ConfigRecord) and message.name == MIN_INSYNC_REPLICAS:
                if message.resource_type == ConfigResourceType.TOPIC:
                    topics[message.resource_name] = None
                elif message.resource_type == ConfigResourceType.BROKER and not message.resource_name:
                    return [MetadataRecord(ClearElrRecord(), 0)]
        return [MetadataRecord(ClearElrRecord(topic_name=topic), 0) for topic in topics]

    # Replay

    def replay(self, record: ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        if resource.type == ConfigResourceType.BROKER:
            self._topic_defaults = None
        settings = self.settings.setdefault(resource, {})
        if record.value is None:
            settings.pop(record.name, None)
        else:
            settings[record.name] = record.value
        if not settings:
            del self.settings[resource]

    def remove_topic(self, name: str) -> None:
        self.settings.pop(ConfigResource(ConfigResourceType.TOPIC, name), None)


def validate(resource: ConfigResource, settings: Mapping[str, str], static: Mapping[str, str]) -> None:
    """Validate all configs of a resource as they would be; `static` has the settings of the node's file."""
    if resource.type == ConfigResourceType.TOPIC:
        if not resource.name:
            raise RequestRejected(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_topic_name(resource.name)
        config_schema.validate_topic(settings)
    elif resource.type == ConfigResourceType.BROKER:
        check_broker_name(resource.name)
    elif resource.type == ConfigResourceType.CLIENT_METRICS:
        config_schema.validate_client_metrics(resource.name, settings)
    elif resource.type == ConfigResourceType.GROUP:
        if not resource.name:
            raise RequestRejected(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        validate_group(settings, static)
    else:
        name = ConfigResourceType(resource.type).name
        raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Unexpected resource type {name}.")


def check_broker_name(name: str) -> None:
    if not name:
        return
    try:
        broker_id = int(name)
    except ValueError:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.") from None
    if broker_id < 0:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")


def _check_request(resource: ConfigResource, occurrences: int, names: Mapping[str, int]) -> None:
    """Reject a resource that is in the request twice: it is ambiguous."""
    if resource.type not in tuple(ConfigResourceType) or resource.type == ConfigResourceType.UNKNOWN:
        raise RequestRejected(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource type {resource.type}.")
    if occurrences > 1:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, "Duplicate resource.")
    for name, count in names.items():
        if count > 1:
            raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys: {name}")


def _record(resource: ConfigResource, name: str, value: str | None) -> MetadataRecord:
    record = ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
    return MetadataRecord(record, 0)


def _invalid_config(message: str) -> RequestRejected:
    return RequestRejected(ErrorCode.INVALID_CONFIG, message)
