"""A broker of the simulation: its disk, its process, and what its drivers would do.

`on` wraps whatever happens to the broker: it is dropped if the process has died since, and put off while the process is
paused; afterwards the drivers look whether there is anything to send, and the ledger looks at every replica.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.log.log_config import LogConfig
from odradek.log.manager.log_directories import open_log_dirs
from odradek.log.manager.log_manager import LogManager
from odradek.log.manager.maintenance import write_high_watermarks, write_recovery_points
from odradek.log.manager.settings import ManagerSettings
from odradek.log.manager.startup import broker_epoch_of_last_stop
from odradek.metadata.features.feature_versions import supported_features
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.loader import MetadataLoader
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.replica.broker_replicas import build_replicas
from odradek.replica.fetcher import FollowerFetcher
from odradek.replica.requests import ProduceEntry, ProduceResult
from odradek.replica.settings import ReplicaSettings
from odradek.sim.replica.controller import CLUSTER_ID
from odradek.sim.replica.follower_requests import (
    FETCH_VERSION,
    LIST_OFFSETS_VERSION,
    serve_fetch,
    serve_list_offsets,
)
from odradek.sim.world.disk import SimulatedDisk
from odradek.sim.world.disk_crash import Keep

if TYPE_CHECKING:
    from odradek.sim.replica.cluster import ReplicaCluster

SETTINGS = ReplicaSettings(replica_lag_time_max_ms=1_500, replica_fetch_wait_max_ms=200, replica_fetch_backoff_ms=100)
HEARTBEAT_MS = 400
RETRY_MS = 150
_CHECKPOINT_MS = 700


class FreeLock:
    created = False
    path = ""

    def release(self) -> None:
        pass


class SimulatedBroker:
    """The name and the methods of `MetadataPublisher` are for the loader."""

    name = "replicas"

    def __init__(self, cluster: ReplicaCluster, broker_id: int) -> None:
        self.cluster = cluster
        self.id = broker_id
        self.disk = SimulatedDisk(cluster.clock)
        self.is_alive = False
        self.is_stopping = False
        self.incarnation = 0
        self.paused_until_ms = 0
        self._tick_at_ms: int | None = None
        self._previous_epoch = -1

    # -- the process

    def start(self) -> None:
        cluster = self.cluster
        self.is_alive, self.is_stopping = True, False
        self.incarnation += 1
        self._tick_at_ms = None
        logs = self._open_logs()
        self._previous_epoch = -1 if (epoch := broker_epoch_of_last_stop(logs)) is None else epoch
        logs.load_all()
        self.manager = build_replicas(
            self.id,
            cluster.clock,
            logs,
            SETTINGS,
            report_directory=lambda topic_id, partition, directory_id: None,
            new_session_id=lambda: cluster.random.randint(1, 2**31 - 1),
        )
        self.loader = MetadataLoader()
        self.loader.add_publisher(self)
        self._batches = 0
        self._register()
        cluster.scheduler.after(_CHECKPOINT_MS, self.on(self._checkpoint))

    def _open_logs(self) -> LogManager:
        cluster = self.cluster
        opened = open_log_dirs(
            self.disk,
            ["/data"],
            cluster_id=CLUSTER_ID,
            node_id=self.id,
            new_directory_id=lambda: cluster.random.randbytes(16),
            now_ms=cluster.clock.wall_ms(),
            lock=lambda _: FreeLock(),
        )
        return LogManager(
            self.disk,
            cluster.clock,
            opened,
            LogConfig(min_insync_replicas=cluster.min_isr, segment_bytes=cluster.segment_bytes),
            settings=ManagerSettings(transaction_partition_verification_enable=False),
            new_uuid=lambda: cluster.random.randbytes(16),
        )

    def kill(self, keep: Keep) -> None:
        """`all`: the process alone; a generator: the power, and what was not synced may be gone."""
        self.is_alive = False
        self.paused_until_ms = 0
        self.disk = self.disk.crash(keep)
        self.cluster.controller.core.connection_lost(self.id, self.manager.view.broker_epoch)

    def stop(self) -> None:
        """A clean stop: the controller must let it go first."""
        self.is_stopping = True
        self.manager.metadata.begin_controlled_shutdown()

    def _stopped(self) -> None:
        self.manager.logs.shutdown(self.manager.view.broker_epoch)
        self.is_alive = False
        self.disk = self.disk.crash("all")
        self.cluster.trace(f"stopped {self.id}")

    def pause(self, until_ms: int) -> None:
        self.paused_until_ms = until_ms

    def on(self, action: Callable[[], None], incarnation: int | None = None) -> Callable[[], None]:
        """For the process as it is now, or for the one of this number."""
        incarnation = self.incarnation if incarnation is None else incarnation

        def run() -> None:
            if not self.is_alive or self.incarnation != incarnation:
                return
            if self.paused_until_ms > self.cluster.scheduler.now_ms:
                self.cluster.scheduler.at(self.paused_until_ms, run)
                return
            action()
            if self.is_alive:
                self._after()

        return run

    def _after(self) -> None:
        self._send_what_there_is()
        deadline_ms = self.manager.deadline_ms
        if self._tick_at_ms is None or deadline_ms < self._tick_at_ms:
            self._tick_at_ms = deadline_ms
            self.cluster.scheduler.at(deadline_ms, self.on(self._tick))
        self.cluster.check(self)

    def _tick(self) -> None:
        self._tick_at_ms = None
        self.manager.tick(self.cluster.scheduler.now_ms)

    def _checkpoint(self) -> None:
        """Now and then what is in memory becomes durable, as far as it goes."""
        logs, random = self.manager.logs, self.cluster.random
        if random.random() < 0.3:
            for log in logs.all_logs():
                log.flusher.flush(include_active=True)
        write_recovery_points(logs)
        write_high_watermarks(logs)
        self.cluster.scheduler.after(_CHECKPOINT_MS, self.on(self._checkpoint))

    # -- the controller

    def _ask_controller(self, request: Any, done: Callable[[Any], None], failed: Callable[[], None]) -> None:
        cluster = self.cluster
        cluster.call_controller(self, lambda reply: cluster.controller.handle(request, reply), done, failed)

    def _later(self, action: Callable[[], None], delay_ms: int = RETRY_MS) -> None:
        self.cluster.scheduler.after(delay_ms, self.on(action))

    def _register(self) -> None:
        features = [
            Feature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
            for name, levels in supported_features().items()
        ]
        request = BrokerRegistrationRequest(
            broker_id=self.id,
            cluster_id=CLUSTER_ID,
            incarnation_id=bytes((self.id + 1, self.incarnation % 256, self.incarnation // 256)).ljust(16, b"i"),
            listeners=[Listener(name="PLAINTEXT", host=f"broker{self.id}", port=9092, security_protocol=0)],
            features=features,
            log_dirs=[directory.directory_id for directory in self.manager.logs.live.values()],
            previous_broker_epoch=self._previous_epoch,
        )
        self._ask_controller(request, self._registered, lambda: self._later(self._register))

    def _registered(self, response: Any) -> None:
        if isinstance(response, ApiError):  # its predecessor has not been fenced yet
            self._later(self._register)
            return
        self.manager.view.set_broker_epoch(response.broker_epoch)
        self.cluster.trace(f"registered {self.id} {response.broker_epoch}")
        self._heartbeat()
        self._pull()

    def _heartbeat(self) -> None:
        request = BrokerHeartbeatRequest(
            broker_id=self.id,
            broker_epoch=self.manager.view.broker_epoch,
            current_metadata_offset=self.loader.image.offset,
            want_shut_down=self.is_stopping,
        )
        self._ask_controller(request, self._heard, lambda: None)
        self._later(self._heartbeat, HEARTBEAT_MS)

    def _heard(self, response: Any) -> None:
        if self.is_stopping and not isinstance(response, ApiError) and response.should_shut_down:
            self._stopped()

    def _pull(self) -> None:
        cluster, position = self.cluster, self._batches
        cluster.call_controller(
            self, lambda reply: cluster.controller.pull(position, reply), self._pulled, lambda: self._later(self._pull)
        )

    def _pulled(self, batches: Any) -> None:
        self._batches += len(batches)
        if batches:
            self.loader.load_batches(batches, batches[-1].last_offset + 1)
        self._pull()

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        self.manager.metadata.apply(delta, image)

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        pass

    # -- drivers

    def _send_what_there_is(self) -> None:
        now_ms = self.cluster.scheduler.now_ms
        outbox = self.manager.alter_partition
        request = outbox.next_request(now_ms)
        if request is not None:
            self._ask_controller(
                request,
                lambda response: self._altered(response),
                lambda: outbox.handle_failure(self.cluster.scheduler.now_ms),
            )
        elif outbox.deadline_ms is not None:
            self.cluster.scheduler.at(outbox.deadline_ms, self.on(lambda: None))
        for fetcher in list(self.manager.fetchers.by_source.values()):
            self._drive(fetcher, now_ms)

    def _altered(self, response: Any) -> None:
        outbox, now_ms = self.manager.alter_partition, self.cluster.scheduler.now_ms
        if isinstance(response, ApiError):
            outbox.handle_failure(now_ms)
        else:
            outbox.handle_response(response, now_ms)

    def _drive(self, fetcher: FollowerFetcher, now_ms: int) -> None:
        if not fetcher.is_ready(now_ms):
            if fetcher.deadline_ms is not None:
                self.cluster.scheduler.at(fetcher.deadline_ms, self.on(lambda: None))
            return
        request = fetcher.next_request(now_ms)
        if request is None:
            return
        source = self.cluster.brokers[fetcher.source_id]

        wired = self.cluster.wired

        def serve(reply: Callable[[Any], None]) -> None:
            if isinstance(request, FetchRequest):
                sent = wired(request, FETCH_VERSION)
                serve_fetch(source.manager, sent, lambda response: reply(wired(response, FETCH_VERSION)))
            else:
                sent = wired(request, LIST_OFFSETS_VERSION)
                reply(wired(serve_list_offsets(source.manager, sent), LIST_OFFSETS_VERSION))

        def done(response: Any) -> None:
            fetcher.handle_response(response, self.cluster.scheduler.now_ms)

        def failed() -> None:
            fetcher.handle_failure(self.cluster.scheduler.now_ms)

        self.cluster.call_broker(self, source, serve, done, failed)

    # -- clients

    def produce(self, tp: TopicPartition, records: bytes, acks: int, reply: Callable[[ProduceResult], None]) -> None:
        self.manager.produce.append(
            [ProduceEntry(tp, bytearray(records))], acks, 1_000, lambda results: reply(results[0])
        )
