"""A crash after every operation of the disk, with all, none or any part of what was not synced.

What must hold after the next start, whatever was kept: everything flushed is there; what is there is a beginning of
what was appended, unaltered; a second start changes nothing; the next append is readable.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest

from odradek.log.segments.segment import Segment
from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import read_batches
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, HandClock, Rig, batch, idempotent, stored_records, stored_values
from support.figures import report

SEEDS = range(6)


@dataclass(frozen=True, slots=True)
class Mark:
    """What was true once so many operations were done."""

    operations: int
    recovery_point: int
    log_start_offset: int
    appended: int


class Trace:
    """A workload on a simulated disk, and what it had reached when."""

    def __init__(self, **settings: object) -> None:
        self.disk = SimulatedDisk()
        self.disk.make_dirs("/data")
        self.disk.settle()
        self.rig = Rig(self.disk)
        self.log = self.rig.load(**settings)
        self.marks = [Mark(0, 0, 0, 0)]
        self.values: list[bytes] = []

    def append(self, value: str, leader_epoch: int = 0) -> None:
        self.values.append(value.encode())
        self.log.appender.append_as_leader(idempotent(7, len(self.values) - 1, value), leader_epoch)
        self.mark()

    def mark(self) -> None:
        log = self.log
        self.marks.append(
            Mark(len(self.disk.journal), log.offsets.recovery_point, log.offsets.log_start_offset, len(self.values))
        )

    def crashes(self) -> Iterator[tuple[Mark, Rig]]:
        """Every disk that a crash could leave, with the last mark before it."""
        marks = iter(self.marks[1:])
        mark, following = self.marks[0], next(marks, None)
        for operations, state in enumerate(self.disk.states()):
            while following is not None and following.operations <= operations:
                mark, following = following, next(marks, None)
            for keep in ("all", "none", *(Random(seed * 1000 + operations) for seed in SEEDS)):
                yield mark, Rig(state.crash(keep), HandClock(), DIRECTORY, self.rig.config)


def restart(rig: Rig, mark: Mark) -> UnifiedLog:
    """Twice: the second start must find nothing to do."""
    rig.load(recovery_point=mark.recovery_point, log_start_offset=mark.log_start_offset)
    log = rig.load(recovery_point=mark.recovery_point, log_start_offset=mark.log_start_offset)
    assert log.repairs == ()
    return log


def check_appends(trace: Trace) -> int:
    count = 0
    for mark, rig in trace.crashes():
        log = restart(rig, mark)
        found = stored_values(log)
        assert found == trace.values[log.offsets.log_start_offset : log.offsets.log_end_offset]
        assert log.offsets.log_end_offset >= mark.recovery_point
        sequence = log.offsets.log_end_offset  # one record each, so the sequence is the offset
        if sequence:
            again = idempotent(7, sequence - 1, trace.values[sequence - 1].decode())
            assert log.appender.append_as_leader(again, 9).is_duplicate
        log.appender.append_as_leader(idempotent(7, sequence, "next"), 9)
        assert stored_values(log)[-1] == b"next"
        count += 1
    return count


def test_append_roll_and_flush() -> None:
    trace = Trace(segment_bytes=250, index_interval_bytes=0)
    for index in range(14):
        trace.append(str(index), leader_epoch=index // 5)
        if index % 4 == 3:
            trace.log.flusher.flush()
            trace.mark()
    report("crash at every operation", workload="append, roll, flush", crashes=check_appends(trace))


def test_stop_and_start() -> None:
    trace = Trace(segment_bytes=250)
    for index in range(4):
        trace.append(str(index))
    trace.log.flusher.flush(include_active=True)
    trace.log.close()
    trace.mark()
    trace.log = trace.rig.load(clean_shutdown=True)
    for index in range(4, 8):
        trace.append(str(index))
    report("crash at every operation", workload="stop, start", crashes=check_appends(trace))


def test_retention() -> None:
    trace = Trace(segment_bytes=250, retention_bytes=300)
    for index in range(12):
        trace.append(str(index))
        if index % 5 == 4:
            trace.log.flusher.flush()
            trace.log.offsets.set_high_watermark(trace.log.offsets.log_end_offset)
            trace.log.retention.delete_old_segments()
            for removal in trace.log.segments.take_removals():
                removal.run()
            trace.mark()
    count = 0
    for mark, rig in trace.crashes():
        log = restart(rig, mark)
        assert stored_values(log) == trace.values[log.offsets.log_start_offset : log.offsets.log_end_offset]
        assert log.offsets.log_end_offset >= mark.recovery_point
        count += 1
    report("crash at every operation", workload="retention", crashes=count)


def test_truncation() -> None:
    """After it the log is a beginning of what was before, or of what came after."""
    trace = Trace(segment_bytes=250, index_interval_bytes=0)
    for index in range(9):
        trace.append(str(index))
    trace.log.flusher.flush()
    trace.log.truncation.truncate_to(4)
    before = list(trace.values)
    # The caller writes the lower recovery point down before anything else is appended.
    trace.disk.settle()
    trace.marks = [Mark(0, 4, 0, 4)]
    trace.values = before[:4]
    for index in range(4, 8):
        trace.append(f"new {index}", leader_epoch=1)
    report("crash at every operation", workload="append after truncation", crashes=check_appends(trace))


def test_truncation_itself() -> None:
    trace = Trace(segment_bytes=250, index_interval_bytes=0)
    for index in range(9):
        trace.append(str(index))
    trace.log.flusher.flush(include_active=True)
    trace.disk.settle()
    trace.log.truncation.truncate_to(4)
    count = 0
    for state in trace.disk.states():
        for keep in ("all", "none", *(Random(seed) for seed in SEEDS)):
            rig = Rig(state.crash(keep), HandClock(), DIRECTORY, trace.rig.config)
            log = rig.load(recovery_point=4)
            assert log.offsets.log_end_offset >= 4
            assert stored_values(log) == trace.values[: log.offsets.log_end_offset]
            count += 1
    report("crash at every operation", workload="truncation", crashes=count)


def cleaned(rig: Rig, log: UnifiedLog, base_offset: int, offsets: list[int]) -> Segment:
    """A segment with only these of the log's records, as a cleaner hands it over."""
    segment = Segment(rig.files, rig.directory, base_offset, now_ms=0, suffix=".cleaned", create=True)
    for offset in offsets:
        data = batch(str(offset), base_offset=offset, leader_epoch=0)
        segment.append(offset, data, list(read_batches(data)))
    segment.become_inactive()
    for file in segment.flush_plan():
        file.sync()
    segment.flush_done()
    return segment


@pytest.mark.parametrize("kept", [[2], [0, 5], [5]])
def test_a_compaction_swap_is_old_or_new(kept: list[int]) -> None:
    """A new segment stands for the offsets up to its last record. An old segment behind that may come back, as it
    does with Kafka: it is cleaned again."""
    trace = Trace(segment_bytes=250, cleanup_policy=("compact",))
    for index in range(11):
        trace.log.appender.append_as_leader(batch(str(index)), 0)
    trace.log.flusher.flush(include_active=True)
    log = trace.log
    assert log.segments.base_offsets[:4] == [0, 3, 6, 9]
    trace.disk.settle()
    old = [log.segments.first, log.segments.higher(0)]
    log.replace_segments([cleaned(trace.rig, log, 0, kept)], [segment for segment in old if segment])
    for removal in log.segments.take_removals():
        removal.run()
    untouched = list(range(6, 11))
    count = 0
    seen = set()
    for state in trace.disk.states():
        for keep in ("all", "none", *(Random(seed) for seed in SEEDS)):
            rig = Rig(state.crash(keep), HandClock(), DIRECTORY, trace.rig.config)
            again = restart(rig, Mark(0, 11, 0, 11))
            found = tuple(record.offset for record in stored_records(again))
            behind = range(3, 6) if max(kept) < 3 else ()
            assert found in ((*range(11),), (*kept, *untouched), (*kept, *behind, *untouched))
            seen.add(found)
            count += 1
    assert {(*range(11),), (*kept, *untouched)} <= seen
    report("crash at every operation", workload="compaction swap", crashes=count)
