"""Features of a cluster besides `metadata.version`: their levels, and the defaults for a new cluster.

Level 0 is "off" and is not kept in an image. A level may depend on another feature at some level; `kraft.version` is
kept by Raft in its own control records and is only listed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from odradek.metadata.features import metadata_version
from odradek.metadata.features.metadata_version import LATEST_PRODUCTION, MINIMUM_VERSION, MetadataVersion

KRAFT_VERSION = "kraft.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Levels that a node supports, both ends included."""

    min: int
    max: int

    def __contains__(self, level: object) -> bool:
        return isinstance(level, int) and self.min <= level <= self.max

    def __str__(self) -> str:
        return f"{self.min}-{self.max}"


@dataclass(frozen=True, slots=True)
class FeatureLevel:
    level: int
    #: A cluster formatted at this metadata version or later has the level from the start.
    bootstrap: MetadataVersion
    #: Minimum levels of other features.
    depends_on: Mapping[str, int] = field(default_factory=dict)


_OFF = FeatureLevel(0, MINIMUM_VERSION)

#: In Kafka's order.
FEATURES: Mapping[str, tuple[FeatureLevel, ...]] = {
    KRAFT_VERSION: (_OFF, FeatureLevel(1, MetadataVersion.IBP_3_9_IV0)),
    TRANSACTION_VERSION: (
        _OFF,
        FeatureLevel(1, MetadataVersion.IBP_4_0_IV2),
        FeatureLevel(2, MetadataVersion.IBP_4_0_IV2),
    ),
    GROUP_VERSION: (_OFF, FeatureLevel(1, MetadataVersion.IBP_4_0_IV0)),
    ELIGIBLE_LEADER_REPLICAS_VERSION: (
        _OFF,
        FeatureLevel(
            1, MetadataVersion.IBP_4_1_IV0, depends_on={metadata_version.FEATURE_NAME: MetadataVersion.IBP_4_0_IV1}
        ),
    ),
    SHARE_VERSION: (_OFF, FeatureLevel(1, MetadataVersion.IBP_4_2_IV0)),
    STREAMS_VERSION: (_OFF, FeatureLevel(1, MetadataVersion.IBP_4_2_IV1)),
}

#: Features whose requests this software does not serve: share groups and streams groups. A new cluster does not enable
#: them, so that clients do not consider them available. Their levels are supported all the same: a cluster that Apache
#: Kafka has formatted has them at 1, and a node must support the finalized levels to register in it.
UNSERVED_FEATURES = (SHARE_VERSION, STREAMS_VERSION)


def supported_features() -> dict[str, VersionRange]:
    """Return the levels that this node registers with."""
    ranges = {metadata_version.FEATURE_NAME: VersionRange(MINIMUM_VERSION, LATEST_PRODUCTION)}
    for name, levels in FEATURES.items():
        ranges[name] = VersionRange(levels[0].level, levels[-1].level)
    return ranges


def default_level(name: str, version: MetadataVersion) -> int:
    """Return the level of a feature in a cluster newly formatted at `version`."""
    if name in UNSERVED_FEATURES:
        return 0
    reached = 0
    for level in FEATURES[name]:
        if level.bootstrap > version:
            break
        reached = level.level
    return reached


def unmet_dependency(name: str, level: int, levels: Mapping[str, int]) -> str | None:
    """Return why `name` cannot be at `level` with these levels of the other features; None if it can."""
    if name not in FEATURES:
        return f"Feature {name} not found."
    entry = next((entry for entry in FEATURES.get(name, ()) if entry.level == level), None)
    if entry is None:
        return f"No feature:{name} with feature level {level}"
    if level >= 1 and levels.get(metadata_version.FEATURE_NAME, 0) < MINIMUM_VERSION:
        return (
            f"{name} could not be set to {level} because it depends on metadata.version={int(MINIMUM_VERSION)} "
            f"({MINIMUM_VERSION.version})"
        )
    for dependency, min_level in entry.depends_on.items():
        if levels.get(dependency, 0) < min_level:
            return f"{name} could not be set to {level} because it depends on {dependency} level {int(min_level)}"
    return None
