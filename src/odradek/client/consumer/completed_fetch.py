"""What one Fetch response brought for one partition, and how far it has been handed out. Pure.

Records are decoded batch by batch, when they are taken. Left out are control batches, the records of aborted
transactions (for read_committed), and what lies before the position: a fetch begins with the whole batch that the
position is in. Behind the last batch the position is the one after it, whether or not its last records were compacted
away.

Damage is noticed where it lies: what comes before it is handed out first, then taking raises, again and again, until
the application seeks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odradek.client.consumer.partition_state import PartitionState
from odradek.client.consumer.record import BatchRows, ConsumerRecord, append_rows
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.errors import DeserializationFailed, FetchFailed
from odradek.protocol.messages.fetch_response import PartitionData
from odradek.records.aborted import AbortedTransaction, AbortedTransactions
from odradek.records.batch import (
    APPEND_TIME_BIT,
    COMPRESSION_MASK,
    HEADER_BYTES,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    Batch,
    read_batch,
    size_at,
)
from odradek.records.batch import OVERHEAD_BYTES as _PREFIX_BYTES

if TYPE_CHECKING:
    from odradek.records.columns.record_columns import Columns


@dataclass(frozen=True, slots=True)
class Reading:
    """How records are to be read. A deserializer of None leaves bytes alone."""

    check_crcs: bool = True
    read_committed: bool = False
    key_deserializer: Callable[[bytes], Any] | None = None
    value_deserializer: Callable[[bytes], Any] | None = None


class CompletedFetch:
    """`state` and `generation` are those of the request: under any others it is of no use."""

    def __init__(
        self,
        partition: TopicPartition,
        state: PartitionState,
        generation: int,
        fetch_offset: int,
        data: PartitionData,
        reading: Reading,
    ) -> None:
        self.partition = partition
        self.state = state
        self.generation = generation
        self.data = data
        self.reading = reading
        #: Where taking goes on, and the epoch of what was taken last.
        self.next_offset = fetch_offset
        self.last_epoch: int | None = None
        self.is_initialized = False
        # A copy, so that the response's memory is free for the next one; what decodes wants bytes anyway.
        records, data.records = data.records, None
        self._chunk = b"" if data.error_code or not records else bytes(records)
        self._whole_bytes, last = _whole_batches(self._chunk)
        #: Nothing is fetched behind an error, or behind bytes that are no batch.
        self.is_the_end = data.error_code != 0 or (last is None and self._whole_bytes > 0)
        #: Where the next fetch of the partition goes on.
        self.end_offset = fetch_offset if last is None else max(fetch_offset, last.next_offset)
        self.end_epoch = None if last is None else _epoch(last)
        self._transactions = AbortedTransactions(_aborted(data) if reading.read_committed else ())
        self._position = 0
        self._rows: list[ConsumerRecord] = []
        self._taken = 0
        #: How many of the rows that come next have been through the deserializers.
        self._ready = 0
        self._flaw: ApiError | None = None

    @property
    def is_stale(self) -> bool:
        return self.state.generation != self.generation

    @property
    def is_drained(self) -> bool:
        return self._flaw is None and self._taken == len(self._rows) and self._position == self._whole_bytes

    @property
    def has_no_whole_batch(self) -> bool:
        return not self._whole_bytes and bool(self._chunk)

    @property
    def size_bytes(self) -> int:
        return len(self._chunk)

    def take(self, limit: int) -> list[ConsumerRecord]:
        """The next records, at most so many; `next_offset` and `last_epoch` are those after them."""
        while len(self._rows) - self._taken < limit and self._position < self._whole_bytes and self._flaw is None:
            self._decode_next()
        rows = self._rows[self._taken : self._taken + limit]
        if self.reading.key_deserializer is not None or self.reading.value_deserializer is not None:
            rows = self._deserialized(rows)
            self._ready = max(0, self._ready - len(rows))
        if not rows and self._flaw is not None:
            raise self._flaw
        self._taken += len(rows)
        if rows:
            self.next_offset, self.last_epoch = rows[-1].offset + 1, rows[-1].leader_epoch
        if self.is_drained:
            self.next_offset, self.last_epoch = self.end_offset, self.end_epoch
            self._rows = []
            self._taken = 0
        return rows

    def give_back(self, rows: Sequence[ConsumerRecord]) -> None:
        """The last of what was taken, which was not handed out after all."""
        self._rows = [*rows, *self._rows[self._taken :]]
        self._taken = 0
        self._ready += len(rows)
        self.next_offset = rows[0].offset

    def take_columns(self) -> "Columns":
        """Everything that is left. Raises FetchFailed, and stays where it was, if anything of it is damaged."""
        from odradek.records.columns.record_columns import read_columns  # numpy: only for those who want columns

        aborted = _aborted(self.data) if self.reading.read_committed else ()
        try:
            columns = read_columns(
                self._chunk, from_offset=self.next_offset, aborted=aborted, check=self.reading.check_crcs
            )
        except ApiError as flaw:
            raise self._failed(self.next_offset, flaw) from None
        self.next_offset, self.last_epoch = self.end_offset, self.end_epoch
        self._rows, self._taken, self._position, self._flaw = [], 0, self._whole_bytes, None
        return columns

    def _decode_next(self) -> None:
        """The batch at the position. Rows that were taken already are forgotten."""
        if self._taken:
            del self._rows[: self._taken]
            self._taken = 0
        try:
            batch = read_batch(self._chunk, self._position)
        except ApiError as flaw:
            self._flaw = self._failed(self._reached(self.next_offset), flaw)
            return
        start, self._position = self._position, self._position + batch.size_bytes
        try:
            if batch.last_offset < self.next_offset and not batch.is_control:
                return
            if self.reading.check_crcs:
                batch.check()
            if self._transactions.shows(batch) and batch.count:
                self._append(batch, start)
        except ApiError as flaw:
            self._flaw = self._failed(self._reached(max(self.next_offset, batch.base_offset)), flaw)

    def _reached(self, otherwise: int) -> int:
        """Behind what was decoded."""
        return self._rows[-1].offset + 1 if self._rows else otherwise

    def _append(self, batch: Batch, start: int) -> None:
        topic, partition = self.partition
        if batch.magic != MAGIC_V2:
            self._rows += [
                ConsumerRecord(topic, partition, *record[:3], record.key, record.value, (), None)
                for record in batch.records()
                if record.offset >= self.next_offset
            ]
            return
        attributes = batch.attributes
        frame = BatchRows(
            topic,
            partition,
            _epoch(batch),
            batch.base_offset,
            batch.base_timestamp,
            batch.max_timestamp if attributes & APPEND_TIME_BIT else None,
        )
        if attributes & COMPRESSION_MASK:
            payload = batch.payload()
            append_rows(self._rows, frame, payload, 0, len(payload), batch.count, self.next_offset)
        else:
            append_rows(
                self._rows, frame, self._chunk, start + HEADER_BYTES, self._position, batch.count, self.next_offset
            )

    def _deserialized(self, rows: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """In place. Those before one that cannot be are handed out; with none before it, it raises."""
        of_key, of_value = self.reading.key_deserializer, self.reading.value_deserializer
        for index, record in enumerate(rows[self._ready :], self._ready):
            key, value, part = record.key, record.value, "key"
            try:
                if of_key is not None and key is not None:
                    key = of_key(key)
                part = "value"
                if of_value is not None and value is not None:
                    value = of_value(value)
            except Exception as error:
                if index:
                    return rows[:index]
                raise DeserializationFailed(self.partition, record.offset, part, error) from error
            record.key, record.value = key, value
        return rows

    def _failed(self, offset: int, flaw: ApiError) -> FetchFailed:
        return FetchFailed(self.partition, offset, flaw.message, flaw.code)


def _whole_batches(chunk: bytes) -> tuple[int, Batch | None]:
    """How many bytes of the chunk are whole batches, and the last of them. With what cannot be a batch there is no last
    one: whoever decodes meets it."""
    position, last, end = 0, -1, len(chunk)
    try:
        while position + _PREFIX_BYTES <= end:
            size = size_at(chunk, position)
            if position + size > end:
                break
            last = position
            position += size
        return position, None if last < 0 else read_batch(chunk, last)
    except ApiError:
        return end, None


def _aborted(data: PartitionData) -> list[AbortedTransaction]:
    return [AbortedTransaction(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()]


def _epoch(batch: Batch) -> int | None:
    return None if batch.leader_epoch == NO_LEADER_EPOCH else batch.leader_epoch
