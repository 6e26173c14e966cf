"""Dynamic settings of logs and replicas: those of topics, and those of brokers.

`LogConfigs` is a publisher, since a topic's settings come with the image; it comes after `DynamicConfig` and before the
replicas. The rest is subscribed to.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from odradek.common.failures import ApiError
from odradek.common.tables.topic_settings import TOPIC_SETTINGS
from odradek.log.cleaner.cleaner import CleanerConfig
from odradek.log.log_config import LogConfig
from odradek.log.manager.log_changes import update_default_config, update_topic_config
from odradek.log.manager.log_manager import LogManager
from odradek.metadata.configs.definitions import ConfigLayers, effective_topic_config
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.protocol.config_types import ConfigResourceType
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.server.config.dynamic_config import DynamicConfig
from odradek.server.config.settings import Settings

logger = logging.getLogger("odradek.log")

_CLEANER = "log.cleaner."
_CLEANER_NAMES = tuple(
    _CLEANER + name
    for name in (
        *("threads", "dedupe.buffer.size", "io.buffer.size", "io.buffer.load.factor"),
        *("io.max.bytes.per.second", "backoff.ms"),
    )
)
_CORDONED, _ALL_DIRS = "cordoned.log.dirs", "*"
_EXPIRATION, _VERIFICATION = "producer.id.expiration.ms", "transaction.partition.verification.enable"
_LEADER_RATE, _FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
_MOVE_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


def log_config(settings: Settings, topic: Mapping[str, str]) -> LogConfig:
    """Return the log config of a topic with these overrides. Raise ApiError if they contradict the broker's
    settings."""
    layers = ConfigLayers(topic, {}, {}, settings.given)
    values = {name: effective_topic_config(name, layers).value for name in TOPIC_SETTINGS}
    return LogConfig.parse({name: value for name, value in values.items() if value is not None})


def cleaner_config(settings: Settings) -> CleanerConfig:
    return CleanerConfig(
        threads=settings.whole(_CLEANER + "threads"),
        dedupe_buffer_size=settings.whole(_CLEANER + "dedupe.buffer.size"),
        io_buffer_size=settings.whole(_CLEANER + "io.buffer.size"),
        io_buffer_load_factor=settings.real(_CLEANER + "io.buffer.load.factor"),
        io_max_bytes_per_second=settings.real(_CLEANER + "io.max.bytes.per.second"),
        backoff_ms=settings.whole(_CLEANER + "backoff.ms"),
        enable=settings.boolean(_CLEANER + "enable"),
    )


class LogConfigs:
    """Publisher that applies the settings of topics and brokers to the logs."""

    name = "LogConfigs"

    def __init__(self, logs: LogManager, dynamic: DynamicConfig) -> None:
        self._logs = logs
        self._dynamic = dynamic
        #: What was looked at; nothing yet, since a node may start long after something was set.
        self._seen: Settings | None = None

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        if delta.configs is None:
            return
        # A topic that has just lost its last setting is among the changed ones only.
        changed = dict.fromkeys(delta.configs.changed)
        for resource in {**dict.fromkeys(image.configs.resources), **changed} if self._update_default() else changed:
            if resource.type == ConfigResourceType.TOPIC:
                self._update_topic(resource.name, image.configs.settings(resource))

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """Nothing of it is ours."""

    def _update_default(self) -> bool:
        """Apply the brokers' defaults; return True if they have changed, and with them the configs of all topics."""
        if self._dynamic.settings is self._seen:
            return False
        self._seen = self._dynamic.settings
        try:
            default = log_config(self._seen, {})
        except ApiError as error:
            logger.error("the brokers' settings for logs cannot be applied: %s", error)
            return False
        if default == self._logs.default_config:
            return False
        update_default_config(self._logs, default)
        return True

    def _update_topic(self, topic: str, settings: Mapping[str, str]) -> None:
        try:
            config = log_config(self._dynamic.settings, settings) if settings else None
        except ApiError as error:
            logger.error("the settings of topic %s cannot be applied: %s", topic, error)
        else:
            update_topic_config(self._logs, topic, config)


def follow_settings(dynamic: DynamicConfig, manager: BrokerReplicas) -> None:
    """Keep directories, cleaner, memory of producers and limits of copying to what is set."""

    def clean(settings: Settings) -> None:
        manager.logs.cleaner.reconfigure(cleaner_config(settings))

    def remember(settings: Settings) -> None:
        expiration_ms, is_verified = settings.whole(_EXPIRATION), settings.boolean(_VERIFICATION)
        logs = manager.logs
        logs.settings = replace(
            logs.settings,
            producer_id_expiration_ms=expiration_ms,
            transaction_partition_verification_enable=is_verified,
        )
        for log in logs.all_logs():
            log.producers.expiration_ms, log.producers.verification_enabled = expiration_ms, is_verified

    def limit(settings: Settings) -> None:
        manager.leader_quota.set_rate(_rate(settings, _LEADER_RATE))
        manager.follower_quota.set_rate(_rate(settings, _FOLLOWER_RATE))
        manager.log_dir_moves.quota.set_rate(_rate(settings, _MOVE_RATE))

    def cordon(settings: Settings) -> None:
        cordoned = settings.items(_CORDONED)
        manager.logs.cordoned = tuple(path for path in manager.logs.live if path in cordoned or _ALL_DIRS in cordoned)

    dynamic.subscribe((_CORDONED,), cordon)
    dynamic.subscribe(_CLEANER_NAMES, clean)
    dynamic.subscribe((_EXPIRATION, _VERIFICATION), remember)
    dynamic.subscribe((_LEADER_RATE, _FOLLOWER_RATE, _MOVE_RATE), limit)


def _rate(settings: Settings, name: str) -> int | None:
    """None where nobody set it: there is no limit, and nothing is measured."""
    return settings.whole(name) if settings.is_given(name) else None
