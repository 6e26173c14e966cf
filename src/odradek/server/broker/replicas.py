"""The data of a broker, put together from its configuration: logs, replicas, and what drives them.

Loading comes first and takes as long as the disks do; only then do the replicas hear of the metadata. At the end every
log is flushed and closed, and the stop is marked as clean.
"""

import asyncio
import logging
import os
from collections.abc import Callable

from odradek.api.dispatch.context import Services
from odradek.client.net.channel import ChannelConfig
from odradek.common.failures import Fault
from odradek.common.ids import TopicPartition
from odradek.log.manager.log_manager import LogManager
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.topics import TopicImage
from odradek.metadata.publishing.loader import MetadataLoader
from odradek.replica.broker_replicas import BrokerReplicas, build_replicas
from odradek.replica.replication_quota import QuotaWindows
from odradek.replica.settings import ReplicaSettings
from odradek.server.broker.log_config_publisher import LogConfigs, follow_settings
from odradek.server.broker.logs import build_logs, close_logs, load_logs
from odradek.server.config.server_config import ServerConfig
from odradek.server.controller.quorum import QuorumPart
from odradek.server.drivers.background_tasks import BackgroundTasks
from odradek.server.drivers.directory_assignment_task import DirectoryAssignments
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.drivers.log_dir_move_task import DirMoveTask
from odradek.server.drivers.log_maintenance import LogJobs
from odradek.server.drivers.producer_id_task import ProducerIds
from odradek.server.drivers.replica_driver import ReplicaDriver
from odradek.server.links.controller_channel import ControllerChannel
from odradek.server.node_context import Foundation

logger = logging.getLogger("odradek.replica")

_RACK_AWARE = "RackAwareReplicaSelector"
_SESSION_IDS = 2**31 - 1


class ReplicaPart:
    def __init__(
        self,
        base: Foundation,
        quorum: QuorumPart,
        broker_epoch: Callable[[], int],
        on_dir_failed: Callable[[bytes], None],
        fatal: FatalHandler,
    ) -> None:
        config = self._config = base.config
        self._clock = base.clock
        self._random = base.random
        self._dynamic = base.dynamic
        self._directory_ids = base.dirs.directory_ids
        self._broker_epoch = broker_epoch
        self._on_dir_failed = on_dir_failed
        self._fatal = fatal
        self._tasks = BackgroundTasks(fatal)
        self._loader: MetadataLoader = quorum.loader
        self.logs: LogManager = build_logs(base)
        self.manager: BrokerReplicas
        self.driver: ReplicaDriver
        self._channel = ControllerChannel(
            quorum.driver, "alter-partition", ChannelConfig(client_id=str(config.node_id))
        )
        self.producer_ids = ProducerIds(config.node_id, broker_epoch, self._channel)
        self._assignments = DirectoryAssignments(config.node_id, broker_epoch, self._channel)
        self._dir_moves: DirMoveTask
        self._is_started = False

    async def start(self, services: Services) -> None:
        """Load, and begin to follow the metadata."""
        threads = self._config.settings.whole("num.recovery.threads.per.data.dir")
        started_ms = self._clock.monotonic_ms()
        await asyncio.to_thread(load_logs, self.logs, threads)
        elapsed_ms = self._clock.monotonic_ms() - started_ms
        logger.info(
            "%d logs in %d directories loaded in %d ms", len(self.logs.current), len(self.logs.live), elapsed_ms
        )
        self.manager = build_replicas(
            self._config.node_id,
            self._clock,
            self.logs,
            replica_settings(self._config),
            report_directory=self._assignments.tell,
            new_session_id=lambda: self._random.randrange(1, _SESSION_IDS),
        )
        self.manager.failures.on_directory_failed(self._on_dir_failed)
        self._assignments.on_accepted = self._directory_accepted
        self._dir_moves = DirMoveTask(self.manager.log_dir_moves, self.logs, self._fatal)
        self.driver = ReplicaDriver(
            self.manager, self._config, self._channel, self._broker_epoch, self._clock, self._fatal
        )
        self.logs.on_offline(self._dir_went_offline)
        self._report_failed_dirs()
        services.replicas = self.manager
        services.began_to_wait = self.driver.set_timer
        services.new_producer_id = self.producer_ids.next_id
        services.producer_ids_at_hand = self.producer_ids.at_hand
        services.disk_space = _disk_space
        self._loader.add_publisher(LogConfigs(self.logs, self._dynamic))
        follow_settings(self._dynamic, self.manager)
        self._loader.add_publisher(self.driver)
        # It ends by itself only if no log directory is left.
        self._tasks.start(LogJobs(self.logs, self._clock).run())
        self._is_started = True

    def controller_answered(self, sent_ms: int, is_fenced: bool) -> None:
        """A controller has answered a heartbeat of this broker."""
        self.manager.contact.heartbeat_acknowledged(sent_ms, is_fenced=is_fenced)

    def applied_image(self) -> MetadataImage:
        """What the controller may believe that this broker has done."""
        return self.driver.applied_image

    def _directory_accepted(self, topic_id: bytes, partition: int, directory_id: bytes) -> None:
        topic: TopicImage | None = self.manager.view.image.topics.by_id.get(topic_id)
        if topic is not None:
            self.manager.log_dir_moves.assignment_accepted(TopicPartition(topic.name, partition), directory_id)

    def _dir_went_offline(self, path: str, _: tuple[TopicPartition, ...]) -> None:
        """Replicas of other directories could go on, but not a node without its metadata log."""
        if path == self._config.metadata_log_dir:
            self._fatal(Fault(f"{path} has failed, and the metadata log is in it"))

    def _report_failed_dirs(self) -> None:
        """Report the directories that failed while they were loaded: the broker registers with them."""
        for path in self.logs.offline:
            directory_id = self._directory_ids.get(path)
            if directory_id is not None:
                self._on_dir_failed(directory_id)
                self._dir_went_offline(path, ())

    async def close(self) -> None:
        if not self._is_started:
            return
        await self._tasks.close()
        await self._dir_moves.close()
        await self.driver.close()
        await self.producer_ids.close()
        await self._assignments.close()
        await self._channel.close()
        await asyncio.to_thread(close_logs, self.logs, self._broker_epoch())


def replica_settings(config: ServerConfig) -> ReplicaSettings:
    whole, selector = config.settings.whole, config.settings.optional_text("replica.selector.class") or ""
    return ReplicaSettings(
        replica_lag_time_max_ms=whole("replica.lag.time.max.ms"),
        replica_fetch_wait_max_ms=whole("replica.fetch.wait.max.ms"),
        replica_fetch_min_bytes=whole("replica.fetch.min.bytes"),
        replica_fetch_max_bytes=whole("replica.fetch.max.bytes"),
        replica_fetch_response_max_bytes=whole("replica.fetch.response.max.bytes"),
        replica_fetch_backoff_ms=whole("replica.fetch.backoff.ms"),
        max_incremental_fetch_session_cache_slots=whole("max.incremental.fetch.session.cache.slots"),
        broker_session_timeout_ms=whole("broker.session.timeout.ms"),
        is_rack_aware=selector.endswith(_RACK_AWARE),
        replication_quota_windows=_quota_windows(config, "replication.quota.window"),
        dir_move_quota_windows=_quota_windows(config, "alter.log.dirs.replication.quota.window"),
    )


def _quota_windows(config: ServerConfig, prefix: str) -> QuotaWindows:
    whole = config.settings.whole
    return QuotaWindows(whole(f"{prefix}.num"), whole(f"{prefix}.size.seconds") * 1_000)


def _disk_space(path: str) -> tuple[int, int]:
    found = os.statvfs(path)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
