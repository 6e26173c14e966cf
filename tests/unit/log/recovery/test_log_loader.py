"""Loading: leftovers, indexes, recovery from the recovery point, and what is never cut."""

import struct
from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.common.files import OsFileSystem
from odradek.common.ports import FileSystem
from odradek.log.errors import StorageFault
from odradek.log.file_names import LEADER_EPOCH_CHECKPOINT, segment_path
from odradek.log.recovery.log_loader import load_log
from odradek.log.segments.segment import Segment
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import CorruptLog
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import (
    DIRECTORY,
    NOON_MS,
    HandClock,
    Rig,
    batch,
    committed_records,
    idempotent,
    stored_records,
    stored_values,
)
from support.builders.segments import marker

SIZE = len(idempotent(7, 0, "0"))


@pytest.fixture(params=["real", "simulated"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    if request.param == "simulated":
        return Rig(SimulatedDisk())
    return Rig(OsFileSystem(), HandClock(), f"{tmp_path}/topic-0")


def filled(rig: Rig, count: int = 10, **settings: object) -> UnifiedLog:
    """Three batches a segment, one record a batch."""
    settings = {"segment_bytes": 3 * SIZE, "index_interval_bytes": 0, **settings}
    log = rig.load(**settings)
    for index in range(count):
        log.appender.append_as_leader(idempotent(7, index, str(index)), index // 4)
    return log


def values(count: int) -> list[bytes]:
    return [str(index).encode() for index in range(count)]


def snapshot(files: FileSystem, directory: str) -> dict[str, bytes]:
    return {name: files.read_file(f"{directory}/{name}") for name in files.list_dir(directory)}


def damage(rig: Rig, base_offset: int, position: int, content: bytes) -> str:
    path = segment_path(rig.directory, base_offset, ".log")
    file = rig.files.open(path)
    file.write(position, content)
    file.close()
    return path


class TestLeftovers:
    def test_an_empty_directory_is_an_empty_log(self, rig: Rig) -> None:
        log = rig.load(log_start_offset=17)
        assert (log.offsets.log_start_offset, log.offsets.log_end_offset, log.segments.base_offsets) == (17, 17, [17])

    def test_deleted_and_cleaned_files_go(self, rig: Rig) -> None:
        filled(rig).close()
        for name in ("00000000000000000003.log.cleaned", "00000000000000000000.index.deleted", "x.deleted"):
            rig.files.open(f"{rig.directory}/{name}", create=True).close()
        rig.files.open(f"{rig.directory}/00000000000000000009-0000000001.checkpoint.deleted", create=True).close()
        log = rig.load(clean_shutdown=True)
        assert stored_values(log) == values(10)
        left = [name for name in rig.files.list_dir(rig.directory) if name.endswith((".cleaned", ".deleted"))]
        assert left == ["00000000000000000009-0000000001.checkpoint.deleted"], "the metadata log's own"

    def test_an_index_without_a_log_goes(self, rig: Rig) -> None:
        filled(rig).close()
        orphan = segment_path(rig.directory, 77, ".index")
        rig.files.open(orphan, create=True).close()
        rig.load(clean_shutdown=True)
        assert not rig.files.exists(orphan)

    def test_a_file_that_is_nobodys_stays(self, rig: Rig) -> None:
        filled(rig).close()
        rig.files.open(f"{rig.directory}/notes.txt", create=True).close()
        rig.load(clean_shutdown=True)
        assert rig.files.exists(f"{rig.directory}/notes.txt")

    def compacted(self, rig: Rig, base_offset: int, records: dict[int, str], suffix: str) -> None:
        """A finished segment that holds what a cleaner left; as in `filled`, epoch 1 begins at offset 4."""
        segment = Segment(rig.files, rig.directory, base_offset, now_ms=0, suffix=suffix, create=True)
        for offset, value in records.items():
            data = batch(value, base_offset=offset, leader_epoch=offset // 4)
            segment.append(offset, data, [next(iter(_batches(data)))])
        segment.become_inactive()
        segment.close()

    def test_a_finished_swap_replaces_what_it_covers(self, rig: Rig) -> None:
        filled(rig).close()
        self.compacted(rig, 0, {1: "one", 5: "five"}, ".swap")
        log = rig.load(cleanup_policy=("compact",), recovery_point=10)
        assert [record.offset for record in stored_records(log)] == [1, 5, 6, 7, 8, 9]
        assert log.segments.base_offsets == [0, 6, 9]
        assert not any(name.endswith(".swap") for name in rig.files.list_dir(rig.directory))

    def test_a_swap_beside_a_cleaned_file_is_undone(self, rig: Rig) -> None:
        filled(rig).close()
        self.compacted(rig, 3, {4: "four"}, ".swap")
        self.compacted(rig, 0, {1: "one"}, ".cleaned")
        log = rig.load(recovery_point=10)
        assert stored_values(log) == values(10)

    def test_a_swap_of_which_only_the_index_is_left_is_finished(self, rig: Rig) -> None:
        filled(rig).close()
        path = segment_path(rig.directory, 3, ".index")
        rig.files.rename(path, path + ".swap")
        assert stored_values(rig.load(clean_shutdown=True)) == values(10)
        assert rig.files.exists(path)

    def test_a_damaged_swap_is_not_swapped_in(self, rig: Rig) -> None:
        filled(rig).close()
        self.compacted(rig, 0, {1: "one", 5: "five"}, ".swap")
        path = segment_path(rig.directory, 0, ".log", ".swap")
        rig.files.open(path).truncate(100)
        before = snapshot(rig.files, rig.directory)
        with pytest.raises(CorruptLog, match=path):
            rig.load(recovery_point=10)
        assert snapshot(rig.files, rig.directory) == before


def _batches(data: bytes) -> list[object]:
    from odradek.records.batch import read_batches

    return list(read_batches(data))


class TestIndexes:
    @pytest.mark.parametrize("kind", [".index", ".timeindex", ".txnindex", ".snapshot"])
    @pytest.mark.parametrize("clean", [True, False])
    @pytest.mark.parametrize("harm", ["missing", "empty", "junk", "zeros"])
    def test_a_harmed_index_is_made_again(self, rig: Rig, kind: str, clean: bool, harm: str) -> None:
        log = filled(rig)
        log.flusher.flush(include_active=True)
        log.close()
        for name in rig.files.list_dir(rig.directory):
            if not name.endswith(kind):
                continue
            path = f"{rig.directory}/{name}"
            if harm == "missing":
                rig.files.remove(path)
                continue
            file = rig.files.open(path)
            file.truncate(0)
            file.append({"empty": b"", "junk": bytes(range(37)), "zeros": bytes(48)}[harm])
            file.close()
        log = rig.load(clean_shutdown=clean, recovery_point=5)
        assert stored_values(log) == values(10)
        for offset in range(10):
            assert log.reader.read(offset, 1).offset.message_offset == offset
        found = log.reader.offset_for_timestamp(NOON_MS)
        assert found is not None and found.offset == 0
        assert log.appender.append_as_leader(idempotent(7, 9, "9"), 2).is_duplicate or kind == ".snapshot"
        log.appender.append_as_leader(batch("next"), 9)
        assert stored_values(log)[-1] == b"next"

    @pytest.mark.parametrize("content", [None, b"", b"junk\n", b"0\n1\n0 0\n", b"0\n2\n0 0\n90 5\n"])
    def test_epochs_are_right_whatever_the_checkpoint_says(self, rig: Rig, content: bytes | None) -> None:
        log = filled(rig)
        expected = log.epochs.entries()
        log.close()
        path = f"{rig.directory}/{LEADER_EPOCH_CHECKPOINT}"
        rig.files.remove(path)
        if content is not None:
            file = rig.files.open(path, create=True)
            file.append(content)
            file.close()
        found = rig.load().epochs.entries()
        if content != b"0\n2\n0 0\n90 5\n":  # an epoch that no batch has, and that nothing contradicts
            assert found == expected


class TestRecovery:
    def test_a_torn_tail_is_cut(self, rig: Rig) -> None:
        filled(rig, 8)
        step = 1 if isinstance(rig.files, SimulatedDisk) else 20
        for cut in range(1, SIZE, step):
            log = rig.load()
            end = log.offsets.log_end_offset
            log.appender.append_as_leader(batch("x" * 20), 9)
            log.close_handlers()
            path = log.segments.active.log_path
            file = rig.files.open(path)
            file.truncate(file.size() - cut)
            file.close()
            log = rig.load()
            assert log.offsets.log_end_offset == end
            assert stored_values(log) == values(8)
            assert any("cut" in repair for repair in log.repairs)
            assert rig.load().repairs == (), "a second start finds nothing"

    def test_damage_above_the_recovery_point_ends_the_log(self, rig: Rig) -> None:
        filled(rig)
        damage(rig, 3, SIZE + 70, b"\xff")
        log = rig.load(recovery_point=3)
        assert stored_values(log) == values(4)
        assert log.segments.base_offsets == [0, 3]
        log.appender.append_as_leader(idempotent(7, 4, "4"), 3)
        assert stored_values(rig.load()) == values(5)

    @pytest.mark.parametrize("position", [0, 7, 8, 11, 13, 16, 17, 21, 60, 65, SIZE - 1])
    def test_damage_below_the_recovery_point_is_never_cut(self, rig: Rig, position: int) -> None:
        """The first batch of the segment in which the recovery point is; nothing on disk changes."""
        filled(rig).flusher.flush()
        path = segment_path(rig.directory, 6, ".log")
        old = rig.files.read_file(path)[position]
        damage(rig, 6, position, bytes([old ^ 0x80]))
        before = snapshot(rig.files, rig.directory)
        with pytest.raises(CorruptLog) as fault:
            rig.load(recovery_point=8)
        assert fault.value.path == path and fault.value.position in (0, SIZE)
        assert snapshot(rig.files, rig.directory) == before

    def test_a_torn_batch_below_the_recovery_point_is_never_cut(self, rig: Rig) -> None:
        filled(rig).flusher.flush()
        path = segment_path(rig.directory, 9, ".log")
        rig.files.open(path).truncate(SIZE - 1)
        with pytest.raises(CorruptLog, match=path):
            rig.load(recovery_point=10)

    def test_a_rebuilt_index_does_not_cut_its_segment(self, rig: Rig) -> None:
        filled(rig).flusher.flush()
        path = damage(rig, 0, SIZE + 70, b"\xff")
        rig.files.remove(segment_path(rig.directory, 0, ".index"))
        for clean in (True, False):
            with pytest.raises(CorruptLog) as fault:
                rig.load(recovery_point=10, clean_shutdown=clean)
            assert (fault.value.path, fault.value.position) == (path, SIZE)

    def test_damage_that_loading_does_not_read_is_found_by_the_reader(self, rig: Rig) -> None:
        filled(rig).flusher.flush()
        damage(rig, 0, SIZE + 70, b"\xff")
        log = rig.load(recovery_point=10)
        assert log.reader.fetch(log.reader.read(3, 100))
        with pytest.raises(CorruptLog):
            log.reader.fetch(log.reader.read(0, 10_000))

    def test_a_segment_that_ends_early_ends_the_log(self, rig: Rig) -> None:
        """Its last writes never reached the disk, though those of the next segment did."""
        filled(rig)
        rig.files.open(segment_path(rig.directory, 3, ".log")).truncate(2 * SIZE)
        log = rig.load(recovery_point=2)
        assert stored_values(log) == values(5)

    def test_a_compacted_log_has_gaps(self, rig: Rig) -> None:
        filled(rig, cleanup_policy=("compact",))
        rig.files.open(segment_path(rig.directory, 3, ".log")).truncate(2 * SIZE)
        log = rig.load(recovery_point=2)
        assert [record.offset for record in stored_records(log)] == [0, 1, 2, 3, 4, 6, 7, 8, 9]

    def test_offsets_that_run_backwards_end_the_log(self, rig: Rig) -> None:
        filled(rig)
        damage(rig, 6, 2 * SIZE, struct.pack(">q", 6))
        assert stored_values(rig.load(recovery_point=6)) == values(8)

    @pytest.mark.parametrize("recovery_point", [6, 7, 8, 9])
    @pytest.mark.parametrize("batch_index", [0, 1, 2])
    def test_no_flipped_bit_of_an_offset_goes_unnoticed(self, rig: Rig, recovery_point: int, batch_index: int) -> None:
        """Base offsets are covered by no CRC. The flipped batch is cut if that is allowed, else the log refused."""
        filled(rig, 9).flusher.flush(include_active=True)
        path = segment_path(rig.directory, 6, ".log")
        good = rig.files.read_file(path)
        for bit in range(64) if isinstance(rig.files, SimulatedDisk) else (0, 7, 40, 63):
            place = batch_index * SIZE + bit // 8
            damage(rig, 6, 0, good)
            damage(rig, 6, place, bytes([good[place] ^ 1 << bit % 8]))
            if 6 + batch_index < recovery_point:
                with pytest.raises(CorruptLog):
                    rig.load(recovery_point=recovery_point)
            else:
                assert stored_values(rig.load(recovery_point=recovery_point)) == values(6 + batch_index)

    def test_a_log_that_ends_before_it_starts_begins_anew(self, rig: Rig) -> None:
        filled(rig)
        log = rig.load(log_start_offset=50)
        assert (log.offsets.log_start_offset, log.offsets.log_end_offset, log.segments.base_offsets) == (50, 50, [50])
        assert log.producers.is_empty and log.epochs.entries() == []

    def test_the_log_starts_where_its_first_segment_does(self, rig: Rig) -> None:
        filled(rig)
        rig.files.remove(segment_path(rig.directory, 0, ".log"))
        assert rig.load(clean_shutdown=True).offsets.log_start_offset == 3

    def test_the_recovery_point_is_never_moved_up_by_recovery(self, rig: Rig) -> None:
        filled(rig)
        assert rig.load(recovery_point=4).offsets.recovery_point == 4
        assert rig.load(recovery_point=400).offsets.recovery_point == 10

    def test_a_log_that_is_being_deleted_is_not_recovered(self, rig: Rig) -> None:
        log = filled(rig)
        log.rename_dir("topic-0.00ff-delete")
        log.close_handlers()
        rig.directory = log.directory
        damage(rig, 3, 70, b"\xff")
        log = rig.load()
        assert log.offsets.log_end_offset == 0 and len(log.segments) == 4
        log.delete()
        assert not rig.files.exists(log.directory)

    def test_a_failing_disk_is_a_storage_fault(self) -> None:
        disk = SimulatedDisk()
        rig = Rig(disk)
        filled(rig)
        disk.fail(kind="read", path="*.log")
        with pytest.raises(StorageFault):
            rig.load()


class TestSplit:
    def test_a_segment_whose_offsets_are_too_far_apart_becomes_two(self) -> None:
        """Compaction of old versions could leave such a segment; its index cannot hold the later offsets."""
        disk = SimulatedDisk()
        rig = Rig(disk)
        rig.load(cleanup_policy=("compact",)).close()
        far = 2**31 + 5
        file = disk.open(segment_path(DIRECTORY, 0, ".log"), create=True)
        for offset in (0, 1, far, far + 1):
            file.append(batch(str(offset), base_offset=offset, leader_epoch=0))
        log = rig.load()
        assert log.segments.base_offsets == [0, far]
        assert [record.offset for record in stored_records(log)] == [0, 1, far, far + 1]
        assert any("split" in repair for repair in log.repairs)
        log.appender.append_as_leader(batch("next"), 1)
        assert [record.offset for record in stored_records(rig.load())][-1] == far + 2

    def test_the_parts_know_the_aborted_transactions_that_end_in_them(self) -> None:
        """Below the recovery point nothing else would bring their transaction indexes back."""
        disk = SimulatedDisk()
        rig = Rig(disk)
        rig.load(cleanup_policy=("compact",)).close()
        far = 2**31 + 5
        file = disk.open(segment_path(DIRECTORY, 0, ".log"), create=True)
        for sequence, offset in enumerate((0, far)):
            data = idempotent(7, sequence, "no", base_offset=offset, leader_epoch=0, is_transactional=True)
            file.append(data)
            file.append(bytes(marker(offset + 1, 7, commit=False).buffer))
        disk.open(segment_path(DIRECTORY, far + 10, ".log"), create=True).append(
            batch("yes", base_offset=far + 10, leader_epoch=0)
        )
        log = rig.load(recovery_point=far + 10)
        log.offsets.set_high_watermark(log.offsets.log_end_offset)
        assert log.segments.base_offsets == [0, far, far + 10]
        entries = [list(segment.txn_index.entries()) for segment in log.segments]
        assert entries == [[(7, 0, 1, 2)], [(7, far, far + 1, far + 2)], []]
        assert [record.value for record in committed_records(log)] == [b"yes"]


class TestNames:
    @pytest.mark.parametrize("name", ["orders-0", "./orders-0", "orders-0/", "{here}/orders-0//"])
    def test_a_directory_may_be_named_in_any_way(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        log = load_log(OsFileSystem(), HandClock(), name.format(here=tmp_path))
        assert log.topic_partition == ("orders", 0)
        log.appender.append_as_leader(batch("a"), 0)
        log.close()
        assert (tmp_path / "orders-0" / "00000000000000000000.log").stat().st_size > 0

    def test_a_name_that_no_partition_can_have_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"named after topic and partition, like orders-0"):
            load_log(OsFileSystem(), HandClock(), str(tmp_path / "orders"))
        assert not (tmp_path / "orders").exists()
