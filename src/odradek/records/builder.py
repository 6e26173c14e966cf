"""Writing batches of magic 2: by the producer, the coordinators, the cleaner and the raft log."""

from collections.abc import Iterable, Sequence

from odradek.common.ports import Buffer
from odradek.records.batch import Batch
from odradek.records.compression import Compression
from odradek.records.record import Header, Record, TimestampType


class BatchBuilder:
    """Collects records and becomes one batch.

    Offsets run on from `base_offset`, unless `append` names them (the cleaner keeps records where they were). With
    `timestamp_type=LOG_APPEND_TIME`, `append_time_ms` is the time of all records. With `delete_horizon_ms`, the horizon
    takes the place of the base timestamp; the records' own timestamps stay what they are.
    """

    def __init__(
        self,
        *,
        base_offset: int = 0,
        compression: Compression = Compression.NONE,
        level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        append_time_ms: int | None = None,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        leader_epoch: int = -1,
        is_transactional: bool = False,
        is_control: bool = False,
        delete_horizon_ms: int | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def count(self) -> int:
        raise NotImplementedError

    @property
    def size_bytes(self) -> int:
        """Of the batch if it were built now without compression."""
        raise NotImplementedError

    def append(
        self,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[tuple[str, Buffer | None]] = (),
        offset: int | None = None,
    ) -> None:
        """`offset` None is the one after the last."""
        raise NotImplementedError

    def build(self, last_offset: int | None = None) -> bytes:
        """`last_offset` reaches beyond the last record where the cleaner took later ones away."""
        raise NotImplementedError


def retained_batch(
    original: Batch, records: Iterable[Record], *, delete_horizon_ms: int | None = None, level: int | None = None
) -> bytes:
    """`original` with only these of its records: offsets, last offset, sequence, producer, epoch and codec are kept."""
    raise NotImplementedError


def empty_batch(original: Batch) -> bytes:
    """The header alone: keeps a producer's last sequence and the end of the offsets when no record is left."""
    raise NotImplementedError


def control_batch(
    key: bytes,
    value: bytes,
    timestamp: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    is_transactional: bool = False,
) -> bytes:
    raise NotImplementedError


def end_transaction_marker(
    *,
    commit: bool,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """The control batch that ends a transaction in one partition."""
    raise NotImplementedError
