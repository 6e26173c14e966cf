"""One node, whole: its parts put together, started in order, and stopped in the reverse order.

    node = Node(config)
    await node.start()      # its listeners answer; a broker is registered and unfenced
    await node.wait()       # until it is asked to stop, or a Fault breaks it
    await node.stop()       # controlled: leaderships move away first

Start: the directories are taken, ports bound, the metadata log opened; then Raft runs and the controllers' listeners
answer. A broker waits until it has read the metadata that the cluster has, opens its own listeners, and asks to be
unfenced; then it answers on them. Stop: a broker leaves in a controlled shutdown, its listeners close; then Raft hands
over the leadership if this node has it, and the rest closes.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from random import Random
from typing import TYPE_CHECKING

from odradek import __version__
from odradek.api.dispatch.context import Features, Services
from odradek.client.net.channel import ChannelConfig
from odradek.common.addresses import HostPort
from odradek.common.failures import Fault
from odradek.common.files import OsFileSystem
from odradek.common.hot_modules import describe, plain_modules
from odradek.common.ports import Clock, FileSystem
from odradek.common.system_clock import SystemClock
from odradek.common.uuids import random_uuid
from odradek.metadata.features import metadata_version
from odradek.metadata.features.feature_versions import KRAFT_VERSION, supported_features
from odradek.metadata.publishing.snapshot_generator import SnapshotGenerator, SnapshotLimits
from odradek.metadata_log.committed_records import MetadataFollower
from odradek.network.listener import Listener
from odradek.protocol.schema import Versions
from odradek.server.advertised_listeners import advertised_endpoints
from odradek.server.config.dynamic_config import DynamicConfig
from odradek.server.config.network_settings import follow_connection_limits
from odradek.server.config.server_config import ServerConfig
from odradek.server.config.unsupported import UnsupportedSettings
from odradek.server.controller.quorum import QuorumPart, build_quorum
from odradek.server.drivers.background_tasks import BackgroundTasks
from odradek.server.drivers.controller_registration_task import ControllerRegistrar
from odradek.server.drivers.fatal import as_fault
from odradek.server.drivers.snapshot_task import SnapshotTask
from odradek.server.links.controller_channel import ControllerChannel
from odradek.server.metadata_change_logger import ChangeLog
from odradek.server.metrics.admin_http import AdminServer, admin_address
from odradek.server.node_context import Foundation
from odradek.server.node_listeners import NodeListeners, build_listeners
from odradek.server.process.file_limits import allow_many_descriptors
from odradek.server.storage.node_directories import NodeDirs, take_dirs

if TYPE_CHECKING:
    from odradek.server.broker.build import BrokerPart
    from odradek.server.drivers.controller_driver import ControllerDriver

logger = logging.getLogger("odradek.node")

#: How long a leader that stops may look for a successor, and a broker that stops for somebody to take its leaderships.
#: Kafka's controllers take five seconds for it; without a majority nobody can succeed.
_HAND_OVER_MS = 5_000

#: When Raft has stopped, whoever still waits on a controller's listener waits in vain.
_LAST_ANSWERS_MS = 1_000

#: How often it is looked whether a snapshot of the metadata is due.
_SNAPSHOT_LOOK_MS = 1_000


class Node:
    def __init__(
        self,
        config: ServerConfig,
        *,
        files: FileSystem | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.config = config
        self.files = files or OsFileSystem()
        self.clock = clock or SystemClock()
        self.random = random or Random()
        self.dynamic = DynamicConfig(config.node_id, config.settings)
        self.dirs: NodeDirs
        self.listeners: NodeListeners
        self.quorum: QuorumPart
        self.controller: ControllerDriver | None = None
        self.broker: BrokerPart | None = None
        self.admin: AdminServer | None = None
        self.fault: Fault | None = None
        self._hand_over_ms = _HAND_OVER_MS
        self._is_leaving = False
        self._broker_incarnation_id = random_uuid()
        self._services = Services(
            node_id=config.node_id,
            static_configs=config.settings.given,
            fetch_max_bytes=config.settings.whole("fetch.max.bytes"),
        )
        self._ended = asyncio.Event()
        self._tasks = BackgroundTasks(self._stop_for)
        #: What was started and must be stopped, the latest first.
        self._started = AsyncExitStack()

    async def start(self) -> None:
        """Raises InputError for what the user can mend, Fault for what is broken."""
        config = self.config
        try:
            allow_many_descriptors()
            self.dirs = take_dirs(self.files, config)
            self._started.callback(logger.info, "stopped")
            self._started.callback(self.dirs.release)
            _log_version()
            logger.info("node %d of cluster %s starts as %s", config.node_id, self.dirs.cluster_id, _roles(config))
            await self._start_admin()
            await self._start_quorum()
            if config.is_broker:
                await self._start_broker()
        except BaseException:
            await self.stop()
            raise
        logger.info("ready")

    async def wait(self) -> None:
        """Raises the Fault that broke the node."""
        await self._ended.wait()
        if self.fault is not None:
            raise self.fault

    def request_stop(self) -> None:
        logger.info("told to stop")
        self._ended.set()

    def expect_no_successor(self) -> None:
        """The whole cluster stops, this node last: it need not wait until somebody leads the quorum in its place."""
        self._hand_over_ms = 0
        if self._is_leaving:
            self.quorum.driver.shutdown(0)

    async def stop(self) -> None:
        await self._started.aclose()

    async def _start_admin(self) -> None:
        address = admin_address(self.config.settings)
        if address is not None:
            self.admin = AdminServer(self, address)
            self._started.push_async_callback(self.admin.stop)
            await self.admin.start()

    def _foundation(self) -> Foundation:
        return Foundation(self.files, self.clock, self.random, self.config, self.dirs, self.dynamic)

    # The quorum, and the controller

    async def _start_quorum(self) -> None:
        config, stack = self.config, self._started
        self.listeners = build_listeners(config, self._services, self._stop_for)
        stack.push_async_callback(_stop_all, self.listeners.for_controllers, _LAST_ANSWERS_MS)
        await self.listeners.bind()
        self.quorum = build_quorum(self._foundation(), self.listeners.ports)
        stack.callback(self.quorum.log.close)
        self.quorum.loader.add_publisher(self.dynamic)
        self.quorum.loader.add_publisher(UnsupportedSettings())
        follow_connection_limits(self.dynamic, self.listeners.quotas, self.listeners.creation_rate)
        self._connect_services()
        if config.is_controller:
            self._add_controller()
        logger.info("the quorum is joined as %s", self.quorum.raft.state)
        stack.push_async_callback(self._leave_quorum, self._watch(self.quorum.driver.run()))
        self._start_snapshots()
        if config.is_controller:
            self._start_registration()
        for listener in self.listeners.for_controllers:
            listener.listen()
            listener.serve()
            logger.info("controllers are answered on %s", _address(listener))

    def _connect_services(self) -> None:
        quorum, services = self.quorum, self._services
        services.cluster_id = self.dirs.cluster_id
        services.quorum = quorum.driver
        services.image = quorum.image
        services.features = self._features
        services.check_broker_configs = self.dynamic.check_change
        quorum.driver.machine = MetadataFollower(quorum.raft, quorum.loader)

    def _add_controller(self) -> None:
        from odradek.server.controller.build import build_controller  # a broker needs none of it

        incarnation_id = self._broker_incarnation_id if self.config.is_broker else None
        made = build_controller(self._foundation(), self.quorum, incarnation_id, self._stop_for)
        self.controller = self._services.controller = self.quorum.driver.machine = made
        self._started.callback(made.close)
        self.quorum.loader.add_publisher(ChangeLog())

    def _start_registration(self) -> None:
        told = advertised_endpoints(self.config.listeners.advertised_to_controllers, self.listeners.ports)
        channel = ControllerChannel(
            self.quorum.driver, "registration", ChannelConfig(client_id=str(self.config.node_id))
        )
        registrar = ControllerRegistrar(self.config.node_id, random_uuid(), told, channel)
        self._started.push_async_callback(channel.close)
        self._started.push_async_callback(registrar.close)
        self.quorum.loader.add_publisher(registrar)

    def _start_snapshots(self) -> None:
        settings = self.config.settings
        limits = SnapshotLimits(
            settings.whole("metadata.log.max.record.bytes.between.snapshots"),
            settings.whole("metadata.log.max.snapshot.interval.ms"),
        )
        generator = SnapshotGenerator(limits, self.clock.monotonic_ms())
        self.quorum.loader.add_publisher(generator)
        task = self._watch(SnapshotTask(generator, self.quorum.driver, self.clock).run(_SNAPSHOT_LOOK_MS))
        self._started.push_async_callback(_cancel, task)

    async def _leave_quorum(self, running: "asyncio.Task[None]") -> None:
        driver = self.quorum.driver
        if not running.done():
            self._is_leaving = True
            driver.shutdown(self._hand_over_ms)
            await asyncio.wait([running])
            if not driver.handed_over and self._hand_over_ms:
                logger.warning("nobody took over from this node")

    def _features(self) -> Features:
        image = self.quorum.image()
        finalized = {KRAFT_VERSION: self.quorum.raft.kraft_version, **image.features.finalized_levels}
        if image.features.metadata_version is not None:
            finalized[metadata_version.FEATURE_NAME] = int(image.features.metadata_version)
        supported = {name: Versions(levels.min, levels.max) for name, levels in supported_features().items()}
        return Features(supported, finalized, image.offset)

    # The broker

    async def _start_broker(self) -> None:
        from odradek.server.broker.build import build_broker  # a controller needs none of it

        broker = self.broker = build_broker(
            self._foundation(), self.quorum, self.listeners.ports, self._broker_incarnation_id, self._stop_for
        )
        self._started.push_async_callback(broker.close)
        self._started.push_async_callback(_stop_all, self.listeners.for_clients, _HAND_OVER_MS)
        self._started.push_async_callback(self._leave_cluster)
        await broker.start(self._services, self._hear_clients)
        for listener in self.listeners.for_clients:
            listener.serve()
            logger.info("clients are answered on %s", _address(listener))

    async def _hear_clients(self) -> None:
        """Others hear of the broker before it does itself, and come at once. They wait: a broker that is fenced would
        have to say that there is none, where it is alone."""
        for listener in self.listeners.for_clients:
            listener.listen()

    async def _leave_cluster(self) -> None:
        if self.broker is not None and self.fault is None:
            await self.broker.leave(_HAND_OVER_MS)

    # Running

    def _watch(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """A part that fails takes the node with it: it is not known what it left undone."""
        return self._tasks.start(work)

    def _stop_for(self, error: BaseException) -> None:
        """Handle a fatal error of any part."""
        if self.fault is None:
            self.fault = as_fault(error)
            unexpected = None if isinstance(error, Fault) else error
            logger.critical("the node stops: %s", self.fault, exc_info=unexpected)
        self._ended.set()


async def _stop_all(listeners: tuple[Listener, ...], timeout_ms: int) -> None:
    await asyncio.gather(*(listener.stop(timeout_ms) for listener in listeners))


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])


def _address(listener: Listener) -> str:
    return f"{listener.endpoint.name}://{HostPort(listener.host, listener.port)}"


def _roles(config: ServerConfig) -> str:
    return " and ".join(config.roles)


def _log_version() -> None:
    """Write the first line of a node's log. An installation that is slower than it could be is worth a warning."""
    plain = plain_modules()
    logger.log(logging.WARNING if plain else logging.INFO, "odradek %s, %s", __version__, describe(plain))
