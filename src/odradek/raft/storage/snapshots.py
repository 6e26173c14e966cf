"""Snapshots of the state machine: a header, its records, a footer; all of them batches as in the log.

The header carries the time of the last record that the snapshot covers and, with dynamic voters, `kraft.version` and
the voters that held there. Offsets inside begin at 0 and mean nothing. The file is
`<end offset>-<epoch>.checkpoint`; it exists under that name only when it is whole.
"""

from collections.abc import Iterator, Sequence

from odradek.common.failures import Fault, check
from odradek.protocol.message import Message
from odradek.protocol.messages.kraft_version_record import KRaftVersionRecord
from odradek.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from odradek.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from odradek.raft.config import MAX_BATCH_BYTES
from odradek.raft.effects import CommittedBatch
from odradek.raft.storage.batch_accumulator import Accumulator, PendingBatch
from odradek.raft.storage.commit_listener import committed_batch
from odradek.raft.storage.control_records import read_control_records
from odradek.raft.storage.raft_log import RaftLog, RawSnapshot
from odradek.raft.values import NEVER_MS, RECONFIGURABLE, OffsetAndEpoch
from odradek.raft.voters import VoterSet
from odradek.records.batch import Batch, read_batches
from odradek.records.errors import CorruptRecord, InvalidRecord

SUFFIX = ".checkpoint"
PARTIAL_SUFFIX = ".checkpoint.part"
DELETED_SUFFIX = ".checkpoint.deleted"

_OFFSET_DIGITS = 20
_EPOCH_DIGITS = 10


def snapshot_file_name(snapshot_id: OffsetAndEpoch) -> str:
    return f"{snapshot_id.offset:0{_OFFSET_DIGITS}d}-{snapshot_id.epoch:0{_EPOCH_DIGITS}d}{SUFFIX}"


def parse_snapshot_file_name(name: str) -> OffsetAndEpoch | None:
    """Parse a file name; None for any other file, including partial and deleted snapshots."""
    if not name.endswith(SUFFIX):
        return None
    offset, dash, epoch = name.removesuffix(SUFFIX).partition("-")
    is_snapshot = dash and len(offset) == _OFFSET_DIGITS and len(epoch) == _EPOCH_DIGITS
    return OffsetAndEpoch(int(epoch), int(offset)) if is_snapshot and (offset + epoch).isdigit() else None


class SnapshotWriter:
    """`append` as often as wanted, then `freeze`; `close` in any case."""

    def __init__(
        self,
        raw: RawSnapshot,
        *,
        last_contained_log_timestamp: int,
        kraft_version: int,
        voters: VoterSet | None,
        wall_ms: int,
        max_batch_bytes: int = MAX_BATCH_BYTES,
    ) -> None:
        self._raw = raw
        self._wall_ms = wall_ms
        self._batches = Accumulator(
            raw.id.epoch, 0, linger_ms=NEVER_MS, max_batch_bytes=max_batch_bytes, max_waiting_batches=1 << 30
        )
        header: list[Message] = [SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_log_timestamp)]
        if kraft_version >= RECONFIGURABLE:
            header.append(KRaftVersionRecord(kraft_version=kraft_version))
            if voters is not None:
                header.append(voters.to_record())
        self._batches.append_control(header, 0, wall_ms)
        self._write(self._batches.drain())

    @property
    def id(self) -> OffsetAndEpoch:
        return self._raw.id

    def append(self, values: Sequence[bytes]) -> None:
        """Append records, in one batch."""
        self._batches.append(values, None, 0, self._wall_ms)
        self._write(self._batches.take_completed())

    def freeze(self) -> int:
        """Freeze the snapshot, and return its size in bytes."""
        self._batches.append_control([SnapshotFooterRecord()], 0, self._wall_ms)
        self._write(self._batches.drain())
        self._raw.freeze()
        return self._raw.size_bytes

    def close(self) -> None:
        self._raw.close()

    def _write(self, batches: Sequence[PendingBatch]) -> None:
        for batch in batches:
            self._raw.append(batch.data)


def read_snapshot(log: RaftLog, snapshot_id: OffsetAndEpoch) -> Iterator[CommittedBatch]:
    """Yield the batches, control batches included. Raises Fault if the snapshot is damaged."""
    return map(committed_batch, snapshot_batches(log, snapshot_id))


def snapshot_batches(log: RaftLog, snapshot_id: OffsetAndEpoch) -> Iterator[Batch]:
    """From the header to the footer. It was whole when it got its name: if it is not, its rest is nowhere, and a
    replica that went on without it would have another state than the others. Raises Fault."""
    size_bytes, end, last = log.snapshot_size_bytes(snapshot_id) or 0, 0, None
    try:
        for last in read_batches(log.read_snapshot(snapshot_id, 0, size_bytes)):
            last.check()
            check(end > 0 or _is(last, SnapshotHeaderRecord), f"the snapshot at {snapshot_id} has no header")
            end += last.size_bytes
            yield last
    except (CorruptRecord, InvalidRecord) as error:
        raise Fault(f"the snapshot at {snapshot_id} is damaged: {error}") from error
    is_whole = end == size_bytes and last is not None and _is(last, SnapshotFooterRecord)
    check(is_whole, f"the snapshot at {snapshot_id} is cut off after {end} of {size_bytes} bytes")


def _is(batch: Batch, kind: type[Message]) -> bool:
    return batch.is_control and any(isinstance(record.message, kind) for record in read_control_records(batch))
