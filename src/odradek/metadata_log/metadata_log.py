"""The metadata log on disk: Raft's `RaftLog` on a `UnifiedLog` (`__cluster_metadata-0`) and snapshot files beside it.

What is durable when: appends after `flush`; truncations, a snapshot, and the log that starts at one, when the call
returns. A snapshot is frozen, and a segment is begun, only after everything before it is flushed; segments are cut
off one by one from the end. So what lies below the latest snapshot or in a sealed segment was synced once: opening
the log treats damage there as the disk's fault, not as the end of an append that a crash cut off, and a gap between
segments says which of them a crash has left over.

The epoch that a leader begins is kept in memory until its first batch is appended: `last_epoch` is that of the last
record.

When the disk fails, the call that met it raises a `Fault`, and so does every later one that would answer from the disk
or write to it: after a failed write nobody knows what is there, so the node has to stop.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from odradek.common.failures import Fault, check
from odradek.common.ports import Buffer, FileSystem
from odradek.log.log_flusher import FlushPlan
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.metadata_log.clean_end_marker import SyncedEnd, write_synced_end
from odradek.metadata_log.snapshot_file import SnapshotFile
from odradek.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from odradek.raft.storage.control_records import read_control_records
from odradek.raft.storage.raft_log import RawSnapshot
from odradek.raft.storage.snapshots import snapshot_file_name
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import OVERHEAD_BYTES, Batch, read_batch, read_batches, size_at
from odradek.records.errors import CorruptRecord, InvalidRecord

logger = logging.getLogger("odradek.metadata_log")

#: Nothing expires by itself: the log goes behind snapshots only.
FOREVER = -1

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class MetadataLogConfig:
    """`metadata.log.segment.*` and `metadata.max.retention.*`, with Kafka's defaults."""

    segment_bytes: int = 1024 * _MEGABYTE
    segment_ms: int = 7 * 24 * 3_600_000
    retention_bytes: int = 100 * _MEGABYTE
    retention_ms: int = 7 * 24 * 3_600_000


class MetadataLog:
    """A `RaftLog`; `open_metadata_log` makes one. For one thread at a time, but for the `run` of a `plan_flush`."""

    def __init__(
        self, files: FileSystem, log: UnifiedLog, snapshots: dict[OffsetAndEpoch, int], config: MetadataLogConfig
    ) -> None:
        self._files = files
        self._log = log
        #: With their sizes.
        self._snapshots = snapshots
        self._config = config
        #: Begun by `initialize_leader_epoch`, and nothing of it is written yet.
        self._leader_epoch = 0

    def __repr__(self) -> str:
        return f"MetadataLog({self.start_offset} <= {self.high_watermark} <= {self.end_offset} of {self.last_epoch})"

    @property
    def directory(self) -> str:
        return self._log.directory

    @property
    def repairs(self) -> tuple[str, ...]:
        """Repairs when the log was opened, for the log file."""
        return self._log.repairs

    # -- offsets and epochs

    @property
    def start_offset(self) -> int:
        return self._log.offsets.log_start_offset

    @property
    def end_offset(self) -> int:
        return self._log.offsets.log_end_offset

    @property
    def last_epoch(self) -> int:
        latest = self._log.epochs.latest_epoch
        if latest is not None:
            return latest
        return max(
            (snapshot_id.epoch for snapshot_id in self._snapshots if snapshot_id.offset <= self.end_offset), default=0
        )

    @property
    def high_watermark(self) -> int:
        return self._log.offsets.high_watermark

    def update_high_watermark(self, offset: int) -> None:
        check(offset <= self.end_offset, f"the high watermark {offset} is beyond the end {self.end_offset}")
        self._log.offsets.set_high_watermark(offset)

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        last_epoch = self.last_epoch
        if epoch >= last_epoch:
            latest_epoch = self._leader_epoch if last_epoch < self._leader_epoch <= epoch else last_epoch
            return OffsetAndEpoch(latest_epoch, self.end_offset)
        epoch_end = self._log.reader.end_offset_for_epoch(epoch)
        end = OffsetAndEpoch(epoch, self.start_offset) if epoch_end is None else OffsetAndEpoch(*epoch_end)
        earliest = self.earliest_snapshot_id
        if earliest is not None and end == OffsetAndEpoch(epoch, earliest.offset):
            return earliest
        return end

    def initialize_leader_epoch(self, epoch: int) -> None:
        self._leader_epoch = epoch

    # -- records

    def append_as_leader(self, batches: Buffer, epoch: int) -> None:
        appended = list(read_batches(batches))
        expected = self.end_offset
        for batch in appended:
            check(batch.base_offset == expected, f"a batch at {batch.base_offset} does not continue {self}")
            expected = batch.next_offset
        self._append(batches, appended, lambda data: self._log.appender.append_from_raft(data, epoch))

    def append_as_follower(self, batches: Buffer, epoch: int) -> None:
        valid: list[Batch] = []
        try:
            for batch in read_batches(batches):
                batch.check()
                if batch.leader_epoch > epoch:
                    return
                self._check_continues(batch, valid[-1] if valid else None)
                valid.append(batch)
        finally:
            self._append(batches, valid, lambda data: self._log.appender.append_as_follower(data, epoch))

    def _check_continues(self, batch: Batch, previous: Batch | None) -> None:
        end_offset = self.end_offset if previous is None else previous.next_offset
        last_epoch = self.last_epoch if previous is None else previous.leader_epoch
        if batch.base_offset != end_offset or batch.leader_epoch < last_epoch:
            raise InvalidRecord(
                f"a batch at {batch.base_offset} of epoch {batch.leader_epoch} does not continue a log that ends at "
                f"{end_offset} in epoch {last_epoch}"
            )
        if batch.size_bytes > self._config.segment_bytes:
            raise InvalidRecord(
                f"a batch of {batch.size_bytes} bytes does not fit into a segment of {self._config.segment_bytes}"
            )

    def _append(self, data: Buffer, batches: Sequence[Batch], write: Callable[[Buffer], object]) -> None:
        """Append in one write, unless a segment ends within: the log would start the next one before this one is
        durable."""
        self.check_online()
        if not batches:
            return
        size_bytes = sum(batch.size_bytes for batch in batches)
        if self._has_room(size_bytes, batches[-1].last_offset, max(batch.max_timestamp for batch in batches)):
            write(memoryview(data)[:size_bytes])
            return
        for batch in batches:
            if not self._has_room(batch.size_bytes, batch.last_offset, batch.max_timestamp):
                self._roll()
            write(batch.buffer)

    def _roll(self) -> None:
        self.flush()
        sealed = self._log.segments.active
        self._log.roller.roll()
        with self._log.health.guard():
            for file in sealed.flush_plan():  # the indexes, which were written out only now
                file.sync()
        sealed.flush_done()

    def _has_room(self, size_bytes: int, last_offset: int, max_timestamp: int) -> bool:
        with self._log.health.guard():
            return not self._log.segments.active.should_roll(
                size_bytes,
                last_offset,
                max_timestamp,
                now_ms=self._log.clock.wall_ms(),
                segment_bytes=self._log.config.value.segment_bytes,
                segment_ms=self._log.config.value.max_segment_ms,
            )

    def read(self, offset: int, max_bytes: int, *, committed: bool) -> Buffer:
        self.check_online()
        isolation = Isolation.HIGH_WATERMARK if committed else Isolation.LOG_END
        data = memoryview(self._log.reader.fetch(self._log.reader.read(offset, max_bytes, isolation)))
        return data[: sum(batch.size_bytes for batch in read_batches(data))]

    def truncate_to(self, offset: int) -> None:
        self.check_online()
        check(offset >= self.high_watermark, f"{offset} is below the high watermark {self.high_watermark}")
        if offset < self.end_offset:
            logger.info("truncating %s to offset %d", self, offset)
        for base_offset in reversed(self._log.segments.base_offsets):
            if base_offset <= offset or base_offset == self.start_offset:
                break
            # Emptied for good before its name goes and the segment before it is cut: a crash in between leaves an empty
            # segment behind a gap, never records.
            self._log.truncation.truncate_to(base_offset)
            self._log.truncation.truncate_to(base_offset - 1)
            self._run_removals()
            with self._log.health.guard():
                self._files.sync_dir(self.directory)
        self._log.truncation.truncate_to(offset)

    def flush(self) -> None:
        plan = self.plan_flush()
        if plan is not None:
            plan.run()
            self.finish_flush(plan)

    def plan_flush(self) -> FlushPlan | None:
        """`flush` in steps: `plan.run()` may be in a worker thread, while the log is read but not changed. None: there
        is nothing to do."""
        self.check_online()
        return self._log.flusher.plan()

    def finish_flush(self, plan: FlushPlan) -> None:
        self.check_online()
        self._log.flusher.finish(plan)

    # -- snapshots

    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None:
        return max(self._snapshots, default=None)

    @property
    def earliest_snapshot_id(self) -> OffsetAndEpoch | None:
        return min(self._snapshots, default=None)

    def snapshot_size_bytes(self, snapshot_id: OffsetAndEpoch) -> int | None:
        return self._snapshots.get(snapshot_id)

    def read_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> Buffer:
        check(snapshot_id in self._snapshots, f"there is no snapshot {snapshot_id}")
        with self.guard():
            file = self._files.open(self._snapshot_path(snapshot_id), writable=False)
            try:
                return file.read(position, max_bytes)
            finally:
                file.close()

    def create_snapshot(self, snapshot_id: OffsetAndEpoch) -> RawSnapshot | None:
        if snapshot_id in self._snapshots:
            return None
        with self.guard():
            return _GuardedSnapshot(self, SnapshotFile(self._files, self.directory, snapshot_id))

    def on_snapshot_frozen(self, snapshot_id: OffsetAndEpoch, size_bytes: int) -> None:
        self._snapshots[snapshot_id] = size_bytes

    @property
    def fault(self) -> Fault | None:
        """Fault of the disk after which no call succeeds; None while there is none."""
        return self._log.health.fault

    def check_online(self) -> None:
        if self.fault is not None:
            raise self.fault
        self._log.health.check_online()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Take the whole log offline for an error of the disk around a snapshot."""
        self.check_online()
        with self._log.health.guard():
            yield

    def truncate_to_latest_snapshot(self) -> bool:
        self.check_online()
        latest = self.latest_snapshot_id
        if latest is None or latest <= OffsetAndEpoch(self.last_epoch, self.end_offset):
            return False
        logger.info("%s is left behind: it starts anew at offset %d of epoch %d", self, latest.offset, latest.epoch)
        self._log.truncation.restart_at(latest.offset)
        self._run_removals()
        self._remove_snapshots_before(latest)
        self._leader_epoch = 0
        return True

    def delete_before_snapshot(self, snapshot_id: OffsetAndEpoch) -> bool:
        """Delete the log before a snapshot. Not beyond the high watermark: after a restart it is unknown what is
        committed."""
        self.check_online()
        if snapshot_id not in self._snapshots or not self.start_offset < snapshot_id.offset <= self.high_watermark:
            return False
        logger.info("%s goes before its snapshot at offset %d", self, snapshot_id.offset)
        self._log.offsets.raise_start(snapshot_id.offset)
        self._log.retention.delete_old_segments()
        self._run_removals()
        self._remove_snapshots_before(snapshot_id)
        return True

    def clean(self, wall_ms: int) -> bool:
        is_cleaned = False
        while len(self._snapshots) > 1 and self._is_over(wall_ms):
            if not self.delete_before_snapshot(sorted(self._snapshots)[1]):
                break
            is_cleaned = True
        return is_cleaned

    def close(self) -> None:
        """Close the log. It is durable, unless the disk has failed."""
        if self.fault is None and not self._log.health.is_closed:
            self.flush()
            self._note_synced_end()
        self._log.close()

    def _note_synced_end(self) -> None:
        active = self._log.segments.active
        end = SyncedEnd(self.end_offset, active.log_path.rpartition("/")[2], active.size)
        with self._log.health.guard():
            write_synced_end(self._files, self.directory, end)

    def _is_over(self, wall_ms: int) -> bool:
        """Return whether the earliest snapshot is too old, or all files together are too large."""
        size_bytes = self._log.segments.size_bytes + sum(self._snapshots.values())
        if 0 <= self._config.retention_bytes < size_bytes:
            return True
        return 0 <= self._config.retention_ms < wall_ms - self._timestamp(min(self._snapshots))

    def _timestamp(self, snapshot_id: OffsetAndEpoch) -> int:
        """Return the timestamp of the last record that a snapshot covers, from its header."""
        with self._log.health.guard():
            start = self.read_snapshot(snapshot_id, 0, OVERHEAD_BYTES)
            if len(start) == OVERHEAD_BYTES:
                header = read_batch(self.read_snapshot(snapshot_id, 0, size_at(start, 0)))
                header.check()
                for record in read_control_records(header):
                    if isinstance(record.message, SnapshotHeaderRecord):
                        return record.message.last_contained_log_timestamp
            raise CorruptRecord(f"{self._snapshot_path(snapshot_id)} has no header")

    def _run_removals(self) -> None:
        """Remove files at once: there are no other readers."""
        for removal in self._log.segments.take_removals():
            removal.run()

    def _remove_snapshots_before(self, snapshot_id: OffsetAndEpoch) -> None:
        with self._log.health.guard():
            for old in [other for other in self._snapshots if other < snapshot_id]:
                del self._snapshots[old]
                self._files.remove(self._snapshot_path(old))
            self._files.sync_dir(self.directory)

    def _snapshot_path(self, snapshot_id: OffsetAndEpoch) -> str:
        return f"{self.directory}/{snapshot_file_name(snapshot_id)}"


class _GuardedSnapshot:
    """A snapshot of this log that is being written; the log knows of it once it is frozen."""

    def __init__(self, log: MetadataLog, file: SnapshotFile) -> None:
        self._log = log
        self._file = file

    @property
    def id(self) -> OffsetAndEpoch:
        return self._file.id

    @property
    def size_bytes(self) -> int:
        return self._file.size_bytes

    def append(self, data: Buffer) -> None:
        with self._log.guard():
            self._file.append(data)

    def freeze(self) -> None:
        self._log.flush()
        with self._log.guard():
            self._file.freeze()
        self._log.on_snapshot_frozen(self._file.id, self._file.size_bytes)

    def close(self) -> None:
        """Close the snapshot. On a disk that has failed the next start cleans up."""
        if self._log.fault is None:
            with self._log.guard():
                self._file.close()
