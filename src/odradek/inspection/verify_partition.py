"""Check the directory of one partition: the chain of its segments, and everything that repeats what they say."""

from bisect import bisect_right
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from odradek.common.ids import TopicPartition
from odradek.inspection.directory_listing import Kind, LogFile, PartitionDir
from odradek.inspection.entry_readers import read_entries, read_epochs
from odradek.inspection.index_entries import read_producer_snapshot, read_txn_index
from odradek.inspection.progress import Progress
from odradek.inspection.rebuild import Rebuild
from odradek.inspection.verify_producers import Evidence, snapshot_flaws
from odradek.inspection.verify_segment import SegmentFacts, check_offset_index, check_segment, check_time_index
from odradek.inspection.verify_snapshot import check_metadata_snapshot
from odradek.inspection.verify_transactions import LogRange, check_txn_index, describe
from odradek.log import file_names
from odradek.log.manager.checkpoint_files import EpochEntry
from odradek.records.batch import Batch

#: By the last suffix, since a file may have several: `.cleaned.deleted`.
_SUFFIX_NOTES = {
    file_names.DELETED_SUFFIX: "deleted from the log; the file is removed after file.delete.delay.ms",
    file_names.CLEANED_SUFFIX: "written by a compaction that has not finished; dropped when the log is loaded",
    file_names.SWAP_SUFFIX: "written by a compaction; it replaces the old segments when the log is loaded",
}

_INDEX_KINDS = (Kind.OFFSET_INDEX, Kind.TIME_INDEX, Kind.TXN_INDEX)


class Findings(Protocol):
    """Collector of problems and notes."""

    def complain(self, path: str, position: int | None, reason: str) -> None: ...

    def note(self, path: str, said: str) -> None: ...

    def caught(self, path: str) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """`end_offset` is None where the last segment could not be read."""

    partition: TopicPartition
    mark: str
    segments: int
    batches: int
    records: int
    size_bytes: int
    start_offset: int
    end_offset: int | None
    index_entries: int


class PartitionCheck:
    """One pass over the segments in order; snapshots are compared when the pass reaches their offset.

    A segment that cannot be read is one problem. What follows from it, and from nothing else, is not said: what was
    known of the producers is forgotten, and if it was the last one, nothing is held against the end of the log.
    """

    def __init__(
        self, directory: PartitionDir, findings: Findings, progress: Progress, log_start_offset: int = 0
    ) -> None:
        self._directory = directory
        self._findings = findings
        self._progress = progress
        self._rebuild = Rebuild()
        self._snapshots = self._directory.live(Kind.PRODUCER_SNAPSHOT)
        self._epochs: list[EpochEntry] = []
        self._log_start_offset = log_start_offset
        self._evidence = Evidence.WHOLE
        self._end_known = True
        self._next_offset = 0
        self._index_entries = 0

    def run(self) -> PartitionReport:
        segments = self._directory.live(Kind.SEGMENT)
        self._check_small_files(segments)
        self._next_offset = segments[0].base_offset if segments else 0
        is_cut = self._next_offset > 0 or self._log_start_offset > 0
        self._evidence = Evidence.TAIL if is_cut else Evidence.WHOLE
        found = [self._check_segment(segment, last=segment is segments[-1]) for segment in segments]
        self._check_snapshots(before_offset=None)
        self._check_epoch_ends()
        return PartitionReport(
            partition=self._directory.partition,
            mark=self._directory.mark,
            segments=len(found),
            batches=sum(len(facts.positions) for facts in found),
            records=sum(facts.records for facts in found),
            size_bytes=sum(facts.size_bytes for facts in found),
            start_offset=segments[0].base_offset if segments else 0,
            end_offset=self._next_offset if self._end_known else None,
            index_entries=self._index_entries,
        )

    def _check_segment(self, segment: LogFile, *, last: bool) -> SegmentFacts:
        def visit(batch: Batch, position: int) -> None:
            self._visit(segment.path, batch, position)

        if segment.base_offset > self._next_offset:
            self._reach(segment.base_offset)
            self._next_offset = segment.base_offset
        unread = SegmentFacts(segment.base_offset, 0, max(self._next_offset, segment.base_offset))
        facts = unread
        with self._findings.caught(segment.path):
            facts = check_segment(segment, self._next_offset, self._findings.complain, visit, self._progress)
        self._next_offset = facts.next_offset
        if facts is unread:
            self._rebuild = Rebuild()
            self._evidence = Evidence.GAPS
            self._end_known = not last
            self._read_indexes(segment)
        else:
            self._check_indexes(segment, facts, sealed=not last)
        return facts

    def _visit(self, path: str, batch: Batch, position: int) -> None:
        self._reach(batch.base_offset)
        if batch.count != batch.last_offset_delta + 1:
            self._evidence = Evidence.GAPS
        self._next_offset = max(self._next_offset, batch.next_offset)
        epoch = self._epoch_at(batch.base_offset)
        if epoch is not None and batch.magic == 2 and epoch != batch.leader_epoch:
            message = f"batch {batch.base_offset} has leader epoch {batch.leader_epoch}, the checkpoint {epoch}"
            self._findings.complain(path, position, message)
        self._rebuild.add(batch)

    def _reach(self, offset: int) -> None:
        """Compare the snapshots up to `offset`, where a batch or a segment begins. For one behind or within a gap, some
        of what it was made from is no longer in the log."""
        self._check_snapshots(before_offset=min(self._next_offset, offset))
        if offset != self._next_offset:
            self._evidence = Evidence.GAPS
        self._check_snapshots(before_offset=offset)

    def _indexes_of(self, segment: LogFile) -> dict[Kind, LogFile]:
        beside = (f for f in self._directory.files if f.base_offset == segment.base_offset and not f.suffix)
        return {file.kind: file for file in beside if file.kind in _INDEX_KINDS}

    def _read_indexes(self, segment: LogFile) -> None:
        """Without the segment they cannot be held against anything; that they can be read is something."""
        for file in self._indexes_of(segment).values():
            with self._findings.caught(file.path):
                for _ in read_entries(file):
                    pass

    def _check_indexes(self, segment: LogFile, facts: SegmentFacts, *, sealed: bool) -> None:
        files = self._indexes_of(segment)
        for kind in (Kind.OFFSET_INDEX, Kind.TIME_INDEX):
            if kind not in files:
                self._findings.complain(segment.path, None, f"its {kind} is missing")
        if Kind.OFFSET_INDEX in files:
            index = files[Kind.OFFSET_INDEX]
            with self._findings.caught(index.path):
                self._index_entries += check_offset_index(index, facts, self._findings.complain, self._progress)
        if Kind.TIME_INDEX in files:
            index = files[Kind.TIME_INDEX]
            with self._findings.caught(index.path):
                check_time_index(index, facts, self._findings.complain, self._progress, sealed=sealed)
        txn_index = files.get(Kind.TXN_INDEX)
        with self._findings.caught(segment.path if txn_index is None else txn_index.path):
            self._check_txn_index(segment, txn_index, facts)

    def _check_txn_index(self, segment: LogFile, file: LogFile | None, facts: SegmentFacts) -> None:
        in_log = self._rebuild.take_aborted()
        entries = [] if file is None else read_txn_index(file.path)
        path = segment.path if file is None else file.path
        for entry in entries:
            if not segment.base_offset <= entry.last_offset < facts.next_offset:
                self._findings.complain(path, None, f"{describe(entry)} ended outside of this segment")
            if entry.first_offset > entry.last_offset:
                self._findings.complain(path, None, f"{describe(entry)} ended before it began")
        log = LogRange(self._log_start_offset, self._evidence is Evidence.WHOLE)
        check_txn_index(entries, in_log, log, partial(self._findings.complain, path))

    def _check_snapshots(self, *, before_offset: int | None) -> None:
        """All that are due: up to `before_offset`, or the rest."""
        while self._snapshots and (before_offset is None or self._snapshots[0].base_offset <= before_offset):
            snapshot = self._snapshots.pop(0)
            if before_offset is None and self._end_known and snapshot.base_offset > self._next_offset:
                message = f"a snapshot at offset {snapshot.base_offset}, but the log ends at {self._next_offset}"
                self._findings.complain(snapshot.path, None, message)
            with self._findings.caught(snapshot.path):
                for entry in read_producer_snapshot(snapshot.path):
                    producer = self._rebuild.producers.get(entry.producer_id)
                    for flaw in snapshot_flaws(entry, producer, self._evidence):
                        self._findings.complain(snapshot.path, None, flaw)

    def _epoch_at(self, offset: int) -> int | None:
        covering = bisect_right(self._epochs, offset, key=lambda entry: entry.start_offset)
        return self._epochs[covering - 1].epoch if covering else None

    def _check_epoch_ends(self) -> None:
        path = f"{self._directory.path}/{file_names.LEADER_EPOCH_CHECKPOINT}"
        for earlier, later in zip(self._epochs, self._epochs[1:], strict=False):
            if later.epoch <= earlier.epoch or later.start_offset < earlier.start_offset:
                self._findings.complain(path, None, f"epoch {later.epoch} does not follow epoch {earlier.epoch}")
        if self._end_known and self._epochs and self._epochs[-1].start_offset > self._next_offset:
            start = self._epochs[-1].start_offset
            self._findings.complain(path, None, f"an epoch starts at {start}, but the log ends at {self._next_offset}")

    def _check_small_files(self, segments: list[LogFile]) -> None:
        bases = {segment.base_offset for segment in segments}
        for file in self._directory.files:
            with self._findings.caught(file.path):
                self._check_small_file(file, bases)

    def _check_small_file(self, file: LogFile, bases: set[int]) -> None:
        if file.suffix:
            self._findings.note(file.path, _SUFFIX_NOTES[f".{file.suffix.rpartition('.')[2]}"])
        elif file.kind is Kind.UNKNOWN:
            self._findings.note(file.path, "not a file of an Apache Kafka partition")
        elif file.kind is Kind.EPOCHS:
            self._epochs = read_epochs(file)
        elif file.kind in (Kind.PARTITION_METADATA, Kind.QUORUM_STATE):
            list(read_entries(file))
        elif file.kind is Kind.METADATA_SNAPSHOT:
            check_metadata_snapshot(file, self._findings.complain, self._progress)
        elif file.kind in _INDEX_KINDS and file.base_offset not in bases:
            self._findings.complain(file.path, None, "an index without its segment")
