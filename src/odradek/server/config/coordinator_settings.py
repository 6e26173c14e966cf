"""Settings of the group and transaction coordinators."""

from odradek.common.failures import InputError
from odradek.coordinator.group.consumer.assignors import ASSIGNORS
from odradek.coordinator.group.consumer.settings import ConsumerSettings, MigrationPolicy
from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.transaction.settings import TransactionSettings
from odradek.records.compression import Compression
from odradek.server.config.settings import Settings

_MINUTE_MS = 60_000


def group_settings(settings: Settings) -> GroupSettings:
    integer = settings.whole
    return GroupSettings(
        min_session_timeout_ms=integer("group.min.session.timeout.ms"),
        max_session_timeout_ms=integer("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=integer("group.initial.rebalance.delay.ms"),
        max_size=integer("group.max.size"),
        offset_metadata_max_size=integer("offset.metadata.max.bytes"),
        offsets_retention_ms=integer("offsets.retention.minutes") * _MINUTE_MS,
        offsets_retention_check_interval_ms=integer("offsets.retention.check.interval.ms"),
        offset_commit_timeout_ms=integer("offsets.commit.timeout.ms"),
        consumer=ConsumerSettings(
            session_timeout_ms=integer("group.consumer.session.timeout.ms"),
            heartbeat_interval_ms=integer("group.consumer.heartbeat.interval.ms"),
            assignment_interval_ms=integer("group.consumer.assignment.interval.ms"),
            max_size=integer("group.consumer.max.size"),
            assignors=tuple(_assignor(name) for name in settings.items("group.consumer.assignors")),
            migration_policy=MigrationPolicy(settings.text("group.consumer.migration.policy").lower()),
        ),
    )


def _assignor(name: str) -> str:
    """Return the assignor for its name or for the name of Kafka's class."""
    for assignor in ASSIGNORS:
        if name == assignor or name.lower().endswith(f".{assignor}assignor"):
            return assignor
    raise InputError(f"group.consumer.assignors: there is no assignor {name}; there are {', '.join(ASSIGNORS)}")


def offsets_compression(settings: Settings) -> Compression:
    return Compression(settings.whole("offsets.topic.compression.codec"))


def transaction_settings(settings: Settings) -> TransactionSettings:
    integer = settings.whole
    return TransactionSettings(
        max_timeout_ms=integer("transaction.max.timeout.ms"),
        transactional_id_expiration_ms=integer("transactional.id.expiration.ms"),
        abort_interval_ms=integer("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
        expiry_interval_ms=integer("transaction.remove.expired.transaction.cleanup.interval.ms"),
        is_two_phase_commit_enabled=settings.boolean("transaction.two.phase.commit.enable"),
    )
