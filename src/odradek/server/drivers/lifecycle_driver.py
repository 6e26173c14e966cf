"""Connects a broker's lifecycle to the controllers: sends what is due, waits for what comes of it, and writes it down.

One task polls the core and sends one request at a time over a channel of its own, so that heartbeats wait behind
nothing. When that channel's connection breaks, the next heartbeat is sent at once on a new one: the controllers fence
a broker whose connection is gone within `odradek.broker.disconnect.grace.ms`.

The composition root makes it, adds it to the loader's publishers, and calls `start` once listeners are bound; `start`
returns when the broker is unfenced. `controlled_shutdown` before anything is taken down, `close` at the end.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from odradek.api.dispatch.services import Image, Quorum
from odradek.broker.lifecycle import (
    BrokerIdentity,
    BrokerLifecycle,
    BrokerState,
    Change,
    LifecycleTimings,
    Standing,
)
from odradek.client.net.channel import ChannelConfig
from odradek.common.failures import ApiError, Fault, InputError
from odradek.common.ids import uuid_to_text
from odradek.common.ports import Clock
from odradek.common.system_clock import SystemClock
from odradek.common.uuids import random_uuid
from odradek.metadata.features.feature_versions import supported_features
from odradek.metadata.image.broker_registration import Endpoint
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.message import Message
from odradek.server.config.server_config import ServerConfig
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.links.controller_channel import ControllerChannel

logger = logging.getLogger("odradek.broker")


async def _nothing() -> None:
    """A node without anything to open before it serves."""


class BrokerDriver:
    """A `MetadataPublisher`: the broker is ready only after the first metadata was published to it."""

    name = "BrokerDriver"

    def __init__(
        self,
        config: ServerConfig,
        *,
        cluster_id: str,
        listeners: Sequence[Endpoint],
        directories: Mapping[str, bytes],
        quorum: Quorum,
        image: Image,
        previous_broker_epoch: int = -1,
        incarnation_id: bytes | None = None,
        clock: Clock | None = None,
        fatal: FatalHandler = lambda error: None,
        controller_troubles: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`listeners` as they are advertised (see `advertised_listeners.advertised_endpoints`), `directories` the ids
        of the log directories by path, `previous_broker_epoch` from the file that a clean stop left behind.

        `fatal` is called when the broker shuts down by itself: the node must stop. `controller_troubles` returns why
        controllers cannot be reached.
        """
        settings = config.settings
        self._config = config
        self._directories = directories
        self._image = image
        self._clock = clock or SystemClock()
        self._fatal = fatal
        self._controller_troubles = controller_troubles
        identity = BrokerIdentity(
            node_id=config.node_id,
            cluster_id=cluster_id,
            incarnation_id=incarnation_id or random_uuid(),
            listeners=tuple(listeners),
            supported_features=supported_features(),
            directories=tuple(directories.values()),
            rack=config.rack,
            previous_broker_epoch=previous_broker_epoch,
        )
        timings = LifecycleTimings(
            heartbeat_interval_ms=settings.whole("broker.heartbeat.interval.ms"),
            registration_timeout_ms=settings.whole("initial.broker.registration.timeout.ms"),
            directory_failure_timeout_ms=settings.whole("log.dir.failure.timeout.ms"),
        )
        self._core = BrokerLifecycle(identity, timings)
        self._request_timeout_ms = settings.whole("broker.session.timeout.ms")
        self._channel = ControllerChannel(
            quorum,
            "heartbeats",
            ChannelConfig(client_id=str(config.node_id)),
            request_timeout_ms=min(self._request_timeout_ms, settings.whole("controller.socket.timeout.ms")),
            on_disconnect=self._disconnected,
        )
        #: Called with each answer once the broker serves: when the last answered heartbeat was sent, and whether the
        #: broker is fenced.
        self.on_answer: Callable[[int, bool], None] = lambda sent_ms, is_fenced: None
        self._is_published = False
        self._changed = asyncio.Event()
        self._wake = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._told_failure = ""
        #: Whoever started it, or stops it, sees by itself that it is over.
        self._is_watched = True

    @property
    def state(self) -> BrokerState:
        return self._core.state

    @property
    def standing(self) -> Standing:
        return self._core.standing

    @property
    def epoch(self) -> int:
        """-1 until the broker is registered."""
        return self._core.epoch

    @property
    def incarnation_id(self) -> bytes:
        return self._core.identity.incarnation_id

    async def start(self, ready: Callable[[], Awaitable[None]] = _nothing) -> None:
        """Until the broker is unfenced. `ready` is awaited when the metadata is caught up and published, before the
        broker asks to be unfenced: who comes when it is unfenced is not to find a closed door.

        Raises InputError where the controllers would not have it.
        """
        identity = self._core.identity
        logger.info(
            "broker %d of cluster %s starts: incarnation %s, listeners %s",
            *(identity.node_id, identity.cluster_id, uuid_to_text(identity.incarnation_id)),
            ", ".join(f"{e.name}://{e.host}:{e.port}" for e in identity.listeners),
        )
        self._core.start(self._clock.monotonic_ms())
        self._running = asyncio.create_task(self._run())
        await self._reached(lambda: self._core.state >= BrokerState.RECOVERY and self._is_published)
        await ready()
        self._core.ready_to_unfence(self._clock.monotonic_ms())
        self._wake.set()
        await self._reached(lambda: self._core.state >= BrokerState.RUNNING)
        self._is_watched = False

    async def controlled_shutdown(self, timeout_ms: int) -> bool:
        """Until the controller has moved this broker's leaderships and let it go; False if it did not in time."""
        self._is_watched = True
        if self._config.settings.boolean("controlled.shutdown.enable"):
            self._core.begin_controlled_shutdown(self._clock.monotonic_ms())
            self._wake.set()
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    while not self._core.is_over:
                        await self._next_change()
            except TimeoutError:
                self._core.shut_down(f"no controller let it go in {timeout_ms} ms")
                self._tell_changes()
                return False
        return True

    async def close(self) -> None:
        self._is_watched = True
        self._core.shut_down("the node stops")
        self._wake.set()
        if self._running is not None:
            await self._running
        await self._channel.close()

    def directory_failed(self, directory: bytes) -> None:
        self._core.directory_failed(directory, self._clock.monotonic_ms())
        self._wake.set()

    # The metadata

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        self._is_published = True
        self._changed.set()
        version = image.features.metadata_version
        if version is not None and version.is_cordoned_log_dirs_supported:
            self._core.cordoned_directories = self._cordoned(image)
        if version is not None and version.is_directory_assignment_supported and self._is_without_directories(image):
            self._core.register_again(self._clock.monotonic_ms())
            self._wake.set()
        if self._sees_another_stop(delta):
            # That one may go when the controller knows that everybody has read of it: it need not wait for our turn.
            self._heartbeat_soon()

    def _is_without_directories(self, image: MetadataImage) -> bool:
        """It registered while the cluster had no word for directories."""
        known = image.cluster.brokers.get(self._config.node_id)
        return known is not None and known.epoch == self._core.epoch and not known.directories

    def _sees_another_stop(self, delta: MetadataDelta) -> bool:
        changed = () if delta.cluster is None else delta.cluster.brokers.changes.values()
        stopping = [broker.id for broker in changed if broker and broker.in_controlled_shutdown and not broker.fenced]
        return any(broker_id != self._config.node_id for broker_id in stopping)

    def _cordoned(self, image: MetadataImage) -> tuple[bytes, ...]:
        """`cordoned.log.dirs` as set for this broker, for all brokers, or in its file; `*` is all of them."""
        key, kind = "cordoned.log.dirs", ConfigResourceType.BROKER
        paths = self._config.settings.items(key)
        for name in ("", str(self._config.node_id)):
            text = image.configs.settings(ConfigResource(kind, name)).get(key)
            paths = paths if text is None else tuple(path.strip() for path in text.split(","))
        return tuple(uuid for path, uuid in self._directories.items() if path in paths or "*" in paths)

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        if leader_and_epoch.leader_id is not None:
            self._heartbeat_soon()

    # The loop

    async def _run(self) -> None:
        """A flaw of ours ends the broker's life loudly: it must not fall silent while the node goes on."""
        try:
            await self._live()
        except Exception as error:
            logger.error("broker %d: broken", self._config.node_id, exc_info=error)
            self._core.shut_down(f"it is broken: {error}")
        self._tell_changes()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])

    async def _live(self) -> None:
        core, clock = self._core, self._clock
        while not core.is_over:
            self._wake.clear()
            if self._sending is not None and self._sending.done():
                self._sending.result()
            request = core.poll(clock.monotonic_ms(), self._image().offset)
            if request is not None:
                self._sending = asyncio.create_task(self._send(request))
                self._sending.add_done_callback(lambda _: self._wake.set())
            self._tell_changes()
            await self._until(core.deadline_ms)

    async def _until(self, deadline_ms: int | None) -> None:
        """Woken, or the time has come."""
        if self._core.is_over:
            return
        wait_s = None if deadline_ms is None else max(0, deadline_ms - self._clock.monotonic_ms()) / 1000
        try:
            async with asyncio.timeout(wait_s):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _send(self, request: Message) -> None:
        try:
            response = await self._channel.send(request, self._request_timeout_ms)
        except ApiError as error:
            self._core.failed(error, self._clock.monotonic_ms())
        else:
            self._core.answered(response, self._clock.monotonic_ms())
            if self._core.heard_ms is not None:
                self.on_answer(self._core.heard_ms, self._core.is_fenced)

    def _disconnected(self, reason: str) -> None:
        logger.info("broker %d: the heartbeats' connection is gone: %s", self._config.node_id, reason)
        self._heartbeat_soon()

    def _heartbeat_soon(self) -> None:
        self._core.heartbeat_soon(self._clock.monotonic_ms())
        self._wake.set()

    # What is told

    async def _reached(self, condition: Callable[[], bool]) -> None:
        while not condition() and not self._core.is_over:
            await self._next_change()
        if self._core.is_over:
            raise InputError(f"broker {self._config.node_id} did not start: {self._core.over_reason}{self._advice()}")

    def _advice(self) -> str:
        troubles = self._controller_troubles()
        if not troubles:
            return ""
        key = "controller.quorum.voters" if self._config.voters else "controller.quorum.bootstrap.servers"
        where = self._config.settings.where(key)
        return f". {'; '.join(troubles)}. Start the controllers of this cluster, or correct {where}."

    async def _next_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _tell_changes(self) -> None:
        failure = self._core.last_failure
        if failure and failure != self._told_failure:
            logger.warning("broker %d: %s; trying again", self._config.node_id, failure)
        self._told_failure = failure
        for change in self._core.take_changes():
            self._tell(change)
            self._changed.set()

    def _tell(self, change: Change) -> None:
        logger.info(
            "broker %d: %s, %s at epoch %d: %s",
            *(self._config.node_id, change.state.name, change.standing.value, change.epoch, change.reason),
        )
        if change.state is BrokerState.SHUTTING_DOWN and not self._is_watched:
            self._fatal(Fault(f"the broker gave up: {change.reason}"))
