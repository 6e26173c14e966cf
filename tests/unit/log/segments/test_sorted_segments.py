"""Segments in the order of their base offsets: additions, removals and look-ups."""

from pathlib import Path

import pytest

from odradek.common.failures import Fault
from odradek.log.offsets import CompletedTxn
from odradek.log.segments.segment import Segment
from odradek.log.segments.sorted_segments import SortedSegments
from support.builders.segments import append, data_batch, new_segment


@pytest.fixture
def segments(tmp_path: Path) -> SortedSegments:
    """Segments at 30, 10 and 20, added in this order."""
    return SortedSegments(new_segment(tmp_path, base_offset) for base_offset in (30, 10, 20))


def base_offset_of(segment: Segment | None) -> int | None:
    return None if segment is None else segment.base_offset


def abort_transaction_in(segment: Segment) -> None:
    first = segment.base_offset
    segment.update_txn_index(CompletedTxn(7, first, first + 1, is_aborted=True), first + 2)


class TestOrder:
    def test_segments_are_sorted_by_base_offset(self, segments: SortedSegments) -> None:
        assert [segment.base_offset for segment in segments] == segments.base_offsets == [10, 20, 30]
        assert (len(segments), segments.first.base_offset, segments.active.base_offset) == (3, 10, 30)

    def test_a_segment_replaces_one_with_its_base_offset(self, segments: SortedSegments, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, 30)
        segments.add(segment)
        assert segments.base_offsets == [10, 20, 30]
        assert segments.active is segment and segments.get(30) is segment

    def test_removing_the_last_segment_makes_the_one_before_it_active(self, segments: SortedSegments) -> None:
        assert segments.remove(30).base_offset == 30
        assert (segments.base_offsets, segments.active.base_offset) == ([10, 20], 20)
        assert 30 not in segments and segments.get(30) is None

    def test_removing_an_unknown_base_offset_is_a_fault(self, segments: SortedSegments) -> None:
        with pytest.raises(Fault, match="no segment with base offset 15"):
            segments.remove(15)
        assert segments.base_offsets == [10, 20, 30]

    def test_segments_may_be_removed_during_iteration(self, segments: SortedSegments) -> None:
        visited = [segments.remove(segment.base_offset).base_offset for segment in segments]
        assert (visited, len(segments)) == ([10, 20, 30], 0)

    def test_the_size_is_that_of_all_log_files(self, segments: SortedSegments) -> None:
        batch = data_batch(10, 3)
        append(segments.first, batch)
        append(segments.active, data_batch(30, 3))
        assert segments.size_bytes == 2 * batch.size_bytes


class TestLookUp:
    @pytest.mark.parametrize(
        ("offset", "expected"), [(9, None), (10, 10), (19, 10), (20, 20), (29, 20), (30, 30), (99, 30)]
    )
    def test_floor_is_the_segment_that_may_hold_the_offset(
        self, segments: SortedSegments, offset: int, expected: int | None
    ) -> None:
        assert base_offset_of(segments.floor(offset)) == expected

    @pytest.mark.parametrize(("offset", "expected"), [(9, 10), (10, 20), (15, 20), (29, 30), (30, None)])
    def test_higher_is_the_first_segment_above(
        self, segments: SortedSegments, offset: int, expected: int | None
    ) -> None:
        assert base_offset_of(segments.higher(offset)) == expected

    @pytest.mark.parametrize(("offset", "expected"), [(10, None), (11, 10), (20, 10), (30, 20), (99, 30)])
    def test_lower_is_the_last_segment_below(self, segments: SortedSegments, offset: int, expected: int | None) -> None:
        assert base_offset_of(segments.lower(offset)) == expected

    @pytest.mark.parametrize(("offset", "expected"), [(9, [10, 20, 30]), (10, [20, 30]), (25, [30]), (30, [])])
    def test_above_excludes_the_segment_at_the_offset(
        self, segments: SortedSegments, offset: int, expected: list[int]
    ) -> None:
        assert [segment.base_offset for segment in segments.above(offset)] == expected

    @pytest.mark.parametrize(
        ("start", "end", "expected"),
        [(0, 10, []), (0, 11, [10]), (15, 20, [10]), (15, 21, [10, 20]), (20, 30, [20]), (35, 40, [30])],
    )
    def test_between_includes_a_segment_that_begins_below_the_start(
        self, segments: SortedSegments, start: int, end: int, expected: list[int]
    ) -> None:
        assert [segment.base_offset for segment in segments.between(start, end)] == expected


class TestAbortedTransactions:
    def offsets_above(self, segments: SortedSegments, base_offset: int) -> list[int]:
        return [segment.base_offset for segment in segments.with_aborted_above(base_offset)]

    def test_segments_without_aborted_transactions_are_skipped(self, segments: SortedSegments) -> None:
        abort_transaction_in(segments.first)
        abort_transaction_in(segments.active)
        assert self.offsets_above(segments, 9) == [10, 30]
        assert self.offsets_above(segments, 10) == [30]
        assert self.offsets_above(segments, 30) == []

    def test_an_abort_in_the_active_segment_is_visible_after_a_look_up(self, segments: SortedSegments) -> None:
        assert self.offsets_above(segments, 0) == []
        abort_transaction_in(segments.active)
        assert self.offsets_above(segments, 0) == [30]

    def test_a_sealed_segment_is_included_after_a_look_up(self, segments: SortedSegments, tmp_path: Path) -> None:
        abort_transaction_in(segments.active)
        assert self.offsets_above(segments, 0) == [30]
        segments.add(new_segment(tmp_path, 40))
        assert self.offsets_above(segments, 0) == [30]

    def test_a_removed_segment_is_left_out_after_a_look_up(self, segments: SortedSegments) -> None:
        abort_transaction_in(segments.first)
        assert self.offsets_above(segments, 0) == [10]
        segments.remove(10)
        assert self.offsets_above(segments, 0) == []
