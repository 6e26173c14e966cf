"""Failures of the log, and a segment on a disk that fails."""

import errno

import pytest

from odradek.log.errors import CorruptIndex, DamagedFile, StorageFault, storage_guard
from odradek.log.segments.segment import Segment
from odradek.sim.world.disk import SimulatedDisk
from support.builders.segments import START_MS, append, data_batch


def test_an_error_of_the_disk_becomes_the_fault_of_its_directory() -> None:
    with pytest.raises(StorageFault) as caught, storage_guard("/d1", "/d1/t-0"):
        raise OSError(errno.EIO, "Input/output error", "/d1/t-0/x.log")
    fault = caught.value
    assert (fault.log_dir, fault.path, fault.error.errno) == ("/d1", "/d1/t-0/x.log", errno.EIO)
    assert str(fault) == "/d1/t-0/x.log: Input/output error; log directory /d1 goes offline"


def test_an_error_without_a_name_is_told_with_the_path_that_was_given() -> None:
    with pytest.raises(StorageFault, match=r"^/d1/t-0: No space left"), storage_guard("/d1", "/d1/t-0"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_the_guard_lets_everything_else_pass() -> None:
    with pytest.raises(DamagedFile), storage_guard("/d1", "/d1/t-0"):
        raise CorruptIndex("/d1/t-0/x.index", 8, "wrong")


def test_damage_names_file_and_place() -> None:
    assert str(CorruptIndex("/x.index", 8, "wrong")) == "/x.index:8: wrong"
    assert str(CorruptIndex("/x.index", None, "missing")) == "/x.index: missing"


def test_a_write_that_fails_is_not_counted() -> None:
    """The bytes that made it to the file lie beyond `size`; nothing reads them, and recovery drops them."""
    disk = SimulatedDisk(capacity_bytes=200)
    disk.make_dirs("/t-0")
    segment = Segment(disk, "/t-0", 0, now_ms=START_MS, create=True)
    first = data_batch(0)
    append(segment, first)
    with pytest.raises(OSError, match="No space left"):
        append(segment, data_batch(1, value_bytes=500))
    assert segment.size == first.size_bytes
    assert segment.max_timestamp_so_far == START_MS
    assert segment.read(1, 1000) is None
