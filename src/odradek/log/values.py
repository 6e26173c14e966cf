"""Results of appends, reads and look-ups of a log.

`AppendInfo` and `LogRead` are made once per request, so they are named tuples: immutable as a frozen data class is, at
a quarter of its cost.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from odradek.common.failures import ApiError
from odradek.log.errors import DamagedFile
from odradek.log.offsets import AbortedTxn, FileRange, OffsetMetadata

NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_EPOCH = -1


class Isolation(Enum):
    """End of what a reader may see."""

    LOG_END = "log_end"
    HIGH_WATERMARK = "high_watermark"
    TXN_COMMITTED = "txn_committed"


class RecordError(NamedTuple):
    """Why one record of a batch was refused; the index counts within the batch."""

    batch_index: int
    message: str


class RecordsRefused(ApiError):
    """Records that break a rule of their topic; each is named in `errors`."""

    def __init__(self, message: str, code: int, errors: tuple[RecordError, ...]) -> None:
        super().__init__(message, code)
        self.errors = errors


class AppendInfo(NamedTuple):
    """Result of an append.

    A duplicate of one of the producer's last five batches is answered as it was the first time, and nothing is
    written. `first_offset` is -1 for a batch of an old format from the leader, whose header does not tell it, and
    where there was nothing to append.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    #: -1 where the records keep the time of their producer.
    log_append_time_ms: int
    log_start_offset: int
    last_leader_epoch: int
    valid_bytes: int
    is_duplicate: bool = False


class LogRead(NamedTuple):
    """A range of one segment file, or None if there is nothing to read.

    The range may end within a batch and may begin before the offset that was asked for: both are for the reader to
    skip. `aborted` is None unless the isolation was `TXN_COMMITTED`.
    """

    offset: OffsetMetadata
    records: FileRange | None
    first_entry_incomplete: bool = False
    aborted: tuple[AbortedTxn, ...] | None = None

    def read(self) -> bytes:
        return self.records.read() if self.records is not None else b""

    @property
    def size_bytes(self) -> int:
        return self.records.length if self.records is not None else 0


class OffsetSnapshot(NamedTuple):
    """The offsets of a log at one moment."""

    log_start_offset: int
    log_end_offset: OffsetMetadata
    high_watermark: OffsetMetadata
    last_stable_offset: OffsetMetadata


class EpochEndOffset(NamedTuple):
    leader_epoch: int
    end_offset: int


class CorruptLog(DamagedFile):
    """Damage in what was known to be on disk: below the recovery point, or met while reading.

    Nothing is cut away because of it. The replica fails, and its data comes back from the others.
    """
