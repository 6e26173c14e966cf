"""What may be cleaned, what is worth it, and which segments are merged."""

from dataclasses import replace

import pytest

from odradek.log.cleaner.cleaning_plan import (
    MAX_OFFSET_RANGE,
    CleanableOffsets,
    Source,
    cleanable_offsets,
    group_sources,
    make_plan,
    measure,
)
from odradek.sim.world.disk import SimulatedDisk
from support.builders.cleaning import COMPACTED, CompactedLog

DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def log() -> CompactedLog:
    """Segments at 0, 2, 4; one a day; 4 is active."""
    log = CompactedLog(SimulatedDisk())
    for day in range(3):
        log.append((b"a", b"%d" % day), (b"b", b"%d" % day))
        if day < 2:
            log.roll()
            log.clock.now_ms += DAY_MS
    return log


def offsets(log: CompactedLog, checkpoint: int | None = None) -> CleanableOffsets:
    return cleanable_offsets(log.log, checkpoint, log.clock.now_ms)


def test_everything_up_to_the_active_segment(log: CompactedLog) -> None:
    assert offsets(log) == CleanableOffsets(0, 4, False)
    assert offsets(log, checkpoint=2) == CleanableOffsets(2, 4, False)


def test_not_beyond_the_high_watermark(log: CompactedLog) -> None:
    log.log.offsets.set_high_watermark(3)
    assert offsets(log) == CleanableOffsets(0, 3, False)
    # A segment is cleaned whole or not at all.
    assert measure(log.log, offsets(log), log.clock.now_ms).first_uncleanable_offset == 2


def test_not_beyond_the_last_stable_offset() -> None:
    log = CompactedLog(SimulatedDisk())
    log.append((b"a", b"1"))
    log.roll()
    log.append((b"a", b"1"), producer_id=3, transactional=True)
    log.roll()
    assert offsets(log) == CleanableOffsets(0, 1, False)
    log.end_transaction(3, commit=True)
    assert offsets(log) == CleanableOffsets(0, 2, False)


@pytest.mark.parametrize(
    ("lag_ms", "end"), [(0, 4), (DAY_MS, 4), (DAY_MS + 1, 2), (2 * DAY_MS, 2), (2 * DAY_MS + 1, 0)]
)
def test_not_what_is_younger_than_the_minimum_lag(log: CompactedLog, lag_ms: int, end: int) -> None:
    log.with_config(replace(COMPACTED, min_compaction_lag_ms=lag_ms))
    assert offsets(log).first_uncleanable_offset == end


@pytest.mark.parametrize("checkpoint", [-1, 7, 1000])
def test_a_checkpoint_outside_of_the_log_is_reset(log: CompactedLog, checkpoint: int) -> None:
    assert offsets(log, checkpoint) == CleanableOffsets(0, 4, True)


def test_a_checkpoint_before_the_log_start_is_reset_to_it(log: CompactedLog) -> None:
    log.log.offsets.raise_start(3)
    assert offsets(log, checkpoint=2) == CleanableOffsets(3, 4, True)


@pytest.mark.parametrize(
    ("checkpoint", "ratio", "cleanable"), [(0, 0.9, True), (2, 0.4, True), (2, 0.5, False), (4, 0.0, False)]
)
def test_the_dirty_ratio_decides(log: CompactedLog, checkpoint: int, ratio: float, cleanable: bool) -> None:
    log.with_config(replace(COMPACTED, min_cleanable_dirty_ratio=ratio))
    found = measure(log.log, offsets(log, checkpoint), log.clock.now_ms)
    assert found.is_cleanable is cleanable


@pytest.mark.parametrize(("lag_ms", "overdue_ms"), [(2 * DAY_MS, 0), (DAY_MS, DAY_MS), (1, 2 * DAY_MS - 1)])
def test_the_maximum_lag_overrules_the_ratio(log: CompactedLog, lag_ms: int, overdue_ms: int) -> None:
    log.with_config(replace(COMPACTED, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=lag_ms))
    found = measure(log.log, offsets(log), log.clock.now_ms)
    assert found.overdue_ms == overdue_ms
    assert found.is_cleanable is (overdue_ms > 0)


def test_an_empty_log_is_never_cleanable() -> None:
    log = CompactedLog(SimulatedDisk(), config=replace(COMPACTED, min_cleanable_dirty_ratio=0.0))
    assert not measure(log.log, offsets(log), log.clock.now_ms).is_cleanable


def test_a_plan_names_sealed_segments_only(log: CompactedLog) -> None:
    plan = make_plan(measure(log.log, offsets(log, 2), log.clock.now_ms), log.clock.now_ms)
    assert [(source.base_offset, source.next_base_offset) for source in plan.sources] == [(0, 2), (2, 4)]
    assert [source.base_offset for source in plan.dirty_sources] == [2]
    assert plan.log_dir == "/data"


def source(base_offset: int, size_bytes: int = 100, index_bytes: int = 8) -> Source:
    return Source(base_offset, base_offset + 10, "", size_bytes, index_bytes, index_bytes, 0, 0, ())


def groups(
    sources: list[Source], max_bytes: int = 1000, max_index_bytes: int = 1000, end: int = 100
) -> list[list[int]]:
    found = group_sources(sources, max_bytes, max_index_bytes, end)
    return [[member.base_offset for member in group] for group in found]


def test_segments_are_merged_while_they_fit() -> None:
    five = [source(offset) for offset in range(0, 50, 10)]
    assert groups(five) == [[0, 10, 20, 30, 40]]
    assert groups(five, max_bytes=200) == [[0, 10], [20, 30], [40]]
    assert groups(five, max_bytes=99) == [[0], [10], [20], [30], [40]]
    assert groups(five, max_index_bytes=24) == [[0, 10, 20], [30, 40]]
    assert groups([]) == []


def test_a_group_stays_within_the_reach_of_its_index() -> None:
    """The last offset of a segment is taken from the start of the next one, or from the end of the round."""
    far = MAX_OFFSET_RANGE
    three = [source(0), source(10), source(far + 2)]
    assert groups(three, end=far + 3) == [[0], [10, far + 2]]
    assert groups([source(0), source(10)], end=far + 1) == [[0, 10]]
    assert groups([source(0), source(10)], end=far + 2) == [[0], [10]]
    # An empty segment has no offset that could be out of reach.
    assert groups([source(0), source(10, size_bytes=0)], end=far + 2) == [[0, 10]]
