"""The segments of a log on disk: rolls, removals, swaps, and which names are durable in between."""

from collections.abc import Callable, Iterator

import pytest

from odradek.common.failures import Fault
from odradek.common.ids import TopicPartition
from odradek.log.errors import KafkaStorageError, StorageFault
from odradek.log.log_config import CurrentConfig, LogConfig
from odradek.log.log_health import LogHealth
from odradek.log.producers.snapshot_files import ProducerSnapshots
from odradek.log.segment_list import SegmentList
from odradek.log.segments.segment import Segment
from odradek.sim.world.disk import SimulatedDisk
from odradek.sim.world.disk_crash import Keep
from support.builders.logs import NOON_MS, HandClock
from support.builders.segments import append, data_batch

DIRECTORY = "/data/topic-0"


def path_of(base_offset: int, suffix: str = ".log") -> str:
    return f"{DIRECTORY}/{base_offset:020d}{suffix}"


class Parts:
    """A directory, and the lists of segments that tests build in it."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk()
        self.disk.make_dirs(DIRECTORY)
        self.disk.settle()
        self.health = LogHealth(TopicPartition("topic", 0), DIRECTORY)
        self.config = CurrentConfig(LogConfig(file_delete_delay_ms=500))
        self.snapshots = ProducerSnapshots(self.disk, DIRECTORY)

    def segment(self, base_offset: int, *, suffix: str = "", is_empty: bool = False) -> Segment:
        segment = Segment(self.disk, DIRECTORY, base_offset, now_ms=NOON_MS, suffix=suffix, create=True)
        if not is_empty:
            append(segment, data_batch(base_offset, 3))
        return segment

    def list_of(
        self, *segments: Segment, roll_jitter_ms: Callable[[], int] = lambda: 0, are_synced: bool = False
    ) -> SegmentList:
        return SegmentList(
            segments,
            self.disk,
            HandClock(),
            self.health,
            self.config,
            self.snapshots,
            roll_jitter_ms,
            are_synced=are_synced,
        )

    def write_snapshots(self, *offsets: int) -> None:
        for offset in offsets:
            self.snapshots.write(offset, [], sync=True)

    def log_files(self) -> list[str]:
        return [name.lstrip("0") for name in self.disk.list_dir(DIRECTORY) if ".log" in name]


@pytest.fixture
def parts() -> Parts:
    return Parts()


class TestRoll:
    def test_the_new_segment_is_empty_and_active(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1))
        segment = segments.roll(4)
        assert (segment.base_offset, segment.size) == (4, 0)
        assert segments.active is segment
        assert segments.base_offsets == [1, 4]
        assert parts.log_files() == ["1.log", "4.log"]

    def test_the_sealed_segment_has_its_last_time_index_entry_on_disk(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1))
        assert parts.disk.size(path_of(1, ".timeindex")) == 0
        segments.roll(4)
        assert parts.disk.size(path_of(1, ".timeindex")) == 12

    def test_settings_and_jitter_are_those_at_the_time_of_the_roll(self, parts: Parts) -> None:
        jitters: Iterator[int] = iter([70, 80])
        segments = parts.list_of(parts.segment(1), roll_jitter_ms=lambda: next(jitters))
        parts.config.update(LogConfig(index_interval_bytes=99))
        assert (segments.roll(4).index_interval_bytes, segments.active.roll_jitter_ms) == (99, 70)
        parts.config.update(LogConfig(index_interval_bytes=11))
        assert (segments.roll(5).index_interval_bytes, segments.active.roll_jitter_ms) == (11, 80)

    def test_an_empty_segment_at_the_same_offset_is_replaced(self, parts: Parts) -> None:
        empty = parts.segment(1, is_empty=True)
        segments = parts.list_of(empty)
        parts.write_snapshots(1)
        segment = segments.roll(1)
        assert segment is not empty and segments.active is segment
        assert segments.base_offsets == [1]
        assert parts.log_files() == ["1.log", "1.log.deleted"]
        (removal,) = segments.take_removals()
        assert removal.paths == (path_of(1, ".log.deleted"),), "the snapshot belongs to the new segment"

    def test_a_segment_with_records_at_the_same_offset_is_a_fault(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1))
        with pytest.raises(Fault, match="a segment at 1 exists and is not empty"):
            segments.roll(1)
        assert parts.log_files() == ["1.log"]

    def test_a_roll_to_an_earlier_offset_is_a_fault(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(5))
        with pytest.raises(Fault, match="cannot roll back to 4"):
            segments.roll(4)
        assert parts.log_files() == ["5.log"]

    def test_a_leftover_file_is_removed_and_not_overwritten(self, parts: Parts) -> None:
        """A fetch that still reads the old file keeps its contents."""
        segments = parts.list_of(parts.segment(1))
        leftover = parts.disk.open(path_of(4), create=True)
        leftover.append(b"old records")
        assert segments.roll(4).size == 0
        assert parts.disk.size(path_of(4)) == 0
        assert leftover.read(0, 100) == b"old records"


class TestDurableNames:
    def test_at_most_one_name_is_lost_in_a_crash(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1))
        for base_offset in (4, 7, 9):
            segments.roll(base_offset)
            survivors = [name for name in parts.disk.crash("none").list_dir(DIRECTORY) if name.endswith(".log")]
            assert len(survivors) == len(segments) - 1

    def test_a_roll_does_not_sync_a_durable_name_again(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), are_synced=True)
        segments.roll(4)
        assert "sync_dir" not in [operation.kind for operation in parts.disk.journal]
        segments.mark_names_synced(segments.names_on_disk)
        segments.roll(5)
        assert "sync_dir" not in [operation.kind for operation in parts.disk.journal]

    def test_names_are_counted_from_the_roll_on(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        assert (segments.names_on_disk, segments.names_synced) == (1, 0)
        segments.roll(7)
        assert (segments.names_on_disk, segments.names_synced) == (2, 1)

    def test_a_new_log_without_files_has_no_name_on_disk(self, parts: Parts) -> None:
        segment = Segment(parts.disk, DIRECTORY, 0, now_ms=NOON_MS, create_later=True)
        segments = parts.list_of(segment)
        assert segments.names_on_disk == 0
        append(segment, data_batch(0))
        assert segments.names_on_disk == 1

    def test_the_count_of_synced_names_does_not_go_back(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1))
        segments.mark_names_synced(3)
        segments.mark_names_synced(2)
        assert segments.names_synced == 3

    def test_segments_of_a_clean_stop_need_no_sync(self, parts: Parts) -> None:
        parts.segment(1).close()
        loaded = Segment(parts.disk, DIRECTORY, 1, now_ms=NOON_MS)
        segments = parts.list_of(loaded, are_synced=True)
        assert segments.names_synced == segments.names_on_disk == 1
        assert segments.active.flush_plan() == []

    def test_segments_of_a_crash_are_synced_with_the_first_flush(self, parts: Parts) -> None:
        parts.segment(1).close()
        segments = parts.list_of(Segment(parts.disk, DIRECTORY, 1, now_ms=NOON_MS))
        assert path_of(1) in [file.path for file in segments.active.flush_plan()]


class TestDelete:
    def test_files_and_snapshot_are_renamed_at_once(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4), parts.segment(7))
        parts.write_snapshots(1, 4, 7)
        segments.delete([segments.first])
        assert segments.base_offsets == [4, 7]
        assert parts.snapshots.offsets == [4, 7]
        names = [name for name in parts.disk.list_dir(DIRECTORY) if name.startswith(f"{1:020d}")]
        assert names == [
            f"{1:020d}{suffix}"
            for suffix in (".index.deleted", ".log.deleted", ".snapshot.deleted", ".timeindex.deleted")
        ]

    def test_a_removal_has_the_paths_and_the_current_delay(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4), parts.segment(7))
        parts.write_snapshots(4)
        parts.config.update(LogConfig(file_delete_delay_ms=800))
        segments.delete(list(segments)[:2])
        (removal,) = segments.take_removals()
        assert removal.delay_ms == 800
        assert removal.paths == (
            path_of(1, ".log.deleted"),
            path_of(4, ".log.deleted"),
            path_of(4, ".snapshot.deleted"),
        )

    def test_a_removal_is_handed_out_once(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        segments.delete([segments.first])
        assert len(segments.take_removals()) == 1
        assert segments.take_removals() == []

    def test_deleting_nothing_schedules_nothing(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1))
        segments.delete([])
        assert segments.take_removals() == []

    def test_a_restart_leaves_one_empty_segment(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        segments.restart_at(100)
        assert segments.base_offsets == [100]
        assert (segments.active.base_offset, segments.size_bytes) == (100, 0)
        assert parts.log_files() == ["1.log.deleted", "4.log.deleted", "100.log"]
        removed = [path for removal in segments.take_removals() for path in removal.paths]
        assert removed == [path_of(1, ".log.deleted"), path_of(4, ".log.deleted")]

    def test_a_restart_may_go_back_to_an_offset_with_records(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        segments.restart_at(1)
        assert (segments.base_offsets, segments.size_bytes) == ([1], 0)
        assert parts.log_files() == ["1.log", "1.log.deleted", "4.log.deleted"]


class TestRemoval:
    def test_it_removes_the_files_of_segments_and_snapshots(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        parts.write_snapshots(1, 4)
        segments.delete([segments.first])
        (removal,) = segments.take_removals()
        removal.run()
        names = parts.disk.list_dir(DIRECTORY)
        assert {name[:20] for name in names} == {f"{4:020d}"}
        assert f"{4:020d}.snapshot" in names

    def test_files_that_no_longer_exist_are_skipped(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        parts.write_snapshots(1)
        segments.delete([segments.first])
        (removal,) = segments.take_removals()
        removal.run()
        removal.run()
        assert parts.log_files() == ["4.log"]

    def test_a_failed_removal_takes_the_log_offline(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        segments.delete([segments.first])
        (removal,) = segments.take_removals()
        parts.disk.fail(kind="remove", path="*.log.deleted")
        with pytest.raises(StorageFault):
            removal.run()
        with pytest.raises(KafkaStorageError):
            parts.health.check_online()


class TestReplace:
    @pytest.fixture
    def segments(self, parts: Parts) -> SegmentList:
        segments = parts.list_of(parts.segment(1), parts.segment(4), parts.segment(7), parts.segment(10))
        parts.write_snapshots(4, 7, 10)
        return segments

    def replace_first_three(self, parts: Parts, segments: SegmentList) -> Segment:
        cleaned = parts.segment(4, suffix=".cleaned", is_empty=True)
        append(cleaned, data_batch(4, 1))
        for file in cleaned.flush_plan():
            file.sync()
        parts.disk.settle()
        segments.replace([cleaned], list(segments)[:3])
        return cleaned

    def test_new_segments_take_over_from_old_ones(self, parts: Parts, segments: SegmentList) -> None:
        cleaned = self.replace_first_three(parts, segments)
        assert segments.base_offsets == [4, 10]
        assert segments.get(4) is cleaned
        assert segments.active.base_offset == 10
        assert parts.log_files() == ["1.log.deleted", "4.log", "4.log.deleted", "7.log.deleted", "10.log"]

    def test_snapshots_of_offsets_without_a_segment_are_removed(self, parts: Parts, segments: SegmentList) -> None:
        self.replace_first_three(parts, segments)
        assert parts.snapshots.offsets == [4, 10]
        (removal,) = segments.take_removals()
        assert removal.paths[3:] == (path_of(7, ".snapshot.deleted"),)

    def test_names_are_durable_between_the_steps(self, parts: Parts, segments: SegmentList) -> None:
        self.replace_first_three(parts, segments)
        steps: list[str] = []
        for operation in parts.disk.journal:
            if operation.kind == "rename" and ".log" in operation.path:
                steps.append(operation.target.rpartition("/")[2].lstrip("0"))
            elif operation.kind == "sync_dir":
                steps.append("sync")
        assert steps == [
            "4.log.swap",
            "sync",
            "1.log.deleted",
            "4.log.deleted",
            "7.log.deleted",
            "sync",
            "4.log",
            "sync",
        ]

    @pytest.mark.parametrize("keep", ["none", "all"])
    def test_a_crash_leaves_the_old_or_the_new_records(self, parts: Parts, segments: SegmentList, keep: Keep) -> None:
        """The loader prefers a `.swap` file to the old segments, so both may exist only under that name."""
        self.replace_first_three(parts, segments)
        old_size, new_size = data_batch(4, 3).size_bytes, data_batch(4, 1).size_bytes
        for state in parts.disk.states():
            disk = state.crash(keep)
            sizes = {name.lstrip("0"): disk.size(f"{DIRECTORY}/{name}") for name in disk.list_dir(DIRECTORY)}
            has_old = [sizes.get(name) for name in ("1.log", "4.log", "7.log")] == [old_size] * 3
            has_swap = sizes.get("4.log.swap") == new_size
            has_new = sizes.get("4.log") == new_size and not {"1.log", "7.log"} & sizes.keys()
            assert has_old or has_swap or has_new

    def test_several_new_segments_are_added_in_order(self, parts: Parts, segments: SegmentList) -> None:
        new = [parts.segment(base_offset, suffix=".cleaned") for base_offset in (7, 1)]
        segments.replace(new, list(segments)[:3])
        assert segments.base_offsets == [1, 7, 10]
        assert [segments.get(1), segments.get(7)] == [new[1], new[0]]


class TestFiles:
    def test_a_renamed_directory_is_used_from_then_on(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        target = "/data/topic-0.0123-future"
        parts.disk.rename(DIRECTORY, target)
        parts.health.moved_to(target)
        segments.update_directory(target)
        assert [segment.log_path for segment in segments] == [f"{target}/{offset:020d}.log" for offset in (1, 4)]
        segments.roll(7)
        assert parts.disk.exists(f"{target}/{7:020d}.log")

    def test_closing_writes_the_indexes(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        segments.close()
        assert [parts.disk.size(path_of(offset, ".timeindex")) for offset in (1, 4)] == [12, 12]

    def test_closing_the_handlers_writes_nothing(self, parts: Parts) -> None:
        segments = parts.list_of(parts.segment(1), parts.segment(4))
        file = segments.first.file
        journal = list(parts.disk.journal)
        segments.close_handlers()
        assert parts.disk.journal == journal
        with pytest.raises(Fault, match="is closed"):
            file.read(0, 1)
