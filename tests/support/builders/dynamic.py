"""A node's settings, with metadata that a test writes by hand."""

from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest, ManifestKind, MetadataPublisher
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.server.config.dynamic_config import DynamicConfig
from odradek.server.config.settings import Given, Settings

OWN, ALL, OTHER = "1", "", "2"


class World:
    """Settings of the file are keywords, with `_` for `.`. Of node 1."""

    def __init__(self, **static: str) -> None:
        values = {name.replace("_", "."): value for name, value in static.items()}
        given = {name: Given(value, "server.properties:1") for name, value in values.items()}
        self.dynamic = DynamicConfig(1, Settings("server.properties", given))
        self.image: MetadataImage = EMPTY
        self.last_delta = MetadataDelta(EMPTY)
        #: In the order in which they hear of a change.
        self.publishers: list[MetadataPublisher] = [self.dynamic]

    def set(self, resource: str, name: str, value: str | None, kind: int = ConfigResourceType.BROKER) -> None:
        delta = self.last_delta = MetadataDelta(self.image)
        delta.replay(ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value))
        self.image = delta.apply(MetadataProvenance(self.image.offset + 1, 1))
        self.publish(delta, *self.publishers)

    def publish(self, delta: MetadataDelta, *publishers: MetadataPublisher) -> None:
        manifest = LoaderManifest(ManifestKind.LOG_DELTA, self.image.provenance, LeaderAndEpoch())
        for publisher in publishers:
            publisher.on_metadata_update(delta, self.image, manifest)

    @property
    def settings(self) -> Settings:
        return self.dynamic.settings
