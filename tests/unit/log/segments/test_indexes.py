"""The three indexes: their rules, their files, and a naive model beside them."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.common.failures import Fault
from odradek.log.errors import CorruptIndex, InvalidOffset
from odradek.log.offsets import AbortedTxn, OffsetPosition, TimestampOffset
from odradek.log.segments import index_file
from odradek.log.segments.offset_index import OffsetIndex
from odradek.log.segments.time_index import TimeIndex
from odradek.log.segments.transaction_index import TxnIndex
from odradek.sim.world.disk import SimulatedDisk
from support.builders.segments import FILES

BASE = 1000


def offset_index(directory: Path, max_bytes: int = 1 << 20) -> OffsetIndex:
    return OffsetIndex(FILES, str(directory / "i.index"), BASE, max_bytes)


def time_index(directory: Path, max_bytes: int = 1 << 20) -> TimeIndex:
    return TimeIndex(FILES, str(directory / "i.timeindex"), BASE, max_bytes)


def txn_index(directory: Path) -> TxnIndex:
    return TxnIndex(FILES, str(directory / "i.txnindex"), BASE)


class TestOffsetIndex:
    def test_entries_are_relative_offset_and_position(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path)
        index.append(BASE + 7, 4200)
        index.append(BASE + 9, 9000)
        index.close()
        assert (tmp_path / "i.index").read_bytes() == struct.pack(">iiii", 7, 4200, 9, 9000)

    def test_lookup_finds_the_last_entry_at_or_before(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path)
        assert index.lookup(BASE + 5) == (BASE, 0)
        for i in range(1, 6):
            index.append(BASE + 10 * i, 100 * i)
        for reopened in (False, True):
            if reopened:
                index.close()
                index = offset_index(tmp_path)
            assert index.lookup(BASE - 1) == (BASE, 0)
            assert index.lookup(BASE + 9) == (BASE, 0)
            assert index.lookup(BASE + 10) == (BASE + 10, 100)
            assert index.lookup(BASE + 39) == (BASE + 30, 300)
            assert index.lookup(2**62) == (BASE + 50, 500)
            assert index.last_offset == BASE + 50

    def test_upper_bound_is_the_first_entry_at_or_behind_a_position(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path)
        assert index.fetch_upper_bound(0) is None
        for i in range(1, 4):
            index.append(BASE + 10 * i, 100 * i)
        assert index.fetch_upper_bound(0) == (BASE + 10, 100)
        assert index.fetch_upper_bound(200) == (BASE + 20, 200)
        assert index.fetch_upper_bound(201) == (BASE + 30, 300)
        assert index.fetch_upper_bound(301) is None

    def test_offsets_must_grow(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path)
        index.append(BASE + 5, 1)
        for offset in (BASE + 5, BASE + 4):
            with pytest.raises(InvalidOffset, match=f"offset {offset} of the entry to add"):
                index.append(offset, 2)
        assert index.entry_count == 1

    def test_a_full_index_takes_no_more(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path, max_bytes=31)
        for i in range(1, 6):
            assert index.is_full == (i > 3)
            index.append(BASE + i, i)
        assert index.entry_count == 3

    def test_truncation_drops_the_offset_and_what_is_above(self, tmp_path: Path) -> None:
        for offset, left in [(BASE, 0), (BASE + 10, 0), (BASE + 11, 1), (BASE + 20, 1), (BASE + 35, 3), (BASE + 99, 5)]:
            for write_first in (False, True):
                index = offset_index(tmp_path)
                index.create()
                for i in range(1, 6):
                    index.append(BASE + 10 * i, 100 * i)
                if write_first:
                    index.write()
                index.truncate_to(offset)
                assert index.entry_count == left
                index.close()
                assert (tmp_path / "i.index").stat().st_size == 8 * left
                again = offset_index(tmp_path)
                again.append(BASE + 60, 600)
                assert again.entry(left) == (BASE + 60, 600)

    def test_entries_that_contradict_the_log_are_found(self, tmp_path: Path) -> None:
        (tmp_path / "i.index").write_bytes(struct.pack(">iiiiii", 5, 100, 7, 200, 9, 300))
        offset_index(tmp_path).check_entries(301)
        with pytest.raises(CorruptIndex, match=r"i\.index:16: offset 1009 at 300 cannot follow .* of 300 bytes"):
            offset_index(tmp_path).check_entries(300)
        (tmp_path / "i.index").write_bytes(struct.pack(">iiii", 5, 100, 5, 200))
        with pytest.raises(CorruptIndex, match=r"i\.index:8: "):
            offset_index(tmp_path).check_entries(1000)


class TestTimeIndex:
    def test_entries_are_timestamp_and_relative_offset(self, tmp_path: Path) -> None:
        index = time_index(tmp_path)
        index.maybe_append(1_700_000_000_000, BASE + 7)
        index.close()
        assert (tmp_path / "i.timeindex").read_bytes() == struct.pack(">qi", 1_700_000_000_000, 7)

    def test_only_a_later_time_makes_an_entry(self, tmp_path: Path) -> None:
        index = time_index(tmp_path)
        index.maybe_append(-1, BASE)  # records without time
        assert index.entry_count == 0
        index.maybe_append(50, BASE + 5)
        index.maybe_append(50, BASE + 5)
        index.maybe_append(50, BASE + 9)
        assert index.entry_count == 1
        assert index.last_entry == (50, BASE + 5)

    def test_what_must_not_happen(self, tmp_path: Path) -> None:
        index = time_index(tmp_path)
        index.maybe_append(50, BASE + 5)
        with pytest.raises(InvalidOffset, match="below the last"):
            index.maybe_append(60, BASE + 4)
        with pytest.raises(Fault, match="timestamp 49 is below the last, 50"):
            index.maybe_append(49, BASE + 6)

    def test_a_place_is_kept_free_for_the_last_entry(self, tmp_path: Path) -> None:
        index = time_index(tmp_path, max_bytes=48)
        for i in range(1, 6):
            assert index.is_full == (i > 3)
            index.maybe_append(i, BASE + i)
        assert index.entry_count == 3
        index.maybe_append(9, BASE + 9, even_if_full=True)
        assert index.entry_count == 4

    def test_lookup_and_truncation(self, tmp_path: Path) -> None:
        index = time_index(tmp_path)
        assert index.lookup(10) == (-1, BASE)
        for i in range(1, 6):
            index.maybe_append(10 * i, BASE + 100 * i)
        assert index.lookup(9) == (-1, BASE)
        assert index.lookup(35) == (30, BASE + 300)
        index.truncate_to(BASE + 300)
        assert index.last_entry == (20, BASE + 200)
        index.truncate_to(BASE)
        assert index.last_entry == (-1, BASE)

    def test_entries_that_run_backwards_are_found(self, tmp_path: Path) -> None:
        (tmp_path / "i.timeindex").write_bytes(struct.pack(">qiqi", 5, 1, 4, 2))
        with pytest.raises(CorruptIndex, match=r"i\.timeindex:12: timestamp 4 of offset 1002 cannot follow 5 of 1001"):
            time_index(tmp_path).check_entries()


class TestTxnIndex:
    def test_the_file_comes_with_the_first_entry(self, tmp_path: Path) -> None:
        index = txn_index(tmp_path)
        index.sanity_check()
        index.write()
        assert not (tmp_path / "i.txnindex").exists()
        index.append(AbortedTxn(7, BASE + 1, BASE + 5, BASE + 6))
        index.write()
        assert (tmp_path / "i.txnindex").read_bytes() == struct.pack(">hqqqq", 0, 7, BASE + 1, BASE + 5, BASE + 6)

    def test_last_offsets_must_grow(self, tmp_path: Path) -> None:
        index = txn_index(tmp_path)
        index.append(AbortedTxn(7, BASE + 1, BASE + 5, BASE + 6))
        with pytest.raises(InvalidOffset):
            index.append(AbortedTxn(8, BASE + 2, BASE + 5, BASE + 6))

    def test_collects_what_overlaps_and_knows_when_it_is_done(self, tmp_path: Path) -> None:
        index = txn_index(tmp_path)
        txns = [
            AbortedTxn(0, BASE + 0, BASE + 10, BASE + 2),
            AbortedTxn(1, BASE + 5, BASE + 15, BASE + 16),
            AbortedTxn(2, BASE + 18, BASE + 35, BASE + 25),
            AbortedTxn(3, BASE + 32, BASE + 50, BASE + 40),
        ]
        for txn in txns:
            index.append(txn)
        assert index.collect(BASE, BASE + 100) == (txns, False)
        assert index.collect(BASE, BASE + 32) == (txns[:3], True)
        assert index.collect(BASE, BASE + 35) == (txns, True)
        assert index.collect(BASE + 10, BASE + 35) == (txns, True)
        assert index.collect(BASE + 11, BASE + 35) == (txns[1:], True)
        assert index.collect(BASE + 20, BASE + 41) == (txns[2:], False)

    def test_truncation(self, tmp_path: Path) -> None:
        index = txn_index(tmp_path)
        for i in (1, 2, 3):
            index.append(AbortedTxn(i, BASE, BASE + 10 * i, BASE))
        index.truncate_to(BASE + 20)
        assert [txn.producer_id for txn in index.entries()] == [1]

    def test_damage_is_found(self, tmp_path: Path) -> None:
        path = tmp_path / "i.txnindex"
        path.write_bytes(struct.pack(">hqqqq", 0, 7, 1, 5, 6))
        with pytest.raises(CorruptIndex, match=r"i\.txnindex:0: last offset 5 is below the base offset 1000"):
            txn_index(tmp_path).sanity_check()
        path.write_bytes(struct.pack(">hqqqq", 1, 7, BASE, BASE, BASE))
        with pytest.raises(CorruptIndex, match="version 1 of an aborted transaction is unknown"):
            txn_index(tmp_path).sanity_check()
        path.write_bytes(bytes(33))
        with pytest.raises(CorruptIndex, match="33 bytes are not a multiple of 34"):
            txn_index(tmp_path).sanity_check()


class TestFiles:
    def test_a_missing_or_cut_index_is_found(self, tmp_path: Path) -> None:
        with pytest.raises(CorruptIndex, match="the file is missing"):
            offset_index(tmp_path).sanity_check()
        (tmp_path / "i.index").write_bytes(bytes(9))
        with pytest.raises(CorruptIndex, match=r"i\.index:9: 9 bytes are not a multiple of 8"):
            offset_index(tmp_path).sanity_check()

    @pytest.mark.parametrize("zeros", [0, 1, 2, 3, 100, 1000])
    @pytest.mark.parametrize("count", [0, 1, 2, 7, 63])
    def test_a_zero_tail_is_no_entry_and_goes_with_the_next_write(self, tmp_path: Path, count: int, zeros: int) -> None:
        entries = b"".join(struct.pack(">ii", i + 1, 100 * i) for i in range(count))
        (tmp_path / "i.index").write_bytes(entries + bytes(8 * zeros))
        index = offset_index(tmp_path)
        if not (count == 0 and zeros == 1):  # one entry of zeros cannot be told from the first of all
            assert index.entry_count == count
            index.append(BASE + count + 1, 7)
            index.close()
            assert (tmp_path / "i.index").read_bytes() == entries + struct.pack(">ii", count + 1, 7)

    def test_a_torn_last_entry_is_overwritten(self, tmp_path: Path) -> None:
        (tmp_path / "i.index").write_bytes(struct.pack(">ii", 1, 2) + b"\1\2\3")
        index = offset_index(tmp_path)
        assert index.entry_count == 1
        index.append(BASE + 2, 3)
        index.close()
        assert (tmp_path / "i.index").read_bytes() == struct.pack(">iiii", 1, 2, 2, 3)

    def test_appended_entries_stay_in_memory_until_they_are_written(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path)
        index.create()
        index.append(BASE + 1, 1)
        assert (tmp_path / "i.index").stat().st_size == 0
        index.write()
        assert (tmp_path / "i.index").stat().st_size == 8

    def test_memory_is_bounded(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path)
        count = index_file.SPILL_BYTES // 8 + 5
        for i in range(1, count + 1):
            index.append(BASE + i, i)
        assert (tmp_path / "i.index").stat().st_size == index_file.SPILL_BYTES
        assert index.entry_count == count
        for i in (1, 1000, count - 6, count - 5, count):
            assert index.lookup(BASE + i) == (BASE + i, i)

    def test_an_index_that_is_not_asked_touches_no_file(self) -> None:
        disk = SimulatedDisk()
        index = OffsetIndex(disk, "/nowhere/i.index", BASE)
        index.write()
        index.release()
        assert disk.journal == []

    def test_only_what_changed_is_synced(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path)
        index.create()
        assert len(index.flush_plan()) == 1
        index.flush_done()
        assert index.flush_plan() == []
        index.append(BASE + 1, 1)
        assert len(index.flush_plan()) == 1
        index.append(BASE + 2, 2)
        index.write()  # after the plan, so not part of it
        index.flush_done()
        assert len(index.flush_plan()) == 1

    def test_rename_and_delete(self, tmp_path: Path) -> None:
        index = offset_index(tmp_path)
        index.create()
        index.append(BASE + 1, 1)
        index.rename(str(tmp_path / "i.index.deleted"))
        index.write()
        assert (tmp_path / "i.index.deleted").stat().st_size == 8
        assert index.delete()
        assert not index.delete()


@given(
    st.lists(st.integers(1, 200), max_size=60, unique=True).map(sorted),
    st.integers(0, 60),
    st.integers(-5, 210),
)
def test_lookup_agrees_with_a_scan_wherever_entries_lie(keys: list[int], written: int, target: int) -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/d")
    index = OffsetIndex(disk, "/d/i.index", BASE)
    times = TimeIndex(disk, "/d/i.timeindex", BASE)
    for number, key in enumerate(keys):
        if number == written:
            index.write()
            times.write()
        index.append(BASE + key, key * 10)
        times.maybe_append(key * 3, BASE + key)
    found = [key for key in keys if key <= target]
    assert index.lookup(BASE + target) == (
        OffsetPosition(BASE + found[-1], found[-1] * 10) if found else OffsetPosition(BASE, 0)
    )
    earlier = [key for key in keys if key * 3 <= target]
    assert times.lookup(target) == (
        TimestampOffset(earlier[-1] * 3, BASE + earlier[-1]) if earlier else TimestampOffset(-1, BASE)
    )
    behind = [key for key in keys if key * 10 >= target]
    assert index.fetch_upper_bound(target) == (OffsetPosition(BASE + behind[0], behind[0] * 10) if behind else None)


class IndexMachine(RuleBasedStateMachine):
    """A list beside the index; writes, reopenings and truncations in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.disk.make_dirs("/d")
        self.index = OffsetIndex(self.disk, "/d/i.index", BASE, 400)
        self.model: list[tuple[int, int]] = []

    @precondition(lambda self: len(self.model) < 50)
    @rule(step=st.integers(1, 30))
    def append(self, step: int) -> None:
        offset, position = self.model[-1] if self.model else (BASE, 0)
        self.index.append(offset + step, position + step)
        self.model.append((offset + step, position + step))

    @rule(offset=st.integers(BASE - 1, BASE + 400))
    def truncate(self, offset: int) -> None:
        self.index.truncate_to(offset)
        self.model = [entry for entry in self.model if entry[0] < offset]

    @rule()
    def write(self) -> None:
        self.index.write()

    @rule(zeros=st.integers(0, 3))
    def reopen(self, zeros: int) -> None:
        self.index.close()
        if zeros and self.model:
            file = self.disk.open("/d/i.index", create=True)
            file.append(bytes(8 * zeros))
            file.close()
        self.index = OffsetIndex(self.disk, "/d/i.index", BASE, 400)

    @rule()
    def reset(self) -> None:
        self.index.reset()
        self.model = []

    @invariant()
    def same(self) -> None:
        assert [self.index.entry(slot) for slot in range(self.index.entry_count)] == self.model
        assert self.index.last_offset == (self.model[-1][0] if self.model else BASE)
        assert self.index.is_full == (len(self.model) >= 50)


TestIndexMachine = IndexMachine.TestCase
