"""The logs of a broker, put together from its configuration, and kept to what topics and brokers are set to.

`build_logs` makes the manager; loading takes as long as the disks do and runs in threads, as many to a directory as
`num.recovery.threads.per.data.dir` says.
"""

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from odradek.log.cleaner import CleanerConfig
from odradek.log.config import SETTINGS, LogConfig
from odradek.log.log_dirs import LogDir, OpenedDirs
from odradek.log.manager import LogManager
from odradek.log.manager_changes import update_default_config, update_topic_config
from odradek.log.manager_settings import ManagerSettings
from odradek.log.schedule import NEVER_MS
from odradek.metadata.config_schema import ConfigLayers, effective_topic_config
from odradek.metadata.configs_image import ConfigResource
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage
from odradek.metadata.publisher import LeaderAndEpoch, LoaderManifest
from odradek.protocol.config_kinds import ConfigResourceType
from odradek.server.foundation import Foundation
from odradek.server.settings import Settings
from odradek.server.uuids import random_uuid

logger = logging.getLogger("odradek.log")


def build_logs(base: Foundation) -> LogManager:
    """Nothing is loaded yet; see `load_logs`."""
    config, dirs = base.config, base.dirs
    live = tuple(LogDir(path, dirs.directory_ids[path], _NodesLock(path)) for path in config.log_dirs)
    opened = OpenedDirs(dirs.cluster_id, config.node_id, live, {})
    layers = ConfigLayers({}, {}, {}, config.settings.given)
    default = LogConfig.parse(effective_log_settings(layers))
    jitter_ms = default.segment_jitter_ms
    return LogManager(
        base.files,
        base.clock,
        opened,
        default,
        settings=_manager_settings(config.settings),
        cleaner_config=_cleaner_config(config.settings),
        new_uuid=random_uuid,
        roll_jitter_ms=lambda: base.random.randrange(jitter_ms) if jitter_ms else 0,
    )


class _NodesLock:
    """The node holds the lock itself, longer than the logs need it: its metadata log is in the same directory."""

    created = False

    def __init__(self, path: str) -> None:
        self.path = path

    def release(self) -> None:
        """Not ours to let go."""


def load_logs(logs: LogManager, threads_per_dir: int) -> None:
    """In a worker thread; it has others of its own."""
    with ThreadPoolExecutor(threads_per_dir * max(1, len(logs.live)), "log-loading") as pool:
        logs.load_all(pool.map)


def effective_log_settings(layers: ConfigLayers) -> dict[str, str]:
    """By the names of topic settings, as far as anything but Kafka's default holds."""
    found = {name: effective_topic_config(name, layers).value for name in SETTINGS}
    return {name: value for name, value in found.items() if value is not None}


def _manager_settings(settings: Settings) -> ManagerSettings:
    whole, optional = settings.whole, settings.optional_whole
    return ManagerSettings(
        log_retention_check_interval_ms=whole("log.retention.check.interval.ms"),
        log_flush_scheduler_interval_ms=optional("log.flush.scheduler.interval.ms") or NEVER_MS,
        log_flush_offset_checkpoint_interval_ms=whole("log.flush.offset.checkpoint.interval.ms"),
        log_flush_start_offset_checkpoint_interval_ms=whole("log.flush.start.offset.checkpoint.interval.ms"),
        replica_high_watermark_checkpoint_interval_ms=whole("replica.high.watermark.checkpoint.interval.ms"),
        producer_id_expiration_ms=whole("producer.id.expiration.ms"),
        transaction_max_timeout_ms=whole("transaction.max.timeout.ms"),
        transaction_partition_verification_enable=settings.boolean("transaction.partition.verification.enable"),
    )


def _cleaner_config(settings: Settings) -> CleanerConfig:
    prefix = "log.cleaner."
    return CleanerConfig(
        threads=settings.whole(prefix + "threads"),
        dedupe_buffer_size=settings.whole(prefix + "dedupe.buffer.size"),
        io_buffer_size=settings.whole(prefix + "io.buffer.size"),
        io_buffer_load_factor=settings.real(prefix + "io.buffer.load.factor"),
        io_max_bytes_per_second=settings.real(prefix + "io.max.bytes.per.second"),
        backoff_ms=settings.whole(prefix + "backoff.ms"),
        enable=settings.boolean(prefix + "enable"),
    )


class LogConfigs:
    """A publisher: what is set for topics and brokers holds for the logs from then on. Comes before the replicas."""

    name = "LogConfigs"

    def __init__(self, logs: LogManager, node_id: int, static: Mapping[str, str]) -> None:
        self._logs = logs
        self._own = ConfigResource(ConfigResourceType.BROKER, str(node_id))
        self._all_brokers = ConfigResource(ConfigResourceType.BROKER, "")
        self._static = static

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        if delta.configs is None:
            return
        changed = delta.configs.changed
        if self._own in changed or self._all_brokers in changed:
            update_default_config(self._logs, LogConfig.parse(effective_log_settings(self._layers(image, {}))))
            topics: Iterable[ConfigResource] = list(image.configs.resources)
        else:
            topics = list(changed)
        for resource in topics:
            if resource.type == ConfigResourceType.TOPIC:
                self._update_topic(image, resource)

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """Nothing of it is ours."""

    def _update_topic(self, image: MetadataImage, topic: ConfigResource) -> None:
        settings = image.configs.settings(topic)
        config = LogConfig.parse(effective_log_settings(self._layers(image, settings))) if settings else None
        update_topic_config(self._logs, topic.name, config)

    def _layers(self, image: MetadataImage, topic: Mapping[str, str]) -> ConfigLayers:
        return ConfigLayers(
            topic=topic,
            node=image.configs.settings(self._own),
            cluster=image.configs.settings(self._all_brokers),
            static=self._static,
        )
