"""Batches of magic 2 built from columns: the way back from `odradek.records.columns`.

For those who write records by the thousand (Spark's sink): keys and values come as Arrow has them, one run of bytes
with offsets, and no object is made for what can be computed for all records at once. The bytes are those of
`odradek.records.builder`.

    columns = RecordColumns(keys=..., values=..., timestamps=now_ms)
    for batch in build_batches(columns, rows_of_partition, plan, base_sequence=0):
        send(batch.data)  # batch.count records; the next batch's sequence is batch.next_sequence
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from odradek.common.ports import Buffer
from odradek.records.batch import HEADER_BYTES, NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from odradek.records.builder import batch_of_payload
from odradek.records.compression import Compression, compress
from odradek.records.pack import Headers, RecordPacker
from odradek.records.record import NO_SEQUENCE, add_to_sequence

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Rows by their numbers, in the order in which they are to be written, or from one up to another.
Rows = Int64s | range


@dataclass(frozen=True, slots=True, eq=False)
class BinaryColumn:
    """Arrow's binary, large_binary, string or large_string: element i is `data[offsets[i]:offsets[i + 1]]`, and null
    where `valid` (None if there is no null) says so. `offsets` may begin anywhere, as those of a slice do."""

    data: Buffer
    offsets: Int32s | Int64s
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """Columns of one length; None for keys or values that are all null."""

    keys: BinaryColumn | None
    values: BinaryColumn | None
    #: One for all, or one for each.
    timestamps: int | Int64s
    #: One for each record, names with their values; None where no record has any.
    headers: Sequence[Headers] | None = None


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What the batches of a producer have in common."""

    #: Of a batch before compression, with its header; a record that is larger by itself becomes a batch of one.
    max_bytes: int
    compression: Compression = Compression.NONE
    level: int | None = None
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    is_transactional: bool = False


@dataclass(frozen=True, slots=True)
class BuiltBatch:
    data: bytes
    count: int
    #: Of the batch that comes after this one in its partition.
    next_sequence: int


def build_batches(
    columns: RecordColumns, rows: Rows, plan: BatchPlan, *, base_sequence: int = NO_SEQUENCE
) -> Iterator[BuiltBatch]:
    """The records of these rows, in this order, in as many batches as it takes; base offsets are 0, as producers have
    them. Each batch is made when it is asked for."""
    numbers = np.asarray(rows).tolist()
    sequence = base_sequence
    while numbers:
        packer = RecordPacker(plan.max_bytes - HEADER_BYTES)
        taken = 0
        for row in numbers:
            timestamp = columns.timestamps if isinstance(columns.timestamps, int) else int(columns.timestamps[row])
            headers = columns.headers[row] if columns.headers is not None else ()
            if packer.append(timestamp, _element(columns.keys, row), _element(columns.values, row), headers) < 0:
                break
            taken += 1
        numbers = numbers[taken:]
        data = batch_of_payload(
            compress(plan.compression, packer.take(), plan.level),
            taken,
            compression=plan.compression,
            base_timestamp=packer.base_timestamp,
            max_timestamp=packer.max_timestamp,
            producer=(plan.producer_id, plan.producer_epoch, sequence),
            is_transactional=plan.is_transactional,
        )
        if sequence != NO_SEQUENCE:
            sequence = add_to_sequence(sequence, taken)
        yield BuiltBatch(data, taken, sequence)


def _element(column: BinaryColumn | None, row: int) -> bytes | None:
    if column is None or (column.valid is not None and not column.valid[row]):
        return None
    return bytes(memoryview(column.data)[column.offsets[row] : column.offsets[row + 1]])
