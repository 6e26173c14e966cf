"""One coordinator of a broker on the event loop: leadership in, time, slices of loading, and answers to await.

It is a publisher of metadata that comes after the replicas. Partitions of the internal topic that are led here are
loaded, as soon as their replicas are ready; those that are not are unloaded. Loading goes on in one task, which gives
way to others after every slice. The high watermark is heard of in a turn of its own, so that whoever waits is never
answered in the middle of another operation.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from odradek.api.dispatch.replies import answer
from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.coordinator.runtime.keys import partition_for
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.shard import NOBODY, Decision, Shard, Writer
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.topics import TopicImage
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest
from odradek.protocol.error_codes import ErrorCode
from odradek.server.drivers.background_tasks import BackgroundTasks
from odradek.server.drivers.coordinator_log import ReplicaLog
from odradek.server.drivers.deadline_timer import DeadlineTimer
from odradek.server.drivers.fatal import FatalHandler

logger = logging.getLogger("odradek.coordinator")

#: How soon it is looked again whether replicas that metadata has told of are ready.
_NOT_READY_S = 0.01

Answer = TypeVar("Answer")
AnyShard = TypeVar("AnyShard", bound=Shard)


class CoordinatorDriver(Generic[AnyShard]):
    """A `Coordinator` for handlers, and a `MetadataPublisher`."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[AnyShard],
        log: ReplicaLog,
        node_id: int,
        partition_count: int,
        timeout_ms: int,
        clock: Clock,
        fatal: FatalHandler,
    ) -> None:
        """`partition_count` is that of the topic while it is not there yet, `timeout_ms` how long to wait for the log
        unless somebody says otherwise."""
        self.name = f"CoordinatorDriver {runtime.topic}"
        self.runtime = runtime
        self._log = log
        self._node_id = node_id
        self._partition_count = partition_count
        self._timeout_ms = timeout_ms
        self._topic_image: TopicImage | None = None
        self._to_load: deque[int] = deque()
        self._loading: asyncio.Task[None] | None = None
        self._is_closed = False
        self._fatal = fatal
        self._tasks = BackgroundTasks(fatal)
        self._timer = DeadlineTimer(clock, lambda: runtime.deadline_ms, runtime.tick, fatal)
        runtime.on_deadline(self._timer.reschedule)
        log.on_high_watermark = self._high_watermark_reached

    # What handlers ask

    @property
    def topic(self) -> str:
        return self.runtime.topic

    def partition_for(self, key: str) -> int:
        return partition_for(key, self._partition_count)

    async def write(
        self,
        key: str,
        operation: Callable[[AnyShard], Decision[Answer]],
        *,
        timeout_ms: int | None = None,
        writer: Writer = NOBODY,
    ) -> Answer:
        """Raise ApiError; see `CoordinatorRuntime.write`."""
        return await answer(self.start_write(key, operation, timeout_ms=timeout_ms, writer=writer))

    async def read(self, key: str, operation: Callable[[AnyShard], Answer]) -> Answer:
        return await answer(self.start_read(key, operation))

    def start_write(
        self,
        key: str,
        operation: Callable[[AnyShard], Decision[Answer]],
        *,
        timeout_ms: int | None = None,
        writer: Writer = NOBODY,
    ) -> Reply[Answer]:
        limit_ms = self._timeout_ms if timeout_ms is None else timeout_ms
        return self.runtime.write(self.partition_for(key), operation, timeout_ms=limit_ms, writer=writer)

    def start_read(self, key: str, operation: Callable[[AnyShard], Answer]) -> Reply[Answer]:
        return self.runtime.read(self.partition_for(key), operation, timeout_ms=self._timeout_ms)

    async def read_all(self, operation: Callable[[AnyShard], Answer]) -> list[Answer]:
        """Read from every partition that is led here; those that move away meanwhile are left out. Raise the ApiError
        of a partition that is loading."""
        replies = [
            self.runtime.read(partition, operation, timeout_ms=self._timeout_ms)
            for partition in self.runtime.partitions()
        ]
        results = []
        for reply in replies:
            try:
                results.append(await answer(reply))
            except ApiError as error:
                if error.code != ErrorCode.NOT_COORDINATOR:
                    raise
        return results

    def complete_transaction(
        self, partition: int, writer: Writer, coordinator_epoch: int, is_committed: bool
    ) -> Reply[None]:
        """Write the marker that ends a transaction in a partition of the topic."""
        return self.runtime.complete_transaction(
            partition, writer, coordinator_epoch, is_committed, timeout_ms=self._timeout_ms
        )

    # Metadata

    def on_metadata_update(self, delta: MetadataDelta, image: MetadataImage, manifest: LoaderManifest) -> None:
        if self._is_closed:
            return
        topic: TopicImage | None = image.topics.by_name.get(self.topic)
        if topic is not self._topic_image:
            self._follow(self._topic_image, topic)
            self._topic_image = topic
        self.runtime.metadata_changed(delta, image)

    def on_controller_change(self, leader_and_epoch: LeaderAndEpoch) -> None:
        """Ignore the change: coordinators do not depend on the controller."""

    def _follow(self, before: TopicImage | None, topic: TopicImage | None) -> None:
        if before is not None and (topic is None or topic.id != before.id):
            self.runtime.close()
        if topic is None:
            return
        self._partition_count = len(topic.partitions)
        for partition_index, partition in sorted(topic.partitions.items()):
            if partition.leader != self._node_id:
                self.runtime.unload(partition_index, partition.leader_epoch)
            elif self.runtime.load(partition_index, partition.leader_epoch):
                self._to_load.append(partition_index)
        if self._to_load and self._loading is None:
            self._loading = self._tasks.start(self._load())
            self._loading.add_done_callback(self._load_ended)

    async def _load(self) -> None:
        while self._to_load:
            partition = self._to_load.popleft()
            if not self.runtime.is_loading(partition):
                continue
            if not self._log.is_led(partition):
                self._to_load.append(partition)
                await asyncio.sleep(_NOT_READY_S / len(self._to_load))
                continue
            while self.runtime.load_step(partition):
                await asyncio.sleep(0)
            await asyncio.sleep(0)

    def _load_ended(self, task: "asyncio.Task[None]") -> None:
        self._loading = None

    # The log and time

    def _high_watermark_reached(self, partition: int) -> None:
        if not self._is_closed:
            asyncio.get_running_loop().call_soon(self._guarded, lambda: self.runtime.high_watermark_moved(partition))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            if not self._is_closed:
                work()
        except Exception as error:  # noqa: BLE001 - nobody waits for it, so nobody else would notice
            self._fatal(error)

    async def close(self) -> None:
        self._is_closed = True
        self._timer.close()
        await self._tasks.close()
        self.runtime.close()
