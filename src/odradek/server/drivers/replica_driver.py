"""The replicas of a broker on the event loop: metadata in, time, and messages to the controller and other brokers.

Requests of clients come straight from the handlers; what is here is the rest. A publisher hands each image to the
replica manager, a slice at a time where it concerns many partitions, so that requests and heartbeats go on meanwhile;
images wait for each other, and `applied_image` is the latest that is done. One timer calls `tick` when something is
due. AlterPartition requests go to the active controller, one at a time. Each fetcher has a task of its own, which asks
its source over a channel of its own, one request at a time.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator

from odradek.api.dispatch.services import Forwarder
from odradek.client.net.channel import Channel, ChannelConfig
from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.metadata.image.broker_registration import BrokerRegistration
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.replica.fetcher import Fetcher
from odradek.replica.replica_manager import ReplicaManager
from odradek.server.config.server_config import ServerConfig

logger = logging.getLogger("odradek.replica")

#: The controller is asked for this long before the changes of ISRs are gathered anew.
_ALTER_PARTITION_TIMEOUT_MS = 30_000

#: For this long the replicas may be changed before others have a turn: little beside what clients wait for anyway.
_SLICE_MS = 10


class ReplicaDriver:
    """A `MetadataPublisher`."""

    name = "ReplicaDriver"

    def __init__(
        self,
        manager: ReplicaManager,
        config: ServerConfig,
        channel: Forwarder,
        broker_epoch: Callable[[], int],
        clock: Clock,
    ) -> None:
        """`channel` leads to the active controller, for AlterPartition alone; it stays the caller's to close."""
        self._manager = manager
        self._channel = channel
        self._broker_epoch = broker_epoch
        self._clock = clock
        self._listener = config.listeners.inter_broker_name
        self._timeout_ms = config.settings.whole("replica.socket.timeout.ms")
        self._client_id = f"broker-{config.node_id}-fetcher"
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: int | None = None
        self._altering: asyncio.Task[None] | None = None
        self._fetching: dict[Fetcher, _FetcherTask] = {}
        self._is_closed = False
        #: What the replicas are at, and the images that wait for it to be done.
        self._steps: Iterator[None] | None = None
        self._images: deque[tuple[MetadataDelta, MetadataImage]] = deque()
        #: The latest image of which the replicas have made everything.
        self.applied_image: MetadataImage = EMPTY
        #: Told of what must not happen and did.
        self.on_broken: Callable[[BaseException], None] = _log_only
        manager.alter_partition.on_ready = self._alter_partition
        manager.fetchers.on_ready = self._look_at

    # The metadata

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        if self._is_closed:
            return
        self._manager.broker_epoch = self._broker_epoch()
        self._images.append((delta, image))
        if self._steps is None:
            self._apply_slice()

    def _apply_slice(self) -> None:
        """What a small change needs is done before this returns."""
        until_ms = self._clock.monotonic_ms() + _SLICE_MS
        while self._images and not self._is_closed:
            delta, image = self._images[0]
            if self._steps is None:
                self._steps = self._manager.apply_in_steps(delta, image)
            for _ in self._steps:
                if self._clock.monotonic_ms() >= until_ms:
                    asyncio.get_running_loop().call_soon(self._apply_next_slice)
                    return
            self._steps = None
            self._images.popleft()
            self.applied_image = image
        self.set_timer()

    def _apply_next_slice(self) -> None:
        try:
            self._apply_slice()
        except Exception as error:  # noqa: BLE001 - the publisher's caller is gone, so nobody else would notice
            self.on_broken(error)

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """The channel finds the new one by itself."""

    async def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = [each.task for each in self._fetching.values()]
        if self._altering is not None:
            tasks.append(self._altering)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # Time

    def set_timer(self) -> None:
        """Somebody began to wait, perhaps not as long as all the others."""
        deadline_ms = self._manager.deadline_ms
        if self._is_closed or (self._timer_ms is not None and self._timer_ms <= deadline_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline_ms
        delay_ms = max(0, deadline_ms - self._clock.monotonic_ms())
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._tick)

    def _tick(self) -> None:
        self._timer = self._timer_ms = None
        try:
            self._manager.tick(self._clock.monotonic_ms())
            self.set_timer()
        except Exception as error:  # noqa: BLE001 - nobody waits for a timer, so nobody else would notice
            self.on_broken(error)

    # The controller

    def _alter_partition(self) -> None:
        if self._altering is None and not self._is_closed:
            self._altering = asyncio.ensure_future(self._send_alter_partitions())
            self._altering.add_done_callback(self._check)

    async def _send_alter_partitions(self) -> None:
        outbox = self._manager.alter_partition
        try:
            while outbox.wants_to_send:
                request = outbox.next_request(self._clock.monotonic_ms())
                if request is None:
                    await self._until(outbox.deadline_ms)
                    continue
                try:
                    response = await self._channel.send(request, _ALTER_PARTITION_TIMEOUT_MS)
                except ApiError as error:
                    logger.warning("AlterPartition was not answered: %s", error)
                    outbox.handle_failure(self._clock.monotonic_ms())
                else:
                    outbox.handle_response(response, self._clock.monotonic_ms())
        finally:
            self._altering = None

    async def _until(self, deadline_ms: int | None) -> None:
        if deadline_ms is not None:
            await asyncio.sleep(max(0, deadline_ms - self._clock.monotonic_ms()) / 1000)

    # Other brokers

    def _look_at(self, fetcher: Fetcher) -> None:
        running = self._fetching.get(fetcher)
        if running is not None:
            running.wake()
        elif not fetcher.is_closed and not self._is_closed:
            started = _FetcherTask(fetcher, self._clock, self._timeout_ms, self._address_of, self._client_id)
            self._fetching[fetcher] = started
            started.task.add_done_callback(lambda task: self._ended(fetcher, task))

    def _ended(self, fetcher: Fetcher, task: "asyncio.Task[None]") -> None:
        self._fetching.pop(fetcher, None)
        self._check(task)

    def _check(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.on_broken(error)

    def _address_of(self, broker_id: int) -> tuple[str, int] | None:
        broker: BrokerRegistration | None = self._manager.image.cluster.brokers.get(broker_id)
        endpoint = broker.listeners.get(self._listener) if broker is not None else None
        return None if endpoint is None else (endpoint.host, endpoint.port)


class _FetcherTask:
    """Asks one broker, again and again, until its fetcher is closed."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        timeout_ms: int,
        address_of: Callable[[int], tuple[str, int] | None],
        client_id: str,
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._address_of = address_of
        self._config = ChannelConfig(client_id=f"{client_id}-{fetcher.source_id}")
        self._channel: Channel | None = None
        self._wake = asyncio.Event()
        self.task = asyncio.ensure_future(self._run())

    def wake(self) -> None:
        self._wake.set()

    async def _run(self) -> None:
        fetcher = self._fetcher
        try:
            while not fetcher.is_closed:
                self._wake.clear()
                request = fetcher.next_request(self._clock.monotonic_ms())
                if request is None:
                    await self._wait(fetcher.deadline_ms)
                    continue
                try:
                    channel = await self._connected()
                    response = await channel.send(request, self._timeout_ms)
                except ApiError as error:
                    logger.info("fetching from broker %d failed: %s", fetcher.source_id, error)
                    fetcher.handle_failure(self._clock.monotonic_ms())
                else:
                    fetcher.handle_response(response, self._clock.monotonic_ms())
        finally:
            if self._channel is not None:
                await self._channel.close()

    async def _wait(self, deadline_ms: int | None) -> None:
        """Woken, or the time has come."""
        delay_s = None if deadline_ms is None else max(0, deadline_ms - self._clock.monotonic_ms()) / 1000
        try:
            async with asyncio.timeout(delay_s):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _connected(self) -> Channel:
        """To where the broker is now."""
        address = self._address_of(self._fetcher.source_id)
        if address is None:
            raise ApiError(f"broker {self._fetcher.source_id} has no address for brokers")
        channel = self._channel
        if channel is not None and (channel.host, channel.port) != address:
            await channel.close()
            channel = None
        if channel is None:
            channel = self._channel = Channel(*address, self._config)
        return channel


def _log_only(error: BaseException) -> None:
    logger.critical("the replicas are broken", exc_info=error)
