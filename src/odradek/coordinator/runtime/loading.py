"""Bringing a shard up to its log: every record from the start to the end is replayed, a slice at a time.

What is above the high watermark is replayed too: this node leads, so that is what becomes committed. Records of a
transaction are handed on with its producer, and count when the marker that ends it follows. A slice is small because
the node serves others between two of them.
"""

import logging
from typing import Protocol

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer
from odradek.coordinator.runtime.serde import UnknownRecordType, decode_record
from odradek.coordinator.runtime.shard import Shard
from odradek.records.batch import Batch, read_batches
from odradek.records.control import read_end_transaction

logger = logging.getLogger("odradek.coordinator")

#: About a thousand records, which take some ten milliseconds to replay.
SLICE_BYTES = 64 * 1024


class ReadableLog(Protocol):
    """The side of a `PartitionLog` that is read. Methods raise ApiError when the partition is not led here."""

    def start_offset(self, partition: int) -> int: ...

    def end_offset(self, partition: int) -> int: ...

    def read(self, partition: int, offset: int, max_bytes: int) -> Buffer:
        """Batches from the one with `offset` on, the first one whole even if it is larger. Empty if there are none."""
        ...


class Loader:
    """One shard's way from the start of its log to the end. Raises ApiError, ProtocolError."""

    def __init__(self, shard: Shard, module: str, log: ReadableLog, partition: int) -> None:
        #: None before the first step: the log may not be there yet.
        self.next_offset: int | None = None
        self.record_count = 0
        self.size_bytes = 0
        self._shard = shard
        self._module = module
        self._log = log
        self._partition = partition
        #: Types of which a warning was given, once each.
        self._unknown_types: dict[int, None] = {}

    def step(self) -> bool:
        """Replay a slice; whether that was the last. A log that was compacted may end before its end offset."""
        log, partition = self._log, self._partition
        start = log.start_offset(partition) if self.next_offset is None else self.next_offset
        if start >= log.end_offset(partition):
            return True
        reached = start
        for batch in read_batches(log.read(partition, start, SLICE_BYTES)):
            if batch.next_offset > reached:
                self._replay(batch)
                reached = self.next_offset = batch.next_offset
                self.size_bytes += batch.size_bytes
        return reached == start or reached >= log.end_offset(partition)

    def _replay(self, batch: Batch) -> None:
        if batch.is_control:
            end = read_end_transaction(batch)
            self.record_count += batch.count
            if end is not None:
                self._shard.replay_end_of_transaction(batch.producer_id, batch.producer_epoch, end.committed)
            return
        for record in batch.records():
            self.record_count += 1
            try:
                decoded = decode_record(self._module, record.key, record.value)
            except UnknownRecordType as unknown:
                self._warn_of(unknown.record_type, record.offset)
                continue
            except ProtocolError as error:
                raise ProtocolError(f"the record at offset {record.offset}: {error}") from None
            self._shard.replay(record.offset, batch.producer_id, batch.producer_epoch, decoded)

    def _warn_of(self, record_type: int, offset: int) -> None:
        if record_type not in self._unknown_types:
            self._unknown_types[record_type] = None
            logger.warning(
                "partition %d: records of the unknown type %d are ignored, the first at offset %d; they may be left "
                "over from an aborted upgrade",
                *(self._partition, record_type, offset),
            )
