"""Errors of the log, in three kinds that are never mixed.

* `ApiError`s: expected errors, returned to the client with Kafka's error code.
* `DamagedFile`: the contents of a file are wrong. It names the file, the position and the problem. Recovery catches it
  and repairs the file, `odradek log verify` prints it; anywhere else it is a fault.
* `StorageFault`: the disk itself failed. Nothing is retried: the log directory goes offline.

The parts of one directory (segment, indexes, checkpoints, snapshots) do not catch an `OSError`. The public entry
points of the package (the log, the loader, the cleaner, the manager) turn it into a `StorageFault` with
`storage_guard`, so that this happens in one place.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from odradek.common.failures import ApiError, Fault


class StorageFault(Fault):
    """The disk failed under a log. `log_dir` is the directory that goes offline."""

    def __init__(self, log_dir: str, path: str, error: OSError) -> None:
        super().__init__(f"{path}: {error.strerror or error}; log directory {log_dir} goes offline")
        self.log_dir = log_dir
        self.path = path
        self.error = error


@contextmanager
def storage_guard(log_dir: str, path: str) -> Iterator[None]:
    """Turn an `OSError` in the block into the `StorageFault` of `log_dir`; `path` is said where the error says none."""
    try:
        yield
    except OSError as error:
        raise StorageFault(log_dir, error.filename or path, error) from error


class DamagedFile(Fault):
    """A file is not what it should be. `position` counts bytes, or lines where the file is text."""

    def __init__(self, path: str, position: int | None, reason: str) -> None:
        location = path if position is None else f"{path}:{position}"
        super().__init__(f"{location}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason


class CorruptIndex(DamagedFile):
    """An index that is missing or contradicts itself; it can be rebuilt from its segment."""


class CorruptSnapshot(DamagedFile):
    """A producer snapshot that is cut short or fails its CRC; an older one and the log make up for it."""


class CorruptCheckpoint(DamagedFile):
    """A checkpoint with a line that is none; `position` is the number of the line."""


class InvalidOffset(DamagedFile):
    """An entry for an index that does not lie behind the last one: the segment's offsets run backwards."""


class SegmentOverflow(Fault):
    """An offset that is too far from its segment's base to be written as four bytes. The loader splits the segment."""

    def __init__(self, path: str, base_offset: int, offset: int) -> None:
        super().__init__(f"{path}: offset {offset} is out of the range of a segment that starts at {base_offset}")
        self.path = path
        self.base_offset = base_offset
        self.offset = offset


class InvalidArgument(ApiError):
    """A value of a request that Kafka has no error code for: it answers UNKNOWN_SERVER_ERROR."""

    code = -1


class OffsetOutOfRange(ApiError):
    code = 1


class RecordTooLarge(ApiError):
    code = 10


class InvalidTopic(ApiError):
    code = 17


class RecordListTooLarge(ApiError):
    code = 18


class StaleRead(ApiError):
    """A range of a segment that is no longer part of the log: find it again. A client is told to come back."""

    code = 9


class OutOfOrderSequence(ApiError):
    code = 45


class InvalidProducerEpoch(ApiError):
    code = 47


class InvalidTxnState(ApiError):
    code = 48


class TransactionCoordinatorFenced(ApiError):
    code = 52


class KafkaStorageError(ApiError):
    """Error returned to clients for an offline log directory."""

    code = 56


class FencedLeaderEpoch(ApiError):
    """Records of a leader epoch that is over."""

    code = 74


class InconsistentTopicId(ApiError):
    code = 103
