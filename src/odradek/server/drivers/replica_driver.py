"""The replicas of a broker on the event loop: metadata in, time, and messages to the controller and other brokers.

Requests of clients come straight from the handlers; what is here is the rest. A publisher hands each image to the
replicas, a slice at a time where it concerns many partitions, so that requests and heartbeats go on meanwhile;
images wait for each other, and `applied_image` is the latest that is done. One timer calls `tick` when something is
due. AlterPartition requests and fetchers have tasks of their own.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator

from odradek.api.dispatch.services import Forwarder
from odradek.common.ports import Clock
from odradek.metadata.image.broker_registration import BrokerRegistration
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.replica.fetcher import FollowerFetcher
from odradek.server.config.server_config import ServerConfig
from odradek.server.drivers.alter_partition_task import AlterPartitionTask
from odradek.server.drivers.background_tasks import BackgroundTasks
from odradek.server.drivers.deadline_timer import DeadlineTimer
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.drivers.fetcher_task import FetcherTask

logger = logging.getLogger("odradek.replica")

#: For this long the replicas may be changed before others have a turn: little beside what clients wait for anyway.
_SLICE_MS = 10


class ReplicaDriver:
    """A `MetadataPublisher`."""

    name = "ReplicaDriver"

    def __init__(
        self,
        manager: BrokerReplicas,
        config: ServerConfig,
        channel: Forwarder,
        broker_epoch: Callable[[], int],
        clock: Clock,
        fatal: FatalHandler,
    ) -> None:
        """`channel` leads to the active controller, for AlterPartition alone; it stays the caller's to close."""
        self._manager = manager
        self._broker_epoch = broker_epoch
        self._clock = clock
        self._listener = config.listeners.inter_broker_name
        self._timeout_ms = config.settings.whole("replica.socket.timeout.ms")
        self._client_id = f"broker-{config.node_id}-fetcher"
        self._fatal = fatal
        self._timer = DeadlineTimer(clock, lambda: manager.deadline_ms, manager.tick, fatal)
        self._alter_partition = AlterPartitionTask(manager.alter_partition, channel, clock, fatal)
        self._fetchers = BackgroundTasks(fatal)
        self._fetching: dict[FollowerFetcher, FetcherTask] = {}
        self._is_closed = False
        #: What the replicas are at, and the images that wait for it to be done.
        self._steps: Iterator[None] | None = None
        self._images: deque[tuple[MetadataDelta, MetadataImage]] = deque()
        #: The latest image of which the replicas have made everything.
        self.applied_image: MetadataImage = EMPTY
        manager.alter_partition.on_ready(self._alter_partition.wake)
        manager.fetchers.on_ready(self._look_at)

    # The metadata

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        if self._is_closed:
            return
        self._manager.view.set_broker_epoch(self._broker_epoch())
        self._images.append((delta, image))
        if self._steps is None:
            self._apply_slice()

    def _apply_slice(self) -> None:
        """Apply images for one slice; a small change is complete when this returns."""
        until_ms = self._clock.monotonic_ms() + _SLICE_MS
        while self._images and not self._is_closed:
            delta, image = self._images[0]
            if self._steps is None:
                self._steps = self._manager.metadata.apply_in_steps(delta, image)
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
            self._fatal(error)

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """The channel finds the new one by itself."""

    async def close(self) -> None:
        self._is_closed = True
        self._timer.close()
        await self._fetchers.close()
        await self._alter_partition.close()

    # Time

    def set_timer(self) -> None:
        """Follow a deadline that may be earlier than all others."""
        self._timer.reschedule()

    # Other brokers

    def _look_at(self, fetcher: FollowerFetcher) -> None:
        running = self._fetching.get(fetcher)
        if running is not None:
            running.wake()
        elif not fetcher.is_closed and not self._is_closed:
            task = FetcherTask(fetcher, self._clock, self._timeout_ms, self._address_of, self._client_id)
            self._fetching[fetcher] = task
            self._fetchers.start(task.run()).add_done_callback(lambda _: self._fetching.pop(fetcher, None))

    def _address_of(self, broker_id: int) -> tuple[str, int] | None:
        broker: BrokerRegistration | None = self._manager.view.image.cluster.brokers.get(broker_id)
        endpoint = broker.listeners.get(self._listener) if broker is not None else None
        return None if endpoint is None else (endpoint.host, endpoint.port)
