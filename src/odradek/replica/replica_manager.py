"""All replicas of this broker, and the door through which handlers and drivers come to them.

Handlers call `produce`, `fetch`, `list_offsets`, `offsets_for_leader_epoch`, `delete_records`, `describe_log_dirs`.
The first two and `delete_records` answer through a callback, which is called once: before the method returns, or later
from `tick`, from another request, or from a change of metadata. Callbacks that are called later must not raise.

Drivers call `apply` for each new metadata image, `tick` at `deadline_ms` or later, and carry the messages of
`alter_partition` (to the controller) and of `fetchers` (to other brokers). `broker_epoch` must be set when the broker
has registered. Nothing here waits, and nothing here knows of connections.

**Failure of a log directory**, noticed here or by the log manager, takes the partitions in it offline: they answer
KAFKA_STORAGE_ERROR, and those that wait for them are answered. The driver learns of the directory through
`on_dir_failed` and tells the controller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID, TopicPartition, uuid_to_text
from odradek.common.ports import Buffer, Clock
from odradek.log.errors import DamagedFile, InconsistentTopicId, KafkaStorageError, StorageFault
from odradek.log.manager.log_manager import LogManager
from odradek.log.offsets import AppendOrigin
from odradek.log.producers.producer_append import TV_UNKNOWN
from odradek.log.producers.producer_entry import VerificationGuard
from odradek.log.values import Isolation
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.replica import damage, delete_records, fetch, first_image, list_offsets, metadata_changes, produce
from odradek.replica.alter_partition import AlterPartitionOutbox
from odradek.replica.context import ReplicaContext
from odradek.replica.controller_contact import ControllerContact
from odradek.replica.dir_moves import DirMoves
from odradek.replica.errors import NotLeaderOrFollower, UnknownTopicOrPartition
from odradek.replica.fetch_session import FetchSessions
from odradek.replica.fetchers import Fetchers
from odradek.replica.partition import Partition
from odradek.replica.purgatory import DelayedOperation, Purgatory
from odradek.replica.settings import ReplicaSettings
from odradek.replica.throttle import ReplicationThrottle
from odradek.replica.values import (
    NO_EPOCH,
    NO_OFFSET,
    DeleteRecordsCallback,
    DeleteRecordsEntry,
    EpochEntry,
    EpochResult,
    FetchCallback,
    FetchEntry,
    FetchParams,
    FetchResult,
    ListOffsetsEntry,
    ListOffsetsResult,
    LogDirInfo,
    ProduceCallback,
    ProduceEntry,
    ProduceResult,
    ProducerInfo,
    ReplicaInfo,
)

logger = logging.getLogger("odradek.replica")


def _ignore_dir(_: bytes) -> None:
    pass


def _ignore_assignment(_topic_id: bytes, _partition: int, _directory_id: bytes) -> None:
    pass


class ReplicaManager:
    """`partitions` is public to read; a partition that is offline is in `offline` instead."""

    def __init__(
        self,
        broker_id: int,
        clock: Clock,
        logs: LogManager,
        settings: ReplicaSettings | None = None,
        *,
        new_session_id: Callable[[], int],
    ) -> None:
        """`logs` has loaded what there is. `new_session_id` draws a random positive 31-bit number."""
        self.broker_id = broker_id
        self.clock = clock
        self.logs = logs
        self.settings = settings or ReplicaSettings()
        self.context = ReplicaContext(broker_id, clock, logs, self.settings)
        self.partitions: dict[TopicPartition, Partition] = {}
        #: Partitions whose directory has failed, with their topic id.
        self.offline: dict[TopicPartition, bytes] = {}
        #: Those of them whose log is damaged while its directory is sound; see `damage`.
        self.damaged: dict[TopicPartition, None] = {}
        self.produce_purgatory: Purgatory[DelayedOperation] = Purgatory(is_ordered=True)
        self.fetch_purgatory: Purgatory[fetch.DelayedFetch] = Purgatory()
        self.delete_purgatory: Purgatory[delete_records.DelayedDelete] = Purgatory()
        self.sessions = FetchSessions(self.settings.max_incremental_fetch_session_cache_slots, clock, new_session_id)
        self.fetchers = Fetchers(self)
        #: Replicas on their way to another log directory. The driver calls `step` while that copies anything.
        self.dir_moves = DirMoves(self)
        #: `leader.replication.throttled.rate` and `follower.replication.throttled.rate`.
        self.leader_throttle = ReplicationThrottle(broker_id, self.settings.replication_quota_windows)
        self.follower_throttle = ReplicationThrottle(broker_id, self.settings.replication_quota_windows)
        self.is_in_controlled_shutdown = False
        #: Told the id of each log directory that fails.
        self.on_dir_failed: Callable[[bytes], None] = _ignore_dir
        #: Told of each replica that is, or will be, in another directory than the metadata log says: topic id,
        #: partition, directory. The driver tells the controller, and then `dir_moves.assignment_accepted`.
        self.on_assignment: Callable[[bytes, int, bytes], None] = _ignore_assignment
        #: Whether the logs that were found at the start are known to be ours.
        self._is_settled = False
        self._next_isr_check_ms = clock.monotonic_ms() + self.settings.isr_check_interval_ms
        self._dir_ids = {path: directory.directory_id for path, directory in logs.live.items()}
        logs.on_offline(self._dir_failed)

    # -- what is known

    @property
    def image(self) -> MetadataImage:
        """As far as this broker has applied it."""
        return self.context.image

    @property
    def alter_partition(self) -> AlterPartitionOutbox:
        """ISR changes on their way to the controller."""
        return self.context.alter_partition

    @property
    def contact(self) -> ControllerContact:
        return self.context.contact

    @property
    def broker_epoch(self) -> int:
        return self.context.broker_epoch

    @broker_epoch.setter
    def broker_epoch(self, epoch: int) -> None:
        self.context.broker_epoch = epoch

    def find(self, tp: TopicPartition, topic_id: bytes = ZERO_UUID) -> Partition:
        """Raises `ApiError`: KAFKA_STORAGE_ERROR if it is offline, NOT_LEADER_OR_FOLLOWER if it is another broker's,
        UNKNOWN_TOPIC_OR_PARTITION if it is nobody's; with a topic id that is another topic's, INCONSISTENT_TOPIC_ID."""
        partition = self.partitions.get(tp)
        if partition is None:
            raise self.missing(tp)
        if topic_id != ZERO_UUID and topic_id != partition.topic_id:
            raise InconsistentTopicId(
                f"{tp} has topic id {uuid_to_text(partition.topic_id)}, not {uuid_to_text(topic_id)}"
            )
        return partition

    def missing(self, tp: TopicPartition) -> ApiError:
        """Why a partition is not to be found here."""
        if tp in self.offline:
            where = "has a damaged log" if tp in self.damaged else "is in an offline log directory"
            return KafkaStorageError(f"{tp} {where}")
        topic = self.image.topics.by_name.get(tp.topic)
        if topic is not None and tp.partition in topic.partitions:
            return NotLeaderOrFollower(f"{tp} has no replica on this broker, or it has not been made yet")
        return UnknownTopicOrPartition(f"There is no partition {tp}")

    # -- requests

    def produce(
        self,
        entries: Sequence[ProduceEntry],
        acks: int,
        timeout_ms: int,
        callback: ProduceCallback,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        internal_topics_allowed: bool = False,
        guards: Mapping[TopicPartition, VerificationGuard] | None = None,
        transaction_version: int = TV_UNKNOWN,
    ) -> None:
        """Append to the partitions that this broker leads. With `acks` 0 or 1 the callback is called at once, with -1
        when the high watermark has passed each of them or `timeout_ms` is over. `acks` other than these is
        INVALID_REQUIRED_ACKS for all. `guards` of transactional batches come from `Partition.local_log` and the
        coordinator."""
        arguments = (origin, internal_topics_allowed, guards, transaction_version)
        produce.produce(self, entries, acks, timeout_ms, callback, *arguments)

    def produce_one(
        self, topic_partition: TopicPartition, records: Buffer, topic_id: bytes, acks: int
    ) -> ProduceResult | None:
        """As `produce`, for one batch of a client, answered at once; None, and nothing done, if it would have to
        wait. `acks` is 1 or -1."""
        return produce.produce_one(self, topic_partition, records, topic_id, acks)

    def fetch(self, params: FetchParams, entries: Sequence[FetchEntry], callback: FetchCallback) -> None:
        """Find records, of all partitions together up to `params.max_bytes`, though at least one batch if there is
        any. The callback is called at once if there are `min_bytes`, an error, or anything else to say; otherwise
        when there are, or `max_wait_ms` is over. A fetch of a follower is noted as its progress."""
        fetch.fetch(self, params, entries, callback)

    def read_records(self, result: FetchResult) -> Buffer:
        """The bytes that a fetch found, checked on the way out. Raises `ApiError`: the segment may have been cleaned
        since (REPLICA_NOT_AVAILABLE), or its disk has failed."""
        return fetch.read_records(self, result)

    def list_offsets(
        self, entries: Iterable[ListOffsetsEntry], replica_id: int, isolation: Isolation
    ) -> list[ListOffsetsResult]:
        """Offsets by time. `replica_id` is a broker's, `CONSUMER`, or `DEBUGGING_CONSUMER` who may ask followers. An
        OFFSET_NOT_AVAILABLE is LEADER_NOT_AVAILABLE before version 5, for the handler to see to."""
        return list_offsets.list_offsets(self, entries, replica_id, isolation)

    def offsets_for_leader_epoch(self, entries: Iterable[EpochEntry]) -> list[EpochResult]:
        return list_offsets.offsets_for_leader_epoch(self, entries)

    def delete_records(
        self,
        entries: Sequence[DeleteRecordsEntry],
        timeout_ms: int,
        callback: DeleteRecordsCallback,
        *,
        internal_topics_allowed: bool = False,
    ) -> None:
        """Move log starts. The callback is called when all live replicas have followed, or `timeout_ms` is over."""
        delete_records.delete_records(self, entries, timeout_ms, callback, internal_topics_allowed)

    def producers(self, tp: TopicPartition) -> list[ProducerInfo]:
        """Producers that the log of this replica remembers, be it the leader or a follower. Raises ApiError."""
        log = self.find(tp).log_for(NO_EPOCH, only_leader=False)
        return [
            ProducerInfo(
                *(entry.producer_id, entry.producer_epoch, entry.last_sequence, entry.last_timestamp),
                entry.coordinator_epoch,
                NO_OFFSET if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
            )
            for entry in log.producers.producers.values()
        ]

    def describe_log_dirs(self, wanted: Iterable[TopicPartition] | None = None) -> list[LogDirInfo]:
        """Every log directory, with the replicas of `wanted` (None: of all) in it."""
        chosen = None if wanted is None else dict.fromkeys(wanted)
        found = []
        for path in self._dir_ids | dict.fromkeys(self.logs.offline):
            if path not in self.logs.live:
                found.append(LogDirInfo(path, KafkaStorageError.code))
                continue
            replicas = [
                ReplicaInfo(
                    tp, log.segments.size_bytes, self._lag(tp, log.offsets.log_end_offset, log.is_future), log.is_future
                )
                for tp, log in self.logs.logs_in(path).items()
                if chosen is None or tp in chosen
            ]
            found.append(LogDirInfo(path, 0, tuple(replicas), path in self.logs.cordoned))
        return found

    def alter_replica_log_dirs(self, wanted: Iterable[tuple[TopicPartition, str]]) -> list[int]:
        """Move replicas to other log directories of this broker; an error code for each."""
        return [self.dir_moves.request(tp, path) for tp, path in wanted]

    def _lag(self, tp: TopicPartition, end_offset: int, is_future: bool) -> int:
        """Of a future log behind the current one; of a current one behind its high watermark. -1: not known."""
        partition = self.partitions.get(tp)
        if partition is None or partition.log is None:
            return -1
        return (
            partition.log.offsets.log_end_offset - end_offset
            if is_future
            else max(partition.log.offsets.high_watermark - end_offset, 0)
        )

    # -- what the drivers do

    def apply(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Make of this broker's replicas what the image says. `delta` is what changed since the last call."""
        for _ in self.apply_in_steps(delta, image):
            pass

    def apply_in_steps(self, delta: MetadataDelta, image: MetadataImage) -> Iterator[None]:
        """As `apply`, a partition at a time; other calls may come between the steps, but for those of another image."""
        is_first = not self._is_settled
        if is_first:
            first_image.settle(self, image)
            self._is_settled = True
        yield from metadata_changes.steps(self, delta, image, is_first=is_first)

    @property
    def deadline_ms(self) -> int:
        """When `tick` is next worth calling; messages have deadlines of their own."""
        deadline_ms = self._next_isr_check_ms
        for purgatory in (self.produce_purgatory, self.fetch_purgatory, self.delete_purgatory):
            expires_ms = purgatory.deadline_ms
            if expires_ms is not None and expires_ms < deadline_ms:
                deadline_ms = expires_ms
        return deadline_ms

    def tick(self, now_ms: int) -> None:
        """Answer those whose time is over, and take followers out of the ISR that have been behind for too long."""
        self.produce_purgatory.expire(now_ms)
        self.fetch_purgatory.expire(now_ms)
        self.delete_purgatory.expire(now_ms)
        if now_ms >= self._next_isr_check_ms:
            self._next_isr_check_ms = now_ms + self.settings.isr_check_interval_ms
            for partition in list(self.partitions.values()):
                if partition.log is not None and isinstance(partition.log.health.fault, DamagedFile):
                    self.log_failed(partition.topic_partition, partition.log.health.fault)
                partition.maybe_shrink_isr(now_ms)

    def begin_controlled_shutdown(self) -> None:
        """From now on partitions that this broker has left do not fetch any more."""
        self.is_in_controlled_shutdown = True

    # -- what the modules of this room do

    def wake(self, tp: TopicPartition) -> None:
        """The high watermark moved, or the partition is no longer what it was: ask all who wait for it."""
        self.produce_purgatory.check(tp)
        self.fetch_purgatory.check(tp)
        self.delete_purgatory.check(tp)

    def storage_failed(self, fault: StorageFault) -> None:
        """A disk failed under one of the partitions."""
        self.logs.fail_dir(fault)

    def log_failed(self, tp: TopicPartition, fault: StorageFault | DamagedFile) -> None:
        """The log of a partition could not be used: its disk has failed, or holds something else than was written."""
        if isinstance(fault, StorageFault):
            self.storage_failed(fault)
        else:
            damage.give_up(self, tp, fault)

    def _dir_failed(self, path: str, _: tuple[TopicPartition, ...]) -> None:
        gone = [tp for tp, partition in self.partitions.items() if _is_in(partition, path)]
        for tp in gone:
            self.mark_offline(tp)
        self.dir_moves.drop_dir(path)
        logger.warning("log directory %s has failed; %d partitions are offline", path, len(gone))
        self.on_dir_failed(self._dir_ids.get(path, ZERO_UUID))

    def mark_offline(self, tp: TopicPartition) -> None:
        partition = self.partitions.pop(tp, None)
        if partition is not None:
            self.offline[tp] = partition.topic_id
            self.fetchers.remove((tp,))
            self.dir_moves.cancel(tp, delete=False)
            partition.mark_offline()
            self.wake(tp)


def _is_in(partition: Partition, log_dir: str) -> bool:
    return partition.log is not None and partition.log.log_dir == log_dir
