"""Open what lies in a data directory without being caught by it.

Anything may lie under one of Kafka's names. A pipe would keep us waiting for ever, a device may be without end, and a
sparse file can be larger than memory. So only regular files are read, and none that is larger than its kind can be.
"""

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from odradek.common.files import OsFileSystem
from odradek.inspection.directory_listing import Kind, kind_of
from odradek.log.errors import DamagedFile
from odradek.log.segments.segment import MAX_SEGMENT_BYTES

_KIB = 1024
_MIB = 1024 * _KIB

#: The most bytes that a file of a kind may have.
LIMITS_BYTES = {
    # Positions are written in 31 bits, and so Kafka opens nothing larger that holds batches.
    Kind.SEGMENT: MAX_SEGMENT_BYTES,
    Kind.METADATA_SNAPSHOT: MAX_SEGMENT_BYTES,
    # segment.index.bytes is a number of 31 bits, and an index grows to no more.
    Kind.OFFSET_INDEX: MAX_SEGMENT_BYTES,
    Kind.TIME_INDEX: MAX_SEGMENT_BYTES,
    # Two million aborted transactions in one segment.
    Kind.TXN_INDEX: 64 * _MIB,
    # A million producers of one partition; a broker holds them all in memory.
    Kind.PRODUCER_SNAPSHOT: 64 * _MIB,
    # A line for each leader epoch: half a million of them.
    Kind.EPOCHS: 16 * _MIB,
    # A line for each partition: 200 000 with the longest name there is.
    Kind.OFFSETS: 64 * _MIB,
    # A hundred bytes for each of some thousand voters.
    Kind.QUORUM_STATE: _MIB,
    # Two lines or four, and people's comments.
    Kind.PARTITION_METADATA: 64 * _KIB,
    Kind.META_PROPERTIES: 64 * _KIB,
    Kind.CLEAN_SHUTDOWN: 64 * _KIB,
}


class LimitedFiles(OsFileSystem):
    """For readers that take a file system: what they read whole is a regular file of a sensible size."""

    def read_file(self, path: str) -> bytes:
        return read_whole(path)


def read_whole(path: str) -> bytes:
    """The limit is that of the kind that the name says."""
    limit_bytes = LIMITS_BYTES[kind_of(os.path.basename(path))]
    with _opened(path) as file, _named(path):
        return file.read(limit_bytes)


@contextmanager
def mapped(path: str) -> Iterator[memoryview]:
    """The content of a file for reading. Views that the caller still holds keep it mapped until they go."""
    with _opened(path) as file:
        with _named(path):
            empty = os.fstat(file.fileno()).st_size == 0
            view = memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        yield view


@contextmanager
def _named(path: str) -> Iterator[None]:
    """A failed read does not say of what; without a name the error would be taken for that of stdout."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Looked at before it is opened, since opening alone may do something to a device, and again after it."""
    _check(path, os.stat(path))
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        _check(path, os.fstat(file.fileno()))
        yield file


def _check(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise DamagedFile(path, None, "not a regular file")
    kind = kind_of(os.path.basename(path))
    if status.st_size > LIMITS_BYTES[kind]:
        limit = LIMITS_BYTES[kind]
        raise DamagedFile(path, None, f"{status.st_size} bytes, but a file of this kind ({kind}) has at most {limit}")


@contextmanager
def as_damage(path: str) -> Iterator[None]:
    """A number of five thousand digits, or brackets without end, are damage of the file and no error of ours."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, None, str(error)) from None
