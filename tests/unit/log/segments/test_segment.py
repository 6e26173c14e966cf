"""One segment: appending, reading, rolling, cutting, its files."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.common.failures import Fault
from odradek.log.errors import CorruptIndex, SegmentOverflow
from odradek.log.offsets import AbortedTxn, CompletedTxn
from odradek.log.segments.segment import Segment
from odradek.records.batch import Batch, read_batches
from odradek.records.errors import CorruptRecord
from odradek.sim.world.disk import SimulatedDisk
from support.builders.segments import FILES, START_MS, append, data_batch, fill, new_segment, open_segment

ROLL = {"now_ms": START_MS, "segment_bytes": 1 << 20, "segment_ms": 1000}


class TestAppend:
    def test_an_entry_follows_each_interval_of_bytes(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, 100, interval=1000)
        position = since = 0
        expected = []
        for batch in fill(segment, 40):
            if since > 1000:
                expected.append((batch.last_offset, position))
                since = 0
            position += batch.size_bytes
            since += batch.size_bytes
        index = segment.offset_index
        assert [index.entry(slot) for slot in range(index.entry_count)] == expected
        assert len(expected) > 3
        assert segment.size == position

    def test_batches_of_one_chunk_are_indexed_one_by_one(self, tmp_path: Path) -> None:
        one, many = tmp_path / "one", tmp_path / "many"
        one.mkdir()
        many.mkdir()
        segment = new_segment(one, interval=500)
        batches = fill(segment, 20)
        segment.close()
        segment = new_segment(many, interval=500)
        append(segment, *batches)
        segment.close()
        for kind in (".log", ".index", ".timeindex"):
            name = f"{0:020d}{kind}"
            assert (one / name).read_bytes() == (many / name).read_bytes()

    def test_the_largest_time_so_far_and_the_offset_of_its_batch(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, 5)
        assert segment.max_timestamp_and_offset == (-1, 5)
        assert segment.largest_record_timestamp() is None
        append(segment, data_batch(5, 2, timestamp=START_MS + 50))
        append(segment, data_batch(7, 2, timestamp=START_MS + 10))
        assert segment.max_timestamp_and_offset == (START_MS + 51, 6)
        segment.close()
        assert open_segment(tmp_path, 5).max_timestamp_and_offset == (START_MS + 51, 6)

    def test_offsets_must_fit_into_31_bits(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, 100)
        for offset in (99, 100 + 2**31):
            with pytest.raises(SegmentOverflow):
                append(segment, data_batch(offset))
        assert segment.size == 0
        append(segment, data_batch(99 + 2**31))
        assert segment.read_next_offset() == 100 + 2**31
        assert not segment.has_overflow()

    def test_a_segment_never_outgrows_2_gib(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        segment.file.truncate(2**31 - 50)
        segment.size = 2**31 - 50
        with pytest.raises(Fault, match="larger than 2 GiB"):
            append(segment, data_batch(0))

    def test_copying_from_another_segment_stops_where_offsets_no_longer_fit(self, tmp_path: Path) -> None:
        source = new_segment(tmp_path, 0)
        batches = [data_batch(0), data_batch(10), data_batch(2**31 - 1), data_batch(2**31 + 5)]
        source.file.write(0, b"".join(batch.buffer for batch in batches))
        source.size = sum(batch.size_bytes for batch in batches)
        assert source.has_overflow()
        (tmp_path / "t").mkdir()
        first, second = new_segment(tmp_path / "t", 0), new_segment(tmp_path / "t", 2**31 + 5)
        copied = first.append_from(source, 0)
        assert copied == sum(batch.size_bytes for batch in batches[:3])
        assert second.append_from(source, copied) == batches[3].size_bytes
        assert (first.read_next_offset(), second.read_next_offset()) == (2**31, 2**31 + 6)


class TestRead:
    def test_finds_the_batch_that_holds_the_offset(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, 10, interval=300)
        batches = fill(segment, 30)
        positions = {}
        position = 0
        for batch in batches:
            for offset in range(batch.base_offset, batch.last_offset + 1):
                positions[offset] = (batch, position)
            position += batch.size_bytes
        for offset, (batch, position) in positions.items():
            found = segment.translate_offset(offset)
            assert found == (batch.base_offset, position, batch.size_bytes)
            read = segment.read(offset, batch.size_bytes)
            assert read is not None
            assert read.start == (batch.base_offset, 10, position)
            assert read.records.read() == batch.buffer
        assert segment.read(100, 1000) is None

    def test_an_offset_in_a_gap_finds_the_batch_behind_it(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        append(segment, data_batch(0, 3), data_batch(10, 3))
        found = segment.translate_offset(5)
        assert found is not None and found.base_offset == 10

    def test_limits(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        batches = fill(segment, 3)
        size = batches[0].size_bytes
        cases = [
            # max_bytes, max_position, min_one_message -> length, first_entry_incomplete
            (10_000, None, False, 3 * size, False),
            (size + 1, None, False, size + 1, False),
            (size - 1, None, False, size - 1, True),
            (size - 1, None, True, size, False),
            (0, None, False, 0, True),
            (0, None, True, size, False),
            (10_000, 2 * size, False, 2 * size, False),
            (10_000, 0, True, 0, False),
        ]
        for max_bytes, max_position, min_one, length, incomplete in cases:
            read = segment.read(0, max_bytes, max_position=max_position, min_one_message=min_one)
            assert read is not None
            assert (len(read.records), read.first_entry_incomplete) == (length, incomplete)
        beyond = segment.read(3, 10_000, max_position=size - 5)
        assert beyond is not None and len(beyond.records) == 0

    def test_large_batches_are_stepped_over(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, interval=1 << 30)
        batches = fill(segment, 5, records=2, value_bytes=20_000)
        for batch in batches:
            found = segment.translate_offset(batch.last_offset)
            assert found is not None and found.base_offset == batch.base_offset

    def test_a_search_meets_no_batch_that_is_cut_off(self, tmp_path: Path) -> None:
        """Recovery has dropped it; if there is one, a length was damaged, and to go past it would lose records."""
        segment = new_segment(tmp_path)
        first, second = fill(segment, 2)
        for cut in (1, 30, second.size_bytes - 1):
            segment.size = first.size_bytes + cut
            with pytest.raises(CorruptRecord, match=rf":{first.size_bytes}: "):
                segment.translate_offset(second.base_offset)
            assert segment.read_next_offset() == second.base_offset

    def test_a_batch_that_cannot_be_is_reported_with_its_place(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        first, _ = fill(segment, 2)
        segment.file.write(first.size_bytes + 8, (3).to_bytes(4, "big"))
        with pytest.raises(
            CorruptRecord, match=rf"00000000000000000000\.log:{first.size_bytes}: no batch has length 3"
        ):
            segment.translate_offset(4)

    def test_upper_bounds_come_from_the_index(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, interval=300)
        fill(segment, 10)
        entry = segment.offset_index.entry(0)
        assert segment.fetch_upper_bound_offset(0, entry.position) == entry.offset
        assert segment.fetch_upper_bound_offset(0, 1 << 20) is None

    def test_aborted_transactions(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        segment.update_txn_index(CompletedTxn(1, 0, 5, is_aborted=False), 6)
        assert segment.collect_aborted(0, 100) == ([], False)
        segment.update_txn_index(CompletedTxn(2, 6, 9, is_aborted=True), 10)
        assert segment.collect_aborted(0, 100) == ([AbortedTxn(2, 6, 9, 10)], False)

    def test_what_was_appended_last_is_found_without_the_index(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        batches = fill(segment, 40)
        last = batches[-1]
        index, segment.offset_index = segment.offset_index, None  # type: ignore[assignment]
        for offset in range(last.base_offset, last.last_offset + 1):
            found = segment.translate_offset(offset)
            assert found == (last.base_offset, segment.size - last.size_bytes, last.size_bytes)
        assert segment.translate_offset(last.last_offset + 1) is None
        segment.offset_index = index
        found = segment.translate_offset(last.base_offset - 1)
        assert found is not None
        assert found.base_offset == batches[-2].base_offset

    def test_the_tail_is_forgotten_when_the_segment_is_cut(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        batches = fill(segment, 10)
        segment.truncate_to(batches[5].base_offset, START_MS)
        for number in (5, 6):
            append(segment, batches[number])
            for batch in batches[: number + 1]:
                found = segment.translate_offset(batch.last_offset)
                assert found is not None
                assert found.base_offset == batch.base_offset


class TestTime:
    def test_the_first_record_that_is_late_enough(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, 10, interval=300)
        batches = fill(segment, 30)
        records = [record for batch in batches for record in batch.records()]
        for target in range(START_MS - 1, START_MS + 305):
            late = [record for record in records if record.timestamp >= target]
            found = segment.find_offset_by_timestamp(target, 10)
            if late:
                assert found is not None
                assert (found.timestamp, found.offset, found.leader_epoch) == (late[0].timestamp, late[0].offset, 0)
            else:
                assert found is None
        start = segment.find_offset_by_timestamp(0, 50)
        assert start is not None and start.offset == 50

    def test_age_counts_from_the_first_batch(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        assert segment.first_batch_timestamp() is None
        assert segment.time_waited_for_roll(START_MS + 70, START_MS + 500) == 70
        append(segment, data_batch(0, 2, timestamp=START_MS + 100))
        append(segment, data_batch(2, 2, timestamp=START_MS))
        assert segment.first_batch_timestamp() == START_MS + 101
        assert segment.time_waited_for_roll(START_MS + 70, START_MS + 500) == 399
        reopened = open_segment(tmp_path)
        assert reopened.first_batch_timestamp() == START_MS + 101

    def test_without_a_time_the_file_tells(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        os.utime(segment.log_path, (1000, 1000))
        assert segment.largest_timestamp() == 1_000_000
        segment.set_modified_ms(5000)
        assert segment.modified_ms() == 5000
        assert FILES.modified_ms(segment.offset_index.path) == 5000


class TestRoll:
    def test_by_size(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        fill(segment, 1)
        limits = {**ROLL, "segment_bytes": segment.size + 100}
        assert not segment.should_roll(100, 10, START_MS, **limits)
        assert segment.should_roll(101, 10, START_MS, **limits)

    def test_by_time_less_the_jitter(self, tmp_path: Path) -> None:
        segment = Segment(FILES, str(tmp_path), 0, now_ms=START_MS, roll_jitter_ms=100, create=True)
        assert not segment.should_roll(1, 0, START_MS + 5000, **ROLL)  # an empty one is never too old
        append(segment, data_batch(0, timestamp=START_MS))
        assert not segment.should_roll(1, 1, START_MS + 900, **ROLL)
        assert segment.should_roll(1, 1, START_MS + 901, **ROLL)

    def test_by_full_indexes(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, interval=0, max_index_bytes=40)
        rolled = []
        for i in range(4):
            rolled.append(segment.should_roll(1, i, START_MS + i, **ROLL))
            append(segment, data_batch(i, timestamp=START_MS + i))
        assert rolled == [False, False, False, True]  # the time index of 40 bytes holds three, one of them kept free

    def test_by_offsets(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, 100)
        assert not segment.should_roll(1, 99 + 2**31, START_MS, **ROLL)
        assert segment.should_roll(1, 100 + 2**31, START_MS, **ROLL)

    def test_the_last_entry_of_time_is_added(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, interval=500)
        batches = fill(segment, 20)
        last = batches[-1]
        assert segment.time_index.last_entry.timestamp < last.max_timestamp
        segment.become_inactive()
        assert segment.time_index.last_entry == (last.max_timestamp, last.last_offset)
        size = FILES.size(segment.time_index.path)
        assert size == segment.time_index.entry_count * 12
        segment.close()
        assert FILES.size(segment.time_index.path) == size


class TestTruncate:
    def test_every_offset(self, tmp_path: Path) -> None:
        for offset in range(100, 162):
            directory = tmp_path / str(offset)
            directory.mkdir()
            segment = new_segment(directory, 100, interval=300)
            batches = fill(segment, 20)
            kept = [batch for batch in batches if batch.last_offset < offset]
            size = sum(batch.size_bytes for batch in kept)
            before = segment.size
            assert segment.truncate_to(offset, START_MS) == before - size
            assert segment.size == size == FILES.size(segment.log_path)
            assert segment.read_next_offset() == (kept[-1].next_offset if kept else 100)
            segment.offset_index.check_entries(size)
            largest = (kept[-1].max_timestamp, kept[-1].last_offset) if kept else (-1, 100)
            assert segment.max_timestamp_and_offset == largest
            following = data_batch(offset, timestamp=START_MS + 5000)
            append(segment, following)
            read = segment.read(offset, 1000)
            assert read is not None and read.records.read() == following.buffer

    def test_an_emptied_segment_is_young_again(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        fill(segment, 2)
        segment.update_txn_index(CompletedTxn(2, 0, 5, is_aborted=True), 6)
        segment.truncate_to(0, START_MS + 100)
        assert segment.time_waited_for_roll(START_MS + 150, 0) == 50
        assert segment.txn_index.is_empty


class TestFiles:
    def test_a_new_segment_has_its_files_whatever_was_there(self, tmp_path: Path) -> None:
        for kind in (".log", ".index", ".timeindex", ".txnindex"):
            (tmp_path / f"{0:020d}{kind}").write_bytes(b"left over from a crash")
        segment = new_segment(tmp_path)
        assert sorted(path.name[20:] for path in tmp_path.iterdir()) == [".index", ".log", ".timeindex"]
        assert all(path.stat().st_size == 0 for path in tmp_path.iterdir())
        segment.sanity_check()

    def test_a_missing_index_is_found(self, tmp_path: Path) -> None:
        for kind in (".index", ".timeindex"):
            segment = new_segment(tmp_path)
            segment.close()
            (tmp_path / f"{0:020d}{kind}").unlink()
            with pytest.raises(CorruptIndex, match="missing"):
                open_segment(tmp_path).sanity_check()

    def test_renaming_and_deleting_all_of_them(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        batches = fill(segment, 2)
        segment.update_txn_index(CompletedTxn(2, 0, 5, is_aborted=True), 6)
        segment.become_inactive()
        segment.change_suffix("", ".deleted")
        assert segment.has_suffix(".deleted")
        assert sorted(path.name[20:] for path in tmp_path.iterdir()) == [
            ".index.deleted",
            ".log.deleted",
            ".timeindex.deleted",
            ".txnindex.deleted",
        ]
        read = segment.read(0, 100_000)
        assert read is not None and len(read.records.read()) == sum(batch.size_bytes for batch in batches)
        segment.delete()
        assert list(tmp_path.iterdir()) == []
        segment.delete()

    def test_a_renamed_directory(self, tmp_path: Path) -> None:
        old, new = tmp_path / "t-0", tmp_path / "t-0.x-delete"
        old.mkdir()
        segment = new_segment(old, interval=0)
        fill(segment, 3)
        old.rename(new)
        segment.update_directory(str(new))
        segment.close()
        assert (new / f"{0:020d}.index").stat().st_size == 16

    def test_what_must_be_synced(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path, interval=0)
        fill(segment, 3)
        assert [os.path.basename(file.path)[20:] for file in segment.flush_plan()] == [".log", ".index", ".timeindex"]
        assert FILES.size(segment.offset_index.path) == 16
        segment.flush_done()
        assert segment.flush_plan() == []
        append(segment, data_batch(segment.read_next_offset(), 1))
        assert [os.path.basename(file.path)[20:] for file in segment.flush_plan()] == [".log", ".index"]
        segment.flush_done()

    def test_what_was_cut_is_synced_again_even_at_its_old_size(self, tmp_path: Path) -> None:
        segment = new_segment(tmp_path)
        second = fill(segment, 2)[1]
        segment.flush_plan()
        segment.flush_done()
        segment.truncate_to(second.base_offset, START_MS)
        append(segment, second)
        assert [os.path.basename(file.path)[20:] for file in segment.flush_plan()] == [".log"]

    def test_files_that_are_made_later(self, tmp_path: Path) -> None:
        segment = Segment(FILES, str(tmp_path), 0, now_ms=START_MS, create_later=True)
        assert segment.read_next_offset() == 0
        assert segment.flush_plan() == []
        segment.close()
        assert list(tmp_path.iterdir()) == []
        append(segment, data_batch(0, 1))
        assert sorted(path.name[20:] for path in tmp_path.iterdir()) == [".index", ".log", ".timeindex"]

    def test_a_flush_makes_everything_durable(self) -> None:
        disk = SimulatedDisk()
        disk.make_dirs("/t-0")
        disk.sync_dir("/")
        segment = Segment(disk, "/t-0", 0, now_ms=START_MS, index_interval_bytes=0, create=True)
        batches = fill(segment, 5)
        for file in segment.flush_plan():
            file.sync()
        segment.flush_done()
        disk.sync_dir("/t-0")
        after = disk.crash()
        segment = Segment(after, "/t-0", 0, now_ms=START_MS)
        segment.sanity_check()
        assert segment.offset_index.entry_count == 4
        assert [b.base_offset for b in read_batches(after.read_file(segment.log_path))] == [
            batch.base_offset for batch in batches
        ]

    def test_a_sealed_segment_holds_no_index_file_open(self, tmp_path: Path) -> None:
        def open_files() -> int:
            return len(os.listdir("/proc/self/fd"))

        before = open_files()
        segments = []
        for i in range(10):
            segment = new_segment(tmp_path, i * 100, interval=0)
            fill(segment, 3)
            segment.become_inactive()
            for file in segment.flush_plan():
                file.sync()
            segment.flush_done()
            segments.append(segment)
        assert open_files() <= before + 10
        sealed = [open_segment(tmp_path, i * 100) for i in range(10)]
        assert open_files() <= before + 10
        for segment in [*segments, *sealed]:
            segment.close()
        assert open_files() <= before


@settings(max_examples=40)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 400), st.integers(0, 3)), min_size=1, max_size=25),
    interval=st.integers(0, 900),
)
def test_any_segment_finds_every_offset_and_time(sizes: list[tuple[int, int, int]], interval: int) -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/t-0")
    segment = Segment(disk, "/t-0", 7, now_ms=START_MS, index_interval_bytes=interval, create=True)
    batches: list[Batch] = []
    offset = 7
    for count, value_bytes, gap in sizes:
        batch = data_batch(offset, count, value_bytes=value_bytes, timestamp=START_MS + (offset * 37) % 50)
        append(segment, batch)
        batches.append(batch)
        offset += count + gap
    for target in range(7, offset):
        expected = next((batch for batch in batches if batch.last_offset >= target), None)
        found = segment.translate_offset(target)
        assert (found.base_offset if found else None) == (expected.base_offset if expected else None)
    records = [record for batch in batches for record in batch.records()]
    for time in range(START_MS - 1, START_MS + 60):
        late = [record.offset for record in records if record.timestamp >= time]
        by_time = segment.find_offset_by_timestamp(time, 7)
        assert (by_time.offset if by_time else None) == (late[0] if late else None)
