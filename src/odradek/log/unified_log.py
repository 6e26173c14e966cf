"""One replica's log: segments on disk, and the offsets, epochs and producers that belong to them.

`UnifiedLog` holds the state and keeps the offsets in order; each thing that is done with it is a module of its own, as
functions over the log: `log_appender` (with `batch_validator`), `log_reader`, `timestamp_lookup`, `log_retention`,
`log_truncation`, `log_flusher`. `log_loader.load_log` makes a log from a directory. A log is used by one thread at a
time; only `FlushPlan.run` and `Removal.run` may run beside it.

Offsets, in order:

    log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset

The recovery point says up to where the log is known to be on disk. What lies at or above it is checked after a crash
and cut where it is torn; what lies below it is taken to be sound, and damage found there is a fault (`CorruptLog`),
never a reason to cut.

**When the disk fails.** An `OSError` becomes a `StorageFault`, which is kept in `fault`; from then on every call that
needs the disk is refused with `KafkaStorageError`. Nothing is retried: after a failed write or sync nobody knows what
is on the disk.

**What the caller does for the log.** It carries out `take_removals()` after their delay, and it flushes (in a worker)
when `flush_wanted` is set, which a roll does: sealed segments become durable soon, and recovery stays short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from odradek.common.failures import Fault, fail
from odradek.common.ids import TopicPartition
from odradek.common.ports import Buffer, Clock, FileSystem
from odradek.log import log_appender as appending
from odradek.log import log_flusher, log_reader, log_retention, log_truncation, timestamp_lookup
from odradek.log.errors import DamagedFile, InconsistentTopicId, KafkaStorageError, OffsetOutOfRange, StorageFault
from odradek.log.file_names import FUTURE_DIR_SUFFIX, PARTITION_METADATA
from odradek.log.leader_epochs import EpochCache
from odradek.log.log_config import LogConfig
from odradek.log.log_flusher import FlushPlan
from odradek.log.log_retention import Removal
from odradek.log.manager.checkpoint_files import write_partition_metadata
from odradek.log.offsets import AppendOrigin, FoundTimestamp, OffsetMetadata
from odradek.log.producers.producer_append import TV_UNKNOWN
from odradek.log.producers.producer_entry import NO_VERIFICATION, VerificationGuard
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segments import segment_roll
from odradek.log.segments.segment import Segment
from odradek.log.segments.segment_list import Segments
from odradek.log.values import AppendInfo, EpochEndOffset, Isolation, LogRead, OffsetSnapshot
from odradek.records.errors import CorruptRecord


def no_jitter() -> int:
    return 0


class UnifiedLog:
    def __init__(
        self,
        files: FileSystem,
        clock: Clock,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        segments: Segments,
        epochs: EpochCache,
        producers: ProducerState,
        *,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        topic_id: bytes | None = None,
        roll_jitter_ms: Callable[[], int] = no_jitter,
        check_on_read: bool = True,
        open_compressed: bool = True,
    ) -> None:
        """For `log_loader.load_log`. `roll_jitter_ms` draws the jitter of a new segment (`segment.jitter.ms`);
        `check_on_read`: `fetch` checks the CRC of every batch it serves; `open_compressed`: a leader checks the
        records within a compressed batch, as Kafka does."""
        self.files = files
        self.clock = clock
        self.directory = directory
        #: The directory that holds this log beside others, and goes offline as a whole.
        self.log_dir = directory.rpartition("/")[0]
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.config = config
        self.segments = segments
        self.epochs = epochs
        self.producers = producers
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.roll_jitter_ms = roll_jitter_ms
        self.check_on_read = check_on_read
        self.open_compressed = open_compressed
        self.last_flush_ms = clock.monotonic_ms()
        #: Up to where a flush is wanted soon, or None.
        self.flush_wanted: int | None = None
        #: Why the log is offline, or None.
        self.fault: Fault | None = None
        self.removals: list[Removal] = []
        #: Made by this process, and neither topic id nor directory were synced yet.
        self.is_unsynced = False
        #: Snapshots that were written but not synced.
        self.unsynced_snapshots: list[str] = []
        #: How many segments were made, and how many of them have a durable name.
        self.names_made = 1
        self.names_synced = 0
        self.is_closed = False
        #: What loading had to put right, in words.
        self.repairs: tuple[str, ...] = ()
        self.log_start_offset = max(log_start_offset, segments.first.base_offset)
        self.high_watermark = self.log_start_offset
        self._high_watermark_place = OffsetMetadata(self.high_watermark)

    def __repr__(self) -> str:
        return (
            f"UnifiedLog({self.directory}, {self.log_start_offset} <= {self.last_stable_offset} <= "
            f"{self.high_watermark} <= {self.log_end_offset})"
        )

    # -- offsets

    @property
    def name(self) -> str:
        return self.directory.rpartition("/")[2]

    @property
    def names_on_disk(self) -> int:
        """As `names_made`, but for the segment of a new log that has no files yet."""
        return self.names_made - self.segments.active.is_to_be_made

    @property
    def partition_metadata_path(self) -> str:
        return f"{self.directory}/{PARTITION_METADATA}"

    @property
    def is_future(self) -> bool:
        return self.directory.endswith(FUTURE_DIR_SUFFIX)

    @property
    def is_empty(self) -> bool:
        return self.log_start_offset == self.log_end_offset

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    @property
    def first_unstable_offset(self) -> int | None:
        """Start of the earliest transaction that is still undecided."""
        unstable = self.producers.first_unstable_offset()
        return None if unstable is None else max(unstable.message_offset, self.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        unstable = self.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    @property
    def latest_epoch(self) -> int | None:
        return self.epochs.latest_epoch

    @property
    def log_end_place(self) -> OffsetMetadata:
        active = self.segments.active
        return OffsetMetadata(self.log_end_offset, active.base_offset, active.size)

    @property
    def high_watermark_place(self) -> OffsetMetadata:
        """With the place in its segment, which is looked up once and remembered."""
        if self.high_watermark == self.log_end_offset:
            return self.log_end_place
        place = self._high_watermark_place
        if place.message_offset != self.high_watermark or place.is_offset_only:
            place = self._high_watermark_place = log_reader.find_place(self, self.high_watermark)
        return place

    @property
    def last_stable_place(self) -> OffsetMetadata:
        unstable = self.producers.first_unstable_offset()
        if unstable is None or unstable.message_offset >= self.high_watermark:
            return self.high_watermark_place
        if unstable.is_offset_only or unstable.message_offset < self.log_start_offset:
            return log_reader.find_place(self, max(unstable.message_offset, self.log_start_offset))
        return unstable

    def offset_snapshot(self) -> OffsetSnapshot:
        return OffsetSnapshot(
            self.log_start_offset, self.log_end_place, self.high_watermark_place, self.last_stable_place
        )

    def update_high_watermark(self, offset: int) -> int:
        """Set it, kept between log start and log end; the new value. A follower does so, and a truncation."""
        offset = min(max(offset, self.log_start_offset), self.log_end_offset)
        self.high_watermark = offset
        self.producers.on_high_watermark_updated(offset)
        return offset

    def maybe_increment_high_watermark(self, place: int | OffsetMetadata) -> bool:
        """Forward only: the leader's way. With an `OffsetMetadata` the place need not be looked up again."""
        offset = place if isinstance(place, int) else place.message_offset
        if offset <= self.high_watermark:
            return False
        if offset > self.log_end_offset:
            fail(f"high watermark {offset} is beyond the end {self.log_end_offset}")
        self.high_watermark = offset
        if not isinstance(place, int):
            self._high_watermark_place = place
        self.producers.on_high_watermark_updated(offset)
        return True

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """Records below `offset` are no longer served; their segments go with the next retention."""
        self.check_online()
        if offset > self.high_watermark:
            raise OffsetOutOfRange(
                f"Cannot increment the log start offset to {offset} of partition {self.topic_partition} since it is "
                f"larger than the high watermark {self.high_watermark}"
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        with self.guard():
            self.epochs.truncate_from_start(offset)
            self.epochs.flush()
        self.producers.on_log_start_offset_incremented(offset)
        return True

    def set_log_end_offset(self, offset: int) -> None:
        """For the modules of the log: after a truncation."""
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self.forget_places()

    def forget_places(self) -> None:
        """Files were replaced: positions that were remembered say nothing any more."""
        self._high_watermark_place = OffsetMetadata(self.high_watermark)

    # -- append

    def append_as_leader(
        self,
        records: Buffer,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        *,
        guard: VerificationGuard = NO_VERIFICATION,
        transaction_version: int = TV_UNKNOWN,
    ) -> AppendInfo:
        """One batch (from the Raft leader: several), stamped in place if the buffer is writable."""
        if origin is AppendOrigin.RAFT_LEADER:
            return appending.append_as_is(self, records, leader_epoch, origin)
        return appending.append_as_leader(self, records, leader_epoch, origin, guard, transaction_version)

    def append_as_follower(self, records: Buffer, leader_epoch: int) -> AppendInfo:
        """What was fetched from the leader; `leader_epoch` is the epoch that this replica follows."""
        return appending.append_as_is(self, records, leader_epoch, AppendOrigin.REPLICATION)

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool
    ) -> VerificationGuard:
        """Before a transaction's first batch: what proves, with the batch, that the coordinator knows of it."""
        return appending.start_verification(self, producer_id, sequence, epoch, supports_epoch_bump)

    # -- read

    def read(
        self,
        offset: int,
        max_bytes: int,
        isolation: Isolation = Isolation.LOG_END,
        min_one_message: bool = True,
    ) -> LogRead:
        """Where the records from `offset` on lie; nothing is read but what the search needs."""
        return log_reader.read(self, offset, max_bytes, isolation, min_one_message)

    def fetch(self, found: LogRead) -> bytes:
        """The bytes of a `read`; with `check_on_read` every whole batch in them is known to be sound."""
        return log_reader.fetch(self, found)

    def offset_for_timestamp(self, timestamp: int) -> FoundTimestamp | None:
        """The answer to ListOffsets, for times and for the special values of `timestamp_lookup`."""
        return timestamp_lookup.offset_for_timestamp(self, timestamp)

    def end_offset_for_epoch(self, leader_epoch: int) -> EpochEndOffset | None:
        epoch, end_offset = self.epochs.end_offset_for(leader_epoch, self.log_end_offset)
        return None if end_offset < 0 else EpochEndOffset(epoch, end_offset)

    # -- change

    def add_segment(self, base_offset: int) -> Segment:
        return segment_roll.add_segment(self, base_offset)

    def roll(self, expected_next_offset: int = 0) -> Segment:
        """Seal the active segment and begin a new one at the log end."""
        self.check_online()
        with self.guard():
            return segment_roll.roll(self, expected_next_offset)

    def replace_segments(self, new: Iterable[Segment], old: Iterable[Segment]) -> None:
        """The cleaner's swap: `new` are `.cleaned` and synced, and hold what is left of `old`."""
        self.check_online()
        with self.guard():
            segment_roll.replace_segments(self, list(new), list(old))

    def truncate_to(self, offset: int) -> bool:
        """Drop the records at `offset` and above; False if there were none."""
        self.check_online()
        with self.guard():
            return log_truncation.truncate_to(self, offset)

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        self.check_online()
        with self.guard():
            log_truncation.truncate_fully_and_start_at(self, offset, log_start_offset)

    def delete_old_segments(self) -> int:
        """What retention allows; how many segments went."""
        self.check_online()
        with self.guard():
            return log_retention.delete_old_segments(self)

    def take_removals(self) -> list[Removal]:
        """Files to remove after their delay; handed out once."""
        removals, self.removals = self.removals, []
        return removals

    def expire_producers(self) -> None:
        self.producers.remove_expired(self.clock.wall_ms())

    def take_producer_snapshot(self) -> None:
        """Durable with the next flush."""
        self.check_online()
        with self.guard():
            path = self.producers.take_snapshot(sync=False)
        if path is not None:
            self.unsynced_snapshots.append(path)

    def update_config(self, config: LogConfig) -> None:
        self.config = config

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Once; the directory of another topic of the same name is not touched."""
        if self.topic_id is not None and self.topic_id != topic_id:
            raise InconsistentTopicId(
                f"Tried to assign topic ID {topic_id.hex()} to log for topic partition {self.topic_partition}, but log "
                f"already contained topic ID {self.topic_id.hex()}"
            )
        if self.topic_id is None:
            self.check_online()
            with self.guard():
                write_partition_metadata(self.files, self.directory, topic_id)
            self.topic_id = topic_id

    # -- durability, and the end

    def plan_flush(self, up_to: int | None = None, *, include_active: bool = False) -> FlushPlan | None:
        """None if there is nothing to do. Then `plan.run()` in any thread, then `finish_flush(plan)`."""
        self.check_online()
        with self.guard():
            return log_flusher.plan(self, up_to, include_active)

    def assume_synced(self) -> None:
        """For the loader: everything was synced when the log was closed."""
        self.names_synced = self.names_on_disk
        for segment in self.segments:
            segment.assume_synced()

    def finish_flush(self, plan: FlushPlan) -> None:
        self.check_online()
        log_flusher.finish(self, plan)

    def flush(self, *, include_active: bool = False) -> None:
        """All three steps here and now."""
        plan = self.plan_flush(include_active=include_active)
        if plan is not None:
            plan.run()
            self.finish_flush(plan)

    def rename_dir(self, name: str, *, keep_state: bool = True, sync: bool = True) -> None:
        """To `-delete`, from `-future`, …; a log that is being deleted needs no epochs any more. With `sync` the new
        name is durable."""
        self.check_disk()
        target = f"{self.log_dir}/{name}"
        if target == self.directory:
            return
        with self.guard():
            self.files.rename(self.directory, target)
            if sync:
                self.files.sync_dir(self.log_dir)
        self.directory = target
        for segment in self.segments:
            segment.update_directory(target)
        self.producers.update_directory(target)
        self.epochs.update_directory(target)
        if not keep_state:
            self.epochs.clear()

    def close(self) -> None:
        """Leave the directory as the next start wants it. Flush first: a clean stop means that all is synced."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.fault is not None:
            self.close_handlers()
            return
        with self.guard():
            self.epochs.flush()
            self.producers.take_snapshot()
            for segment in self.segments:
                segment.close()

    def close_handlers(self) -> None:
        """Let go of all files and write nothing: the directory is offline."""
        self.is_closed = True
        for segment in self.segments:
            segment.close_handlers()

    def delete(self) -> None:
        """Remove the log and its directory. Not synced: what a crash brings back has a name that says what it is."""
        self.check_disk()
        self.is_closed = True
        with self.guard():
            self.epochs.clear()
            for segment in self.segments:
                segment.close_handlers()
            self.files.remove_tree(self.directory)

    # -- faults

    def check_online(self) -> None:
        if self.is_closed and self.fault is None:
            raise KafkaStorageError(f"The log of {self.topic_partition} was closed")
        if self.fault is not None:
            raise KafkaStorageError(f"The log of {self.topic_partition} is offline: {self.fault}")

    def check_disk(self) -> None:
        """As `check_online`, for what does not look at the records: those may be damaged."""
        if not isinstance(self.fault, DamagedFile):
            self.check_online()

    def fail(self, error: OSError) -> StorageFault:
        """Go offline; the fault to raise."""
        fault = StorageFault(self.log_dir, error.filename or self.directory, error)
        self.take_offline(fault)
        return fault

    def take_offline(self, fault: Fault) -> None:
        if self.fault is None:
            self.fault = fault

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Around everything that touches the disk: an error of it, or damage on it, takes the log offline."""
        try:
            yield
        except OSError as error:
            raise self.fail(error) from error
        except CorruptRecord as error:
            raise log_reader.corrupt(self, error) from error
