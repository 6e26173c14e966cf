"""The files of a node in a test."""

import os
from pathlib import Path

import pytest

from odradek.testing.faulty_files import Disk, FaultyFileSystem


def test_a_slow_disk_takes_its_time_for_each_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("odradek.testing.faulty_files.time.sleep", slept.append)
    disk = Disk()
    file = FaultyFileSystem(disk).open(str(tmp_path / "file"), create=True)
    file.append(b"quick")
    assert slept == []
    disk.delay_ms = 20
    file.append(b"slow")
    assert file.read(0, 9) == b"quickslow"
    file.sync()
    assert slept == [0.02] * 3
    file.close()


def test_a_killed_node_changes_nothing(tmp_path: Path) -> None:
    disk = Disk()
    files = FaultyFileSystem(disk)
    path = str(tmp_path / "file")
    file = files.open(path, create=True)
    file.append(b"before")
    disk.is_gone = True
    for forbidden in (
        lambda: file.append(b"after"),
        lambda: file.truncate(0),
        file.sync,
        lambda: files.remove(path),
        lambda: files.rename(path, path + ".new"),
        lambda: files.open(path + ".new", create=True),
    ):
        with pytest.raises(OSError, match="the node was killed"):
            forbidden()
    assert os.listdir(tmp_path) == ["file"] and files.read_file(path) == b"before"


def test_a_file_that_nobody_has_any_more_is_closed(tmp_path: Path) -> None:
    file = FaultyFileSystem(Disk()).open(str(tmp_path / "file"), create=True)
    descriptor = file._file.fileno()
    del file
    with pytest.raises(OSError):
        os.fstat(descriptor)
