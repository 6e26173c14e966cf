"""A data directory of 4 MiB fills up, ten times.

The producer is told, the other directory goes on, and nothing acknowledged is lost once there is room again."""

import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.common.locks import lock_dir
from odradek.log.errors import KafkaStorageError
from odradek.log.log_config import LogConfig
from odradek.log.manager.log_directories import open_log_dirs
from odradek.log.manager.log_manager import LogManager
from support.builders.logs import HandClock, batch, stored_values
from support.fakes.log_faults import scaled
from support.figures import report

ROUNDS = scaled(10)
DISK_BYTES = 4 * 1024 * 1024
RECORD_BYTES = 20_000
FULL = TopicPartition("full", 0)
SPARE = TopicPartition("spare", 0)

libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 4 MiB."""
    path = tmp_path / "small"
    path.mkdir()
    options = f"size={DISK_BYTES}".encode()
    if libc.mount(b"tmpfs", bytes(path), b"tmpfs", 0, options) != 0:
        assert ctypes.get_errno() == errno.EPERM, os.strerror(ctypes.get_errno())
        pytest.skip("only root may mount a tmpfs")
    yield path
    assert libc.umount2(bytes(path), 2) == 0


class Node:
    """The log manager of a node with two log directories, as a driver would hold it."""

    def __init__(self, directories: list[Path]) -> None:
        files = OsFileSystem()
        opened = open_log_dirs(
            files,
            [str(path) for path in directories],
            cluster_id="cluster",
            node_id=1,
            new_directory_id=lambda: os.urandom(16),
            now_ms=0,
            lock=lock_dir,
        )
        config = LogConfig(segment_bytes=512 * 1024)
        self.manager = LogManager(files, HandClock(), opened, config, new_uuid=lambda: os.urandom(16))
        self.manager.load_all()

    def make(self, tp: TopicPartition, directory: Path) -> None:
        if self.manager.log(tp) is None:
            self.manager.prefer_dir(tp, str(directory))
            self.manager.get_or_create(tp, is_new=True)

    def append(self, tp: TopicPartition, value: bytes) -> None:
        """Returns when the record is durable."""
        with self.manager.watched():
            log = self.manager.get_or_create(tp)
            log.appender.append_as_leader(bytearray(batch(value)), 0)
            log.flusher.flush()

    def values(self, tp: TopicPartition) -> list[bytes | None]:
        log = self.manager.log(tp)
        return stored_values(log) if log is not None else []


def value(round_number: int, number: int) -> bytes:
    return b"%d/%d/" % (round_number, number) + bytes(RECORD_BYTES)


def fill(node: Node, round_number: int, acknowledged: list[bytes]) -> None:
    for number in range(DISK_BYTES // RECORD_BYTES + 1):
        node.append(FULL, value(round_number, number))
        acknowledged.append(value(round_number, number))


def test_disk_full(small_disk: Path, tmp_path: Path) -> None:
    spare = tmp_path / "spare"
    refused = 0
    acknowledged: list[bytes] = []
    for round_number in range(ROUNDS):
        node = Node([small_disk, spare])
        node.make(FULL, small_disk)
        node.make(SPARE, spare)
        assert node.values(FULL)[: len(acknowledged)] == acknowledged, "everything acknowledged before is there"
        with pytest.raises(KafkaStorageError, match=r"No space left on device.*goes offline"):
            fill(node, round_number, acknowledged)
        refused += 1
        with pytest.raises(KafkaStorageError):
            node.append(FULL, b"still nothing")
        node.append(SPARE, b"the other directory goes on")
        assert len(node.values(SPARE)) == round_number + 1
        node.manager.shutdown()
        make_room(small_disk, tmp_path / f"moved-{round_number}")
    node = Node([small_disk, spare])
    assert node.values(FULL)[: len(acknowledged)] == acknowledged
    node.append(FULL, b"there is room")
    node.manager.shutdown()
    report("disk full", rounds=ROUNDS, refused=refused, acked=len(acknowledged), lost=0)


def make_room(disk: Path, target: Path) -> None:
    """What an operator does: a larger disk. The data is copied away, the disk grows, the data is copied back."""
    shutil.copytree(disk, target)
    size = os.statvfs(disk).f_blocks * os.statvfs(disk).f_frsize
    assert libc.mount(b"tmpfs", bytes(disk), b"tmpfs", 32, f"size={size + DISK_BYTES // 4}".encode()) == 0
