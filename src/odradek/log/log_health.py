"""Health of a log: its directory, the fault that took it offline, and whether it was closed.

Every part of a log holds the same `LogHealth`. An `OSError` becomes a `StorageFault` and a damaged record a
`CorruptLog`; the first of them is kept in `fault`, and from then on every operation that needs the disk is rejected
with `KafkaStorageError`. Nothing is retried: after a failed write or sync the contents of the disk are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from odradek.common.failures import Fault
from odradek.common.ids import TopicPartition
from odradek.log.errors import DamagedFile, KafkaStorageError, StorageFault
from odradek.log.offsets import FileRange
from odradek.log.values import CorruptLog
from odradek.records.errors import CorruptRecord


class LogHealth:
    """The state that decides whether a log may be used, shared by the parts of one log."""

    __slots__ = ("directory", "fault", "is_closed", "log_dir", "topic_partition")

    def __init__(self, topic_partition: TopicPartition, directory: str) -> None:
        self.topic_partition = topic_partition
        self.directory = directory
        #: The directory that holds this log among others. It goes offline as a whole.
        self.log_dir = directory.rpartition("/")[0]
        #: Why the log is offline, or None.
        self.fault: Fault | None = None
        self.is_closed = False

    def check_online(self) -> None:
        """Raise KafkaStorageError if the log is offline or closed."""
        if self.is_closed and self.fault is None:
            raise KafkaStorageError(f"The log of {self.topic_partition} was closed")
        if self.fault is not None:
            raise KafkaStorageError(f"The log of {self.topic_partition} is offline: {self.fault}")

    def check_disk(self) -> None:
        """Raise as `check_online` does, unless only the records are damaged; for operations that do not read them."""
        if not isinstance(self.fault, DamagedFile):
            self.check_online()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Take the log offline if the disk fails inside the block, or damage is detected there."""
        try:
            yield
        except OSError as error:
            raise self.fail(error) from error
        except CorruptRecord as error:
            raise self.report_corruption(error) from error

    def fail(self, error: OSError) -> StorageFault:
        """Take the log offline, and return the fault to raise."""
        fault = StorageFault(self.log_dir, error.filename or self.directory, error)
        self.take_offline(fault)
        return fault

    def report_corruption(self, error: CorruptRecord, damaged: FileRange | None = None) -> CorruptLog:
        """Take the log offline because the disk does not hold what was written, and return the fault to raise."""
        path = self.directory if damaged is None else damaged.file.path
        fault = CorruptLog(path, None if damaged is None else damaged.position, error.message)
        self.take_offline(fault)
        return fault

    def take_offline(self, fault: Fault) -> None:
        """Keep the first fault."""
        if self.fault is None:
            self.fault = fault

    def close(self) -> None:
        """Reject all operations from now on."""
        self.is_closed = True

    def moved_to(self, directory: str) -> None:
        """Note the new name of the directory, which stays in the same log directory."""
        self.directory = directory
