"""The logs of a broker, put together from its configuration, and kept to what topics and brokers are set to.

`build_logs` makes the manager; loading takes as long as the disks do and runs in threads, as many to a directory as
`num.recovery.threads.per.data.dir` says.
"""

import logging
from concurrent.futures import ThreadPoolExecutor

from odradek.common.uuids import random_uuid
from odradek.log.manager.log_directories import LogDir, OpenedDirs
from odradek.log.manager.log_manager import LogManager
from odradek.log.manager.maintenance_schedule import NEVER_MS
from odradek.log.manager.settings import ManagerSettings
from odradek.server.broker.log_config_publisher import cleaner_config, log_config
from odradek.server.config.settings import Settings
from odradek.server.node_context import Foundation

logger = logging.getLogger("odradek.log")

#: They wait for the disk nearly all the time, and a disk has less to do for many who wait together.
_CLOSING_THREADS = 16


def build_logs(base: Foundation) -> LogManager:
    """Nothing is loaded yet; see `load_logs`."""
    config, dirs = base.config, base.dirs
    live = tuple(
        LogDir(path, dirs.directory_ids[path], _NodesLock(path)) for path in config.log_dirs if path not in dirs.offline
    )
    opened = OpenedDirs(dirs.cluster_id, config.node_id, live, dict(dirs.offline))
    default = log_config(config.settings, {})
    jitter_ms = default.segment_jitter_ms
    return LogManager(
        base.files,
        base.clock,
        opened,
        default,
        settings=_manager_settings(config.settings),
        cleaner_config=cleaner_config(config.settings),
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


def close_logs(logs: LogManager, broker_epoch: int) -> None:
    """In a worker thread; it has others of its own."""
    with ThreadPoolExecutor(_CLOSING_THREADS, "log-closing") as pool:
        logs.shutdown(broker_epoch, pool.map)


def _manager_settings(settings: Settings) -> ManagerSettings:
    integer, optional = settings.whole, settings.optional_whole
    return ManagerSettings(
        log_retention_check_interval_ms=integer("log.retention.check.interval.ms"),
        log_flush_scheduler_interval_ms=optional("log.flush.scheduler.interval.ms") or NEVER_MS,
        log_flush_offset_checkpoint_interval_ms=integer("log.flush.offset.checkpoint.interval.ms"),
        log_flush_start_offset_checkpoint_interval_ms=integer("log.flush.start.offset.checkpoint.interval.ms"),
        replica_high_watermark_checkpoint_interval_ms=integer("replica.high.watermark.checkpoint.interval.ms"),
        producer_id_expiration_ms=integer("producer.id.expiration.ms"),
        transaction_max_timeout_ms=integer("transaction.max.timeout.ms"),
        transaction_partition_verification_enable=settings.boolean("transaction.partition.verification.enable"),
    )
