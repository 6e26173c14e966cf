"""Settings of consumer groups: the node's, and above them those of a single group (resource type GROUP)."""

from dataclasses import dataclass, replace
from enum import Enum

from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.config_types import ConfigResourceType


class MigrationPolicy(Enum):
    """Policy for a group with members to change its protocol; an empty group always may."""

    DISABLED = "disabled"
    DOWNGRADE = "downgrade"
    UPGRADE = "upgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def may_upgrade(self) -> bool:
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def may_downgrade(self) -> bool:
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    #: `group.consumer.session.timeout.ms`
    session_timeout_ms: int = 45_000
    #: `group.consumer.heartbeat.interval.ms`
    heartbeat_interval_ms: int = 5_000
    #: `group.consumer.assignment.interval.ms`
    assignment_interval_ms: int = 1_000
    #: `group.consumer.max.size`
    max_size: int = 2**31 - 1
    #: `group.consumer.assignors`; the first is for those who have no wish.
    assignors: tuple[str, ...] = ("uniform", "range")
    #: `group.consumer.migration.policy`
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL


_OF_GROUP = {
    "consumer.session.timeout.ms": "session_timeout_ms",
    "consumer.heartbeat.interval.ms": "heartbeat_interval_ms",
    "consumer.assignment.interval.ms": "assignment_interval_ms",
}


def settings_of(defaults: ConsumerSettings, image: MetadataImage, group_id: str) -> ConsumerSettings:
    overrides = image.configs.settings(ConfigResource(ConfigResourceType.GROUP, group_id))
    changes = {field: int(overrides[name]) for name, field in _OF_GROUP.items() if name in overrides}
    return replace(defaults, **changes) if changes else defaults  # type: ignore[arg-type]
