"""One segment: a `.log` file with its offset, time and transaction index.

Skeleton of signatures.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from odradek.common.ports import Buffer, File, FileSystem
from odradek.log.offset_index import OffsetIndex
from odradek.log.offsets import (
    AbortedTxn,
    BatchPosition,
    CompletedTxn,
    FileRange,
    FoundTimestamp,
    OffsetMetadata,
    TimestampOffset,
)
from odradek.log.time_index import TimeIndex
from odradek.log.txn_index import TxnIndex


class AppendedBatch(Protocol):
    """What the indexes want to know of a batch; `records.batch.Batch` is one, with its offset already assigned."""

    @property
    def last_offset(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...


class SegmentRead(NamedTuple):
    """`start` is the batch that holds the offset asked for. `records` may be of length 0."""

    start: OffsetMetadata
    records: FileRange
    first_entry_incomplete: bool


class Segment:
    """`base_offset`, `size` (bytes of the log file), `offset_index`, `time_index`, `txn_index`, `roll_jitter_ms` are
    public to read. Nothing but this class writes to its files."""

    base_offset: int
    size: int
    offset_index: OffsetIndex
    time_index: TimeIndex
    txn_index: TxnIndex
    roll_jitter_ms: int

    def __init__(
        self,
        files: FileSystem,
        directory: str,
        base_offset: int,
        *,
        now_ms: int,
        index_interval_bytes: int = 4096,
        max_index_bytes: int = 10 * 1024 * 1024,
        roll_jitter_ms: int = 0,
        suffix: str = "",
        create: bool = False,
    ) -> None:
        """With `create` the files are made, and must not hold anything; without, the `.log` must be there."""
        raise NotImplementedError

    @property
    def log_path(self) -> str:
        raise NotImplementedError

    @property
    def file(self) -> File:
        """The log file, opened when it is first needed."""
        raise NotImplementedError

    def append(self, largest_offset: int, data: Buffer, batches: Sequence[AppendedBatch]) -> None:
        """`data` is exactly these batches. Raises SegmentOverflow before anything is written."""
        raise NotImplementedError

    def append_from(self, source: "Segment", position: int) -> int:
        """Copy whole batches of `source` from `position` on while their offsets fit; returns how many bytes."""
        raise NotImplementedError

    def should_roll(
        self,
        incoming_bytes: int,
        largest_offset: int,
        max_timestamp: int,
        *,
        now_ms: int,
        segment_bytes: int,
        segment_ms: int,
    ) -> bool:
        raise NotImplementedError

    def read(
        self, start_offset: int, max_bytes: int, *, max_position: int | None = None, min_one_message: bool = False
    ) -> SegmentRead | None:
        """None if `start_offset` is beyond the last batch. `max_position` None is the end of the file."""
        raise NotImplementedError

    def translate_offset(self, offset: int, start_position: int = 0) -> BatchPosition | None:
        """The first batch whose last offset is `offset` or more."""
        raise NotImplementedError

    def fetch_upper_bound_offset(self, position: int, length: int) -> int | None:
        """An offset that lies behind `length` bytes read from `position`, from the index; None if it knows none."""
        raise NotImplementedError

    def read_next_offset(self) -> int:
        """The offset after the last batch, found by reading from the last index entry on."""
        raise NotImplementedError

    def has_overflow(self) -> bool:
        raise NotImplementedError

    def find_offset_by_timestamp(self, timestamp: int, starting_offset: int) -> FoundTimestamp | None:
        raise NotImplementedError

    @property
    def max_timestamp_and_offset(self) -> TimestampOffset:
        """The largest timestamp so far and the last offset of its batch; of a sealed segment from its time index."""
        raise NotImplementedError

    @property
    def max_timestamp_so_far(self) -> int:
        raise NotImplementedError

    def largest_record_timestamp(self) -> int | None:
        raise NotImplementedError

    def largest_timestamp(self) -> int:
        """As above, or when the file was last modified: what retention by time goes by."""
        raise NotImplementedError

    def first_batch_timestamp(self) -> int | None:
        """Max timestamp of the first batch; None if there is none or it has no time."""
        raise NotImplementedError

    def time_waited_for_roll(self, now_ms: int, message_timestamp: int) -> int:
        raise NotImplementedError

    def update_txn_index(self, completed: CompletedTxn, last_stable_offset: int) -> None:
        """Remember an aborted transaction; a committed one needs nothing."""
        raise NotImplementedError

    def collect_aborted(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """Aborted transactions that overlap the range, and whether later segments cannot hold more."""
        raise NotImplementedError

    def truncate_to(self, offset: int, now_ms: int) -> int:
        """Drop the batch that holds `offset` and everything behind it; returns the bytes dropped."""
        raise NotImplementedError

    def become_inactive(self) -> None:
        """At a roll: the last time index entry is added and the indexes are written out."""
        raise NotImplementedError

    def sanity_check(self) -> None:
        """Raises CorruptIndex if an index is missing or cannot be one. Cheap: asked of every segment at start."""
        raise NotImplementedError

    def flush_plan(self) -> list[File]:
        """Write pending index entries; the files that must be synced (in any thread) to make all so far durable."""
        raise NotImplementedError

    def flush_done(self) -> None:
        """The files of the last plan were synced."""
        raise NotImplementedError

    def modified_ms(self) -> int:
        raise NotImplementedError

    def set_modified_ms(self, modified_ms: int) -> None:
        raise NotImplementedError

    def change_suffix(self, old: str, new: str) -> None:
        """Rename all files, e.g. from "" to ".deleted"; the log first, as Kafka does."""
        raise NotImplementedError

    def has_suffix(self, suffix: str) -> bool:
        raise NotImplementedError

    def update_directory(self, directory: str) -> None:
        """The directory was renamed under us."""
        raise NotImplementedError

    def delete(self) -> None:
        """Remove all files that exist."""
        raise NotImplementedError

    def close(self) -> None:
        """Add the last time index entry, write the indexes, close. It syncs nothing: flush first."""
        raise NotImplementedError

    def close_handlers(self) -> None:
        """Let go of the files without writing: the disk has failed."""
        raise NotImplementedError
