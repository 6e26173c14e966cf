"""Records on their way to one partition. Pure.

A batch is open while records are appended. It is closed when it is first drained: its records are compressed then, and
a header is put before them for each attempt, since the producer's epoch and sequence may change in between. It is done
when it was acknowledged or given up; who waits for its records is told then. A batch that the broker finds too large is
split: its records, and those who wait for them, go on in its parts.
"""

from collections.abc import Callable, Mapping, Sequence

from odradek.client.types import TopicPartition
from odradek.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, read_batch
from odradek.records.builder import batch_of_payload
from odradek.records.compression import Compression, compress
from odradek.records.record import NO_SEQUENCE, NO_TIMESTAMP, add_to_sequence
from odradek.records.record_packer import RecordPacker

NO_OFFSET = -1


class ProducerBatch:
    __slots__ = (
        "_listeners",
        "_payload",
        "attempts",
        "base_offset",
        "base_sequence",
        "created_ms",
        "error",
        "is_closed",
        "is_done",
        "is_in_flight",
        "is_retried",
        "is_transactional",
        "leader_epoch",
        "log_append_time_ms",
        "packer",
        "parts",
        "producer_epoch",
        "producer_id",
        "record_errors",
        "reserved_bytes",
        "retry_at_ms",
        "sequence_has_been_reset",
        "topic_partition",
    )

    def __init__(
        self, topic_partition: TopicPartition, size_limit_bytes: int, reserved_bytes: int, created_ms: float
    ) -> None:
        """`size_limit_bytes` is that of the records before compression; `reserved_bytes` are of buffer.memory."""
        self.topic_partition = topic_partition
        self.packer = RecordPacker(size_limit_bytes)
        self.reserved_bytes = reserved_bytes
        self.created_ms = created_ms
        self.attempts = 0
        #: After an attempt that failed, unless another leads by then.
        self.retry_at_ms = created_ms
        #: Of the leader of the last attempt.
        self.leader_epoch = -1
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.base_sequence = NO_SEQUENCE
        self.is_transactional = False
        self.sequence_has_been_reset = False
        self.is_closed = self.is_done = self.is_in_flight = self.is_retried = False
        self.base_offset = NO_OFFSET
        self.log_append_time_ms = NO_TIMESTAMP
        self.error: Exception | None = None
        #: By index in the batch, where the broker said which records are to blame.
        self.record_errors: Mapping[int, Exception] = {}
        #: What it was split into, and the index of each part's first record.
        self.parts: Sequence[tuple[int, ProducerBatch]] = ()
        self._listeners: list[tuple[int, Callable[[], None]]] = []
        self._payload: bytes = b""

    @property
    def count(self) -> int:
        return self.packer.count

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        return add_to_sequence(self.base_sequence, self.packer.count - 1)

    @property
    def size_bytes(self) -> int:
        """Of its records: as they will be sent once it is closed, before compression until then."""
        return len(self._payload) if self.is_closed else self.packer.size_bytes

    def seal(self) -> None:
        """Nothing can be appended after."""
        self.packer.limit_bytes = -1

    def close(self, codec: Compression, level: int | None) -> None:
        """Nothing can be appended after. May be called twice."""
        if not self.is_closed:
            payload = self.packer.take()
            self._payload = compress(codec, payload, level) if codec else payload
            self.is_closed = True

    def set_producer(self, producer_id: int, epoch: int, base_sequence: int, *, is_transactional: bool) -> None:
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, epoch, base_sequence
        self.is_transactional = is_transactional

    def reset_sequence(self, producer_id: int, epoch: int, base_sequence: int) -> None:
        self.sequence_has_been_reset = True
        self.set_producer(producer_id, epoch, base_sequence, is_transactional=self.is_transactional)

    def data(self, codec: Compression) -> bytes:
        """As it goes into a request."""
        packer = self.packer
        return batch_of_payload(
            self._payload,
            packer.count,
            compression=codec,
            base_timestamp=packer.base_timestamp,
            max_timestamp=packer.max_timestamp,
            producer=(self.producer_id, self.producer_epoch, self.base_sequence),
            is_transactional=self.is_transactional,
        )

    def split(self, codec: Compression, part_bytes: int) -> list["ProducerBatch"]:
        """Into parts that are no larger before compression than is said, if no single record is; at least two."""
        records = list(read_batch(self.data(codec)).records())
        parts: list[tuple[int, ProducerBatch]] = []
        per_part_max = max(1, (len(records) + 1) // 2)
        for index, record in enumerate(records):
            part = parts[-1][1] if parts else None
            content = (record.timestamp, record.key, record.value, record.headers)
            if part is None or part.count >= per_part_max or part.packer.append(*content) < 0:
                part = ProducerBatch(self.topic_partition, part_bytes, 0, self.created_ms)
                part.attempts = self.attempts
                part.packer.append(*content)
                parts.append((index, part))
        self.parts = parts
        self._hand_over_listeners()
        # The last of them gives the memory back.
        parts[-1][1].reserved_bytes, self.reserved_bytes = self.reserved_bytes, 0
        return [part for _, part in parts]

    def _hand_over_listeners(self) -> None:
        listeners, self._listeners = self._listeners, []
        for index, listener in listeners:
            leaf, at = self.leaf(index)
            leaf.listen(at, listener)

    # Who waits

    def leaf(self, index: int) -> tuple["ProducerBatch", int]:
        """Where a record is by now: the batch itself, unless it was split."""
        batch = self
        while batch.parts:
            first, batch = next(part for part in reversed(batch.parts) if part[0] <= index)
            index -= first
        return batch, index

    def listen(self, index: int, listener: Callable[[], None]) -> None:
        """`listener` is called when the outcome of this record is known, at once if it is."""
        batch, at = self.leaf(index) if self.parts else (self, index)
        if batch.is_done:
            listener()
        else:
            batch._listeners.append((at, listener))

    def unlisten(self, listener: Callable[[], None]) -> None:
        for batch in (self, *(part for _, part in self.parts)):
            batch._listeners = [each for each in batch._listeners if each[1] is not listener]

    def complete(self, base_offset: int, log_append_time_ms: int) -> bool:
        """False if it was done before."""
        return self._finish(base_offset, log_append_time_ms, None, {})

    def fail(self, error: Exception, record_errors: Mapping[int, Exception] | None = None) -> bool:
        """False if it was done before."""
        return self._finish(NO_OFFSET, NO_TIMESTAMP, error, record_errors or {})

    def _finish(
        self,
        base_offset: int,
        log_append_time_ms: int,
        error: Exception | None,
        record_errors: Mapping[int, Exception],
    ) -> bool:
        if self.is_done:
            return False
        self.base_offset, self.log_append_time_ms = base_offset, log_append_time_ms
        self.error, self.record_errors = error, record_errors
        self.is_done = True
        self._payload = b""
        self.seal()  # one that expired in its queue was never closed
        listeners, self._listeners = self._listeners, []
        for _, listener in listeners:
            listener()
        return True
