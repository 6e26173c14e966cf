"""One node, whole: its parts put together, started in order, and stopped in the reverse order.

    node = Node(config)
    await node.start()      # its listeners answer; a broker is registered and unfenced
    await node.wait()       # until it is asked to stop, or a Fault breaks it
    await node.stop()       # controlled: leaderships move away first

Start: the directories are taken, ports bound, the metadata log opened; then Raft runs and the controllers' listeners
answer. A broker waits until it has read the metadata that the cluster has, serves its own listeners, and asks to be
unfenced. Stop: a broker leaves in a controlled shutdown, its listeners close; then Raft hands over the leadership if
this node has it, and the rest closes.
"""

import asyncio
import logging
from collections.abc import Coroutine
from random import Random

from odradek.api.context import Features, Services
from odradek.client.channel import ChannelConfig
from odradek.common.addresses import HostPort
from odradek.common.failures import Fault
from odradek.common.files import OsFileSystem
from odradek.common.ports import Clock, FileSystem
from odradek.common.system import SystemClock
from odradek.metadata import metadata_version
from odradek.metadata.feature_versions import KRAFT_VERSION, supported_features
from odradek.metadata.snapshot_generator import SnapshotGenerator, SnapshotLimits
from odradek.network.listener import Listener
from odradek.protocol.facts import Versions
from odradek.server.advertised import advertised_endpoints
from odradek.server.broker_part import BrokerPart, build_broker
from odradek.server.config import ServerConfig
from odradek.server.controller_channel import ControllerChannel
from odradek.server.controller_driver import ControllerDriver
from odradek.server.controller_part import build_controller
from odradek.server.controller_registration import ControllerRegistrar
from odradek.server.metadata_follower import MetadataFollower
from odradek.server.node_dirs import NodeDirs, take_dirs
from odradek.server.node_listeners import NodeListeners, build_listeners
from odradek.server.quorum_part import QuorumPart, build_quorum
from odradek.server.raft_driver import fault_of
from odradek.server.snapshot_task import SnapshotTask
from odradek.server.uuids import random_uuid

logger = logging.getLogger("odradek.node")

#: How long a leader that stops may look for a successor, and a broker that stops for somebody to take its leaderships.
#: Kafka's controllers take five seconds for it; without a majority nobody can succeed.
_HAND_OVER_MS = 5_000

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
        self.dirs: NodeDirs
        self.listeners: NodeListeners
        self.quorum: QuorumPart
        self.controller: ControllerDriver | None = None
        self.broker: BrokerPart | None = None
        self.registrar: ControllerRegistrar | None = None
        self.fault: Fault | None = None
        self._services = Services(node_id=config.node_id, static_configs=config.settings.given)
        self._ended = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._raft_task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises InputError for what the user can mend, Fault for what is broken."""
        self.dirs = take_dirs(self.files, self.config)
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def wait(self) -> None:
        """Raises the Fault that broke the node."""
        await self._ended.wait()
        if self.fault is not None:
            raise self.fault

    def request_stop(self) -> None:
        self._ended.set()

    async def stop(self) -> None:
        if self.broker is not None and self.fault is None:
            await self.broker.leave(_HAND_OVER_MS)
        if hasattr(self, "listeners"):
            await asyncio.gather(*(listener.stop() for listener in self.listeners.for_clients))
        if self.broker is not None:
            await self.broker.close()
        await self._stop_tasks()
        await self._stop_quorum()
        if hasattr(self, "listeners"):
            await asyncio.gather(*(listener.stop(timeout_ms=1_000) for listener in self.listeners.for_controllers))
        self.dirs.release()
        logger.info("stopped")

    # Start

    async def _start(self) -> None:
        config = self.config
        logger.info("node %d of cluster %s starts as %s", config.node_id, self.dirs.cluster_id, ",".join(config.roles))
        self.listeners = build_listeners(config, self._services, self._broke)
        await self.listeners.bind()
        self.quorum = build_quorum(self.files, self.clock, self.random, config, self.dirs, self.listeners.ports)
        for repair in self.quorum.log.repairs:
            logger.warning("metadata log: %s", repair)
        self._build_parts()
        self._raft_task = self._watch(self.quorum.driver.run(), ends_node=True)
        self._watch(self._snapshots().run(_SNAPSHOT_LOOK_MS))
        for listener in self.listeners.for_controllers:
            await listener.serve()
            logger.info("controllers are answered on %s", _address(listener))
        if self.broker is not None:
            await self.broker.start(self._serve_clients)
        logger.info("ready")

    async def _serve_clients(self) -> None:
        for listener in self.listeners.for_clients:
            await listener.serve()
            logger.info("clients are answered on %s", _address(listener))

    def _build_parts(self) -> None:
        quorum, services = self.quorum, self._services
        services.cluster_id = self.dirs.cluster_id
        services.quorum = quorum.driver
        services.image = quorum.image
        services.features = self._features
        quorum.driver.machine = MetadataFollower(quorum.raft, quorum.loader)
        if self.config.is_controller:
            made = build_controller(self.files, self.clock, self.random, self.config, self.dirs, quorum)
            self.controller = services.controller = quorum.driver.machine = made
            self._register_controller()
        if self.config.is_broker:
            made_broker = build_broker(
                *(self.files, self.clock, self.config, self.dirs, quorum, self.listeners.ports), self._gave_up
            )
            self.broker, services.forwarder = made_broker, made_broker.forwarder
            services.topic_creator = made_broker.topic_creator

    def _register_controller(self) -> None:
        told = advertised_endpoints(self.config.listeners.advertised_to_controllers, self.listeners.ports)
        channel_config = ChannelConfig(client_id=str(self.config.node_id))
        self._registration_channel = ControllerChannel(self.quorum.driver, "registration", channel_config)
        self.registrar = ControllerRegistrar(self.config.node_id, random_uuid(), told, self._registration_channel)
        self.quorum.loader.add_publisher(self.registrar)

    def _gave_up(self, reason: str) -> None:
        self._broke(Fault(f"the broker gave up: {reason}"))

    def _snapshots(self) -> SnapshotTask:
        settings = self.config.settings
        limits = SnapshotLimits(
            settings.whole("metadata.log.max.record.bytes.between.snapshots"),
            settings.whole("metadata.log.max.snapshot.interval.ms"),
        )
        generator = SnapshotGenerator(limits, self.clock.monotonic_ms())
        self.quorum.loader.add_publisher(generator)
        return SnapshotTask(generator, self.quorum.driver, self.clock)

    def _features(self) -> Features:
        image = self.quorum.image()
        finalized = {KRAFT_VERSION: self.quorum.raft.kraft_version, **image.features.finalized_levels}
        if image.features.metadata_version is not None:
            finalized[metadata_version.FEATURE_NAME] = int(image.features.metadata_version)
        supported = {name: Versions(levels.min, levels.max) for name, levels in supported_features().items()}
        return Features(supported, finalized, image.offset)

    # Running

    def _watch(self, work: Coroutine[None, None, None], *, ends_node: bool = False) -> asyncio.Task[None]:
        """A part that fails takes the node with it: it is not known what it left undone."""
        task = asyncio.ensure_future(work)
        self._tasks.append(task)

        def ended(task: asyncio.Task[None]) -> None:
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._broke(fault_of(error), error)
            elif ends_node:
                self._ended.set()

        task.add_done_callback(ended)
        return task

    def _broke(self, fault: Fault, cause: BaseException | None = None) -> None:
        if self.fault is None:
            self.fault = fault
            unexpected = cause is not None and not isinstance(cause, Fault)
            logger.critical("the node stops: %s", fault, exc_info=cause if unexpected else None)
        self._ended.set()

    # Stop

    async def _stop_tasks(self) -> None:
        if self.registrar is not None:
            await self.registrar.close()
            await self._registration_channel.close()
        others = [task for task in self._tasks if task is not self._raft_task]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _stop_quorum(self) -> None:
        if self._raft_task is not None and not self._raft_task.done():
            await self.quorum.driver.shutdown(_HAND_OVER_MS)
            await asyncio.wait([self._raft_task])
            logger.info(
                "the quorum %s", "goes on without this node" if self.quorum.driver.handed_over else "is not told"
            )
        if self.controller is not None:
            self.controller.close()
        if hasattr(self, "quorum"):
            self.quorum.log.close()


def _address(listener: Listener) -> str:
    return f"{listener.endpoint.name}://{HostPort(listener.host, listener.port)}"
