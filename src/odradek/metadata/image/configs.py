"""Dynamic configs of topics, brokers, groups and other resources."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.metadata.image.immutable_map import MapDelta, SharedMap
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.messages.config_record import ConfigRecord


class ConfigResource(NamedTuple):
    """Owner of configs. A broker's name is its id, and the empty name means all brokers."""

    type: int
    name: str


Settings = SharedMap[str, str]


@dataclass(frozen=True, slots=True)
class ConfigsImage:
    #: Only resources with at least one setting.
    resources: SharedMap[ConfigResource, Settings] = field(default_factory=SharedMap)

    @property
    def is_empty(self) -> bool:
        return not self.resources

    def settings(self, resource: ConfigResource) -> Mapping[str, str]:
        settings: Mapping[str, str] = self.resources.get(resource, _NONE)
        return settings

    def records(self) -> Iterator[MetadataRecord]:
        for (resource_type, resource_name), settings in sorted(self.resources.items()):
            for name, value in sorted(settings.items()):
                record = ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)
                yield MetadataRecord(record, 0)


_NONE: Settings = SharedMap()


class ConfigsDelta:
    def __init__(self, image: ConfigsImage) -> None:
        self.image = image
        self.changed: dict[ConfigResource, MapDelta[str, str]] = {}

    def replay(self, record: ConfigRecord) -> None:
        settings = self._resource(ConfigResource(record.resource_type, record.resource_name))
        if record.value is None:
            settings.remove(record.name)
        else:
            settings.put(record.name, record.value)

    def remove_topic(self, name: str) -> None:
        """Remove the settings of a removed topic, also those that were set within the delta."""
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        if resource in self.image.resources or resource in self.changed:
            settings = self._resource(resource)
            settings.changes.clear()
            settings.finish_snapshot()

    def finish_snapshot(self) -> None:
        for resource in self.image.resources:
            self._resource(resource).finish_snapshot()

    def apply(self) -> ConfigsImage:
        changes = {resource: settings.apply() or None for resource, settings in self.changed.items()}
        return ConfigsImage(self.image.resources.changed(changes))

    def _resource(self, resource: ConfigResource) -> MapDelta[str, str]:
        settings = self.changed.get(resource)
        if settings is None:
            settings = self.changed[resource] = MapDelta(self.image.resources.get(resource, _NONE))
        return settings
