"""The shards of one coordinator on this node: loading and unloading with leadership, writing, waiting, and time.

See `shard` for what a coordinator is promised. The runtime is pure: batches go to a `PartitionLog`, a driver says which
partitions this node leads (`load`, `unload`), loads them in slices (`load_step`), tells of the high watermark and of
metadata, and calls `tick` at `deadline_ms`.

**Writing.** The batch is appended before any of its records is replayed, so a refusal of the log changes nothing. What
was appended is replayed at once, and the next operation sees it; its answer is parked until it is committed. An answer
without records waits for what was appended before it, for it may have seen that. If the time-out comes first the
answer is COORDINATOR_NOT_AVAILABLE, and the records may be committed still; `on_done` is told when that is known.

**Loading.** A shard serves when all that it has loaded is committed. What an earlier leader appended last may be lost
yet, if this one fails too, so nobody may act on it before: not even the shard, when it goes on with what it finds.
"""

import logging
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from odradek.common.failures import ApiError, ProtocolError
from odradek.common.ports import Clock
from odradek.common.randomness import Randomness
from odradek.coordinator.runtime.deadlines import Deadlines
from odradek.coordinator.runtime.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    NotCoordinator,
    of_log_error,
)
from odradek.coordinator.runtime.hosted_shard import HostedShard, Parked, ShardState, ShardTimers, finish
from odradek.coordinator.runtime.loading import Loader, ReadableLog
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.serde import build_batch, module_of
from odradek.coordinator.runtime.shard import NOBODY, Decision, Operation, Shard, ShardContext, Writer
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.records.builder import end_transaction_marker
from odradek.records.compression import Compression

logger = logging.getLogger("odradek.coordinator")

Answer = TypeVar("Answer")
AnyShard = TypeVar("AnyShard", bound=Shard)

#: How long reads and timers wait for what was appended before them: the default of `offsets.commit.timeout.ms`.
DEFAULT_TIMEOUT_MS = 5_000

#: Operations that wait for one partition's high watermark, or waited in vain and may be committed yet. Far more than
#: clients have in flight; at a few hundred bytes each they stay below 100 MiB.
MAX_PARKED = 100_000


class PartitionLog(ReadableLog, Protocol):
    """The partitions of the internal topic, as far as this node leads them. Every method may raise ApiError."""

    def append(self, partition: int, batch: bytes, writer: Writer) -> int:
        """The offset after its last record."""
        ...

    def high_watermark(self, partition: int) -> int: ...

    def watch(self, partition: int, offset: int) -> None:
        """`CoordinatorRuntime.high_watermark_moved` is to be called when the high watermark has reached this. Nothing
        happens if the partition is not led here any more: it will be unloaded."""
        ...


class CoordinatorRuntime(Generic[AnyShard]):
    """`write`, `read`, `complete_transaction` for handlers; the rest is for the driver. What a reply calls back must
    not call the runtime again."""

    def __init__(
        self,
        topic: str,
        log: PartitionLog,
        new_shard: Callable[[ShardContext], AnyShard],
        clock: Clock,
        random: Randomness,
        compression: Compression = Compression.NONE,
    ) -> None:
        self.topic = topic
        self.image: MetadataImage = EMPTY
        self._log = log
        self._new_shard = new_shard
        self._clock = clock
        self._random = random
        self._compression = compression
        self._module = module_of(topic)
        self._deadlines = Deadlines()
        self._hosted: dict[int, HostedShard[AnyShard]] = {}

    # -- for handlers

    def write(
        self,
        partition: int,
        operation: Callable[[AnyShard], Decision[Answer]],
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        writer: Writer = NOBODY,
    ) -> Reply[Answer]:
        """The answer, when the records are committed. Fails with NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE (the log refuses for now), or what the operation raises."""
        reply: Reply[Answer] = Reply()
        try:
            hosted = self._active(partition)
            decision = operation(hosted.shard)
        except ApiError as error:
            reply.fail(error)
        except Exception:
            # A mistake in one operation must not take the other groups or transactions of the node with it.
            logger.exception("%s-%d: an operation failed unexpectedly", self.topic, partition)
            reply.fail(ApiError("the coordinator failed unexpectedly", ErrorCode.UNKNOWN_SERVER_ERROR))
        else:
            self._commit(partition, hosted, decision, writer, timeout_ms, reply)
        return reply

    def read(
        self, partition: int, operation: Callable[[AnyShard], Answer], *, timeout_ms: int = DEFAULT_TIMEOUT_MS
    ) -> Reply[Answer]:
        """From what is committed: it waits for what was appended before it was asked."""
        return self.write(partition, lambda shard: Decision(operation(shard)), timeout_ms=timeout_ms)

    def complete_transaction(
        self,
        partition: int,
        writer: Writer,
        coordinator_epoch: int,
        is_committed: bool,
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> Reply[None]:
        """Write the marker that ends the writer's transaction in the partition."""
        reply: Reply[None] = Reply()
        try:
            hosted = self._active(partition)
            marker = end_transaction_marker(
                commit=is_committed,
                timestamp=self._clock.wall_ms(),
                producer_id=writer.producer_id,
                producer_epoch=writer.producer_epoch,
                coordinator_epoch=coordinator_epoch,
            )
            hosted.end_offset = self._append(partition, marker, writer)
        except ApiError as error:
            reply.fail(error)
            return reply
        hosted.shard.replay_end_of_transaction(writer.producer_id, writer.producer_epoch, is_committed)
        self._park(partition, hosted, Decision(None), timeout_ms, reply)
        return reply

    def partitions(self, state: ShardState | None = None) -> list[int]:
        """Return the partitions on this node, all or those in one state."""
        return [number for number, hosted in self._hosted.items() if state in (None, hosted.state)]

    def shard(self, partition: int) -> AnyShard:
        """Return the shard with its uncommitted state, for reading. Raises ApiError."""
        return self._active(partition).shard

    # -- for the driver: leadership

    def load(self, partition: int, leader_epoch: int) -> bool:
        """This node leads the partition in this epoch; whether `load_step` is to be called for it. A shard of the very
        epoch before stays as it is: nobody else can have led between."""
        previous = self._hosted.get(partition)
        if previous is not None:
            if previous.epoch >= leader_epoch:
                return False
            if previous.epoch == leader_epoch - 1 and previous.state != ShardState.FAILED:
                previous.epoch = leader_epoch
                return False
            self.unload(partition, leader_epoch)
        self._hosted[partition] = hosted = self._new_hosted(partition, leader_epoch)
        hosted.loader = Loader(hosted.shard, self._module, self._log, partition)
        return True

    def is_active(self, partition: int) -> bool:
        hosted = self._hosted.get(partition)
        return hosted is not None and hosted.state == ShardState.ACTIVE

    def is_loading(self, partition: int) -> bool:
        hosted = self._hosted.get(partition)
        return hosted is not None and hosted.state == ShardState.LOADING

    def load_step(self, partition: int) -> bool:
        """Replay a slice of the log; whether there is more to do."""
        hosted = self._hosted.get(partition)
        if hosted is None or hosted.loader is None:
            return False
        try:
            if not hosted.loader.step():
                return True
            hosted.end_offset = self._log.end_offset(partition)
            is_committed = self._log.high_watermark(partition) >= hosted.end_offset
        except (ApiError, ProtocolError) as error:
            self._fail(hosted, f"cannot be loaded: {error}")
            return False
        except Exception:
            logger.exception("%s: replay failed at offset %s or later", hosted.name, hosted.loader.next_offset)
            self._fail(hosted, "cannot be loaded: replay failed")
            return False
        hosted.finish_loading()
        if is_committed:
            self._committed(hosted, hosted.end_offset)
        else:
            self._log.watch(partition, hosted.end_offset)
        return False

    def unload(self, partition: int, leader_epoch: int | None = None) -> None:
        """Another node leads in this epoch, or (None) the partition is gone. Older news are ignored."""
        hosted = self._hosted.get(partition)
        if hosted is None or (leader_epoch is not None and leader_epoch <= hosted.epoch):
            return
        del self._hosted[partition]
        if hosted.state != ShardState.FAILED:
            hosted.drop(f"{hosted.name} has moved to another broker")
        logger.info("%s: unloaded, was at epoch %d, is at %s", hosted.name, hosted.epoch, leader_epoch)

    def close(self) -> None:
        for partition in self.partitions():
            self.unload(partition)

    # -- for the driver: time and news

    @property
    def deadline_ms(self) -> int | None:
        return self._deadlines.next_ms

    def on_deadline(self, told: Callable[[], None]) -> None:
        """To be told whenever `deadline_ms` has come nearer."""
        self._deadlines.on_nearer = told

    def tick(self, now_ms: int) -> None:
        self._deadlines.run(now_ms)

    def high_watermark_moved(self, partition: int) -> None:
        hosted = self._hosted.get(partition)
        if hosted is None or hosted.awaited_offset is None:
            return
        try:
            high_watermark = self._log.high_watermark(partition)
        except ApiError as error:
            # The partition is not led here any more; the metadata that says so is on its way.
            logger.debug("%s: the high watermark cannot be read: %s", hosted.name, error)
            return
        self._committed(hosted, high_watermark)
        if hosted.awaited_offset is not None:
            self._log.watch(partition, hosted.awaited_offset)

    def metadata_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.image = image
        for hosted in list(self._hosted.values()):
            if hosted.state == ShardState.ACTIVE:
                self._tell(hosted, delta, image)

    # -- inside

    def _tell(self, hosted: HostedShard[AnyShard], delta: MetadataDelta, image: MetadataImage) -> None:
        try:
            hosted.shard.on_metadata(delta, image)
        except Exception:
            logger.exception("%s: cannot take the metadata at offset %d", hosted.name, image.offset)
            self._fail(hosted, "a change of metadata failed")

    def _active(self, partition: int) -> HostedShard[AnyShard]:
        hosted = self._hosted.get(partition)
        if hosted is None or hosted.state == ShardState.FAILED:
            raise NotCoordinator(f"{self.topic}-{partition} is not led by this broker")
        if hosted.state == ShardState.LOADING:
            raise CoordinatorLoadInProgress(f"{self.topic}-{partition} is being loaded")
        if hosted.parked_count >= MAX_PARKED:
            raise CoordinatorNotAvailable(f"{MAX_PARKED} operations wait for {self.topic}-{partition} already")
        return hosted

    def _commit(
        self,
        partition: int,
        hosted: HostedShard[AnyShard],
        decision: Decision[Answer],
        writer: Writer,
        timeout_ms: int,
        reply: Reply[Answer],
    ) -> None:
        """Append, replay, park."""
        if decision.records:
            try:
                batch = build_batch(self._module, decision.records, self._clock.wall_ms(), writer, self._compression)
                hosted.end_offset = self._append(partition, batch, writer)
            except ApiError as error:
                finish(decision, reply, error)
                return
            if decision.is_replayed and not self._replay(hosted, decision, writer):
                finish(decision, reply, NotCoordinator(f"{hosted.name} has failed"))
                return
        self._park(partition, hosted, decision, timeout_ms, reply)

    def _replay(self, hosted: HostedShard[AnyShard], decision: Decision[Answer], writer: Writer) -> bool:
        """Return whether all records were replayed. If not, the state contradicts the log and must not be used."""
        offset = hosted.end_offset - len(decision.records)
        try:
            for record in decision.records:
                hosted.shard.replay(offset, writer.producer_id, writer.producer_epoch, record)
                offset += 1
        except Exception:
            logger.exception("%s: the record at offset %d cannot be replayed", hosted.name, offset)
            self._fail(hosted, f"replay failed at offset {offset}")
            return False
        return True

    def _committed(self, hosted: HostedShard[AnyShard], high_watermark: int) -> None:
        try:
            hosted.committed(high_watermark)
        except Exception:
            logger.exception("%s: cannot go on with what is committed up to %d", hosted.name, high_watermark)
            self._fail(hosted, f"what follows from offset {high_watermark} failed")

    def _append(self, partition: int, batch: bytes, writer: Writer) -> int:
        try:
            return self._log.append(partition, batch, writer)
        except ApiError as error:
            logger.info("%s-%d: an append was refused: %s", self.topic, partition, error)
            raise of_log_error(error) from None

    def _park(
        self,
        partition: int,
        hosted: HostedShard[AnyShard],
        decision: Decision[Answer],
        timeout_ms: int,
        reply: Reply[Answer],
    ) -> None:
        is_first = hosted.awaited_offset is None
        try:
            is_committed = is_first and self._log.high_watermark(partition) >= hosted.end_offset
        except ApiError as error:
            finish(decision, reply, of_log_error(error))
            return
        if is_committed:
            finish(decision, reply, None)
            return
        hosted.park(Parked(hosted.end_offset, decision, reply), self._clock.monotonic_ms() + timeout_ms)
        if is_first:
            self._log.watch(partition, hosted.end_offset)

    def _new_hosted(self, partition: int, leader_epoch: int) -> HostedShard[AnyShard]:
        timers = ShardTimers(self._clock, self._deadlines, lambda operation: self._run_timer(partition, operation))
        context = ShardContext(partition, leader_epoch, self._clock, self._random, timers, lambda: self.image)
        name = f"{self.topic}-{partition}"
        return HostedShard(name, leader_epoch, self._new_shard(context), timers, self._deadlines)

    def _run_timer(self, partition: int, operation: Operation[None]) -> Reply[None]:
        return self.write(partition, lambda _: operation())

    def _fail(self, hosted: HostedShard[AnyShard], reason: str) -> None:
        logger.error("%s: failed at epoch %d: %s", hosted.name, hosted.epoch, reason)
        hosted.drop(f"{hosted.name} has failed")
