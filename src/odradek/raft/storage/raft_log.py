"""The replicated log as the quorum sees it: a port, and comparisons with other logs.

Calls on the log are direct, not effects: what a step decides next depends on what it has just appended or read, and
none of them waits. They change what this process reads back, not what survives a crash; that is the effect `Flush`
(`RaftLog.flush` for whoever carries it out). Two are durable on their own when they return, since the step goes on
from the new state at once: freezing a snapshot, and `truncate_to_latest_snapshot`.

Offsets and epochs are in the batches before they are appended. A log that starts beyond 0 has a snapshot that ends
exactly there.
"""

from enum import Enum
from typing import NamedTuple, Protocol

from odradek.common.failures import check
from odradek.common.ports import Buffer
from odradek.raft.values import OffsetAndEpoch


class RawSnapshot(Protocol):
    """A snapshot that is being written, byte by byte, under a name that readers ignore."""

    @property
    def id(self) -> OffsetAndEpoch: ...

    @property
    def size_bytes(self) -> int: ...

    def append(self, data: Buffer) -> None: ...

    def freeze(self) -> None:
        """Make the snapshot durable and readable under its own name; it never changes again."""
        ...

    def close(self) -> None:
        """Remove the snapshot, unless it is frozen."""
        ...


class RaftLog(Protocol):
    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int:
        """Offset after the last record; the start offset for an empty log."""
        ...

    @property
    def last_epoch(self) -> int:
        """Epoch of the last record; of the snapshot if there is no record after it; 0 for an empty log without
        snapshots."""
        ...

    @property
    def high_watermark(self) -> int: ...

    def update_high_watermark(self, offset: int) -> None: ...

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        """The largest epoch up to `epoch` that the log knows, and where it ends; for `epoch` before all that it knows,
        the snapshot at its start, or without one `epoch` itself, ending where the log starts."""
        ...

    def initialize_leader_epoch(self, epoch: int) -> None:
        """`epoch` begins at the end of the log; nothing of it is written yet."""
        ...

    def append_as_leader(self, batches: Buffer, epoch: int) -> None: ...

    def append_as_follower(self, batches: Buffer, epoch: int) -> None:
        """Batches up to the first one of a later epoch than `epoch`. Raises CorruptRecord or InvalidRecord for what
        is damaged or does not continue the log; whole batches before it are kept."""
        ...

    def read(self, offset: int, max_bytes: int, *, committed: bool) -> Buffer:
        """Whole batches from the one with `offset` on, at least one if there is any; `committed` ends at the high
        watermark, otherwise at the end of the log."""
        ...

    def truncate_to(self, offset: int) -> None:
        """Truncate the log. Never below the high watermark."""
        ...

    def flush(self) -> None: ...

    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None: ...

    @property
    def earliest_snapshot_id(self) -> OffsetAndEpoch | None: ...

    def snapshot_size_bytes(self, snapshot_id: OffsetAndEpoch) -> int | None:
        """Return the size of a snapshot; None if it does not exist."""
        ...

    def read_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> Buffer: ...

    def create_snapshot(self, snapshot_id: OffsetAndEpoch) -> RawSnapshot | None:
        """Not compared with the log: a follower receives snapshots from beyond its end. None if it is there already."""
        ...

    def truncate_to_latest_snapshot(self) -> bool:
        """Clear the log and let it start at the latest snapshot, if that is beyond the end of the log."""
        ...

    def delete_before_snapshot(self, snapshot_id: OffsetAndEpoch) -> bool:
        """Let the log start at this snapshot; the log and the snapshots before it go."""
        ...

    def clean(self, wall_ms: int) -> bool:
        """Drop old snapshots and the log behind them, as retention says (`metadata.max.retention.*`); the latest
        snapshot stays. Whether anything went."""
        ...


class Fit(Enum):
    """Result of comparing the end of another log with ours."""

    VALID = "valid"
    DIVERGING = "diverging"
    SNAPSHOT = "snapshot"


class Validity(NamedTuple):
    """`at`: up to where the logs may agree (diverging), or the snapshot to begin from."""

    fit: Fit
    at: OffsetAndEpoch


def validate_offset_and_epoch(log: RaftLog, offset: int, epoch: int) -> Validity:
    """Return whether a log that ends at `offset` with a record of `epoch` is a prefix of ours."""
    start_offset = log.start_offset
    if start_offset == 0 and offset == 0:
        return Validity(Fit.VALID, OffsetAndEpoch(0, 0))
    earliest = log.earliest_snapshot_id
    if earliest is not None and (
        offset < start_offset or (offset == start_offset and epoch != earliest.epoch) or epoch < earliest.epoch
    ):
        latest = log.latest_snapshot_id
        check(latest is not None, f"the log starts at {start_offset} without a snapshot")
        assert latest is not None
        return Validity(Fit.SNAPSHOT, latest)
    end = log.end_offset_for_epoch(epoch)
    if end.epoch != epoch or end.offset < offset:
        return Validity(Fit.DIVERGING, end)
    return Validity(Fit.VALID, OffsetAndEpoch(epoch, offset))


def truncate_to_end_offset(log: RaftLog, diverging: OffsetAndEpoch) -> int:
    """Truncate our log to the offset up to which it may agree with the leader's, which says that its `diverging.epoch`
    ends there."""
    offset = truncation_offset(log, diverging)
    log.truncate_to(offset)
    return offset


def truncation_offset(log: RaftLog, diverging: OffsetAndEpoch) -> int:
    """Return the offset up to which our log may agree with that of a leader whose `diverging.epoch` ends there."""
    if diverging.epoch == 0:
        return min(diverging.offset, log.end_offset)
    ours = log.end_offset_for_epoch(diverging.epoch)
    return min(ours.offset, diverging.offset) if ours.epoch == diverging.epoch else ours.offset


def log_end(log: RaftLog) -> OffsetAndEpoch:
    return OffsetAndEpoch(log.last_epoch, log.end_offset)
