"""Features of a cluster besides `metadata.version`: their levels, and from when a new cluster has them.

Level 0 is "off" and is not kept in an image. A level may need another feature at some level; `kraft.version` is kept
by Raft in its own control records and only listed here.
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
    """Levels that a node can work at, both ends included."""

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
    #: What must be at least at which level.
    needs: Mapping[str, int] = field(default_factory=dict)


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
            1, MetadataVersion.IBP_4_1_IV0, needs={metadata_version.FEATURE_NAME: MetadataVersion.IBP_4_0_IV1}
        ),
    ),
    SHARE_VERSION: (_OFF, FeatureLevel(1, MetadataVersion.IBP_4_2_IV0)),
    STREAMS_VERSION: (_OFF, FeatureLevel(1, MetadataVersion.IBP_4_2_IV1)),
}

#: Features whose requests no node of ours serves: share groups and streams groups. A new cluster does not have them, so
#: that nobody takes them for available. Their levels are supported all the same: a cluster that Apache Kafka has
#: formatted has them at 1, and no node may register in it that does not support the finalized level.
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


def unmet_need(name: str, level: int, levels: Mapping[str, int]) -> str | None:
    """Why `name` cannot be at `level` beside the given levels of the others; None if it can."""
    if name not in FEATURES:
        return f"Feature {name} not found."
    entry = next((known for known in FEATURES.get(name, ()) if known.level == level), None)
    if entry is None:
        return f"No feature:{name} with feature level {level}"
    at = levels.get(metadata_version.FEATURE_NAME, 0)
    if level >= 1 and at < MINIMUM_VERSION:
        return (
            f"{name} could not be set to {level} because it depends on metadata.version={int(MINIMUM_VERSION)} "
            f"({MINIMUM_VERSION.version})"
        )
    for needed, least in entry.needs.items():
        if levels.get(needed, 0) < least:
            return f"{name} could not be set to {level} because it depends on {needed} level {int(least)}"
    return None
