"""Settings of groups and their offsets. Names and defaults are Kafka's."""

from dataclasses import dataclass, field

from odradek.coordinator.group.consumer.settings import ConsumerSettings

_MINUTE_MS = 60_000
_MAX_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class GroupSettings:
    #: `group.min.session.timeout.ms` and `group.max.session.timeout.ms`
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 30 * _MINUTE_MS
    #: `group.initial.rebalance.delay.ms`
    initial_rebalance_delay_ms: int = 3_000
    #: `group.max.size`
    max_size: int = _MAX_INT
    #: `offset.metadata.max.bytes`; Kafka counts characters.
    offset_metadata_max_size: int = 4_096
    #: `offsets.retention.minutes` and `offsets.retention.check.interval.ms`
    offsets_retention_ms: int = 7 * 24 * 60 * _MINUTE_MS
    offsets_retention_check_interval_ms: int = 10 * _MINUTE_MS
    #: `offsets.commit.timeout.ms`
    offset_commit_timeout_ms: int = 5_000
    #: How long a member that just came may wait for its first join to end. It cannot send heartbeats yet, and those
    #: that gave up meanwhile would hold up the group; whoever is still there asks again. Fixed in Kafka, too.
    new_member_join_timeout_ms: int = 5 * _MINUTE_MS
    #: `group.consumer.*`
    consumer: ConsumerSettings = field(default_factory=ConsumerSettings)
