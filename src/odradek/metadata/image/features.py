"""Finalized features: `metadata.version` and the levels of the others."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from odradek.common.failures import Fault
from odradek.metadata.features import metadata_version
from odradek.metadata.features.feature_versions import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION
from odradek.metadata.features.metadata_version import MINIMUM_VERSION, MetadataVersion
from odradek.metadata.image.immutable_map import MapDelta, SharedMap
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord


@dataclass(frozen=True, slots=True)
class FeaturesImage:
    #: None only before the first record of a cluster.
    metadata_version: MetadataVersion | None = None
    #: Levels above 0 of the other features.
    finalized_levels: SharedMap[str, int] = field(default_factory=SharedMap)

    @property
    def is_empty(self) -> bool:
        return self.metadata_version is None and not self.finalized_levels

    @property
    def is_elr_enabled(self) -> bool:
        return self.level(ELIGIBLE_LEADER_REPLICAS_VERSION) >= 1

    def level(self, name: str) -> int:
        if name == metadata_version.FEATURE_NAME:
            return self.metadata_version or 0
        level: int = self.finalized_levels.get(name, 0)
        return level

    def records(self, options: WriterOptions) -> Iterator[MetadataRecord]:
        """Yield metadata.version first: it determines how to read the records after it."""
        yield _level_record(metadata_version.FEATURE_NAME, options.metadata_version)
        for name, level in sorted(self.finalized_levels.items()):
            yield _level_record(name, level)


class FeaturesDelta:
    def __init__(self, image: FeaturesImage) -> None:
        self.image = image
        self.metadata_version_change: MetadataVersion | None = None
        self.levels = MapDelta(image.finalized_levels)

    def replay(self, record: FeatureLevelRecord) -> None:
        if record.name == metadata_version.FEATURE_NAME:
            self.metadata_version_change = supported_version(record.feature_level)
        elif record.name == KRAFT_VERSION:
            pass  # kept by Raft; such a record was once written here by mistake
        elif record.feature_level == 0:
            self.levels.remove(record.name)
        else:
            self.levels.put(record.name, record.feature_level)

    def finish_snapshot(self) -> None:
        self.levels.finish_snapshot()

    def apply(self) -> FeaturesImage:
        version = self.metadata_version_change or self.image.metadata_version
        return FeaturesImage(version, self.levels.apply())


def supported_version(level: int) -> MetadataVersion:
    """Return the metadata.version of a level. Raises Fault for one that this software does not support."""
    try:
        return MetadataVersion(level)
    except ValueError:
        raise Fault(
            f"metadata.version {level} is not supported by this software (minimum {MINIMUM_VERSION.version}): "
            "change it with the software that wrote it before changing the software"
        ) from None


def _level_record(name: str, level: int) -> MetadataRecord:
    return MetadataRecord(FeatureLevelRecord(name=name, feature_level=int(level)), 0)
