"""Logs that we write, for Apache Kafka to read: every codec, idempotence, transactions, several epochs and segments."""

from dataclasses import dataclass, field
from pathlib import Path

from odradek.common.files import OsFileSystem
from odradek.common.system_clock import SystemClock
from odradek.log.log_config import LogConfig
from odradek.log.offsets import AbortedTxn, AppendOrigin
from odradek.log.producers.producer_entry import NO_VERIFICATION
from odradek.log.recovery.log_loader import load_log
from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import Compression
from odradek.records.builder import BatchBuilder, end_transaction_marker

START_MS = 1_750_000_000_000

#: Under the first version a producer keeps its epoch from transaction to transaction.
TRANSACTION_VERSION = 1


@dataclass(frozen=True, slots=True)
class Written:
    """A record as it must be read again. `marker` is set for the end of a transaction."""

    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: tuple[tuple[str, bytes | None], ...]
    sequence: int
    leader_epoch: int
    marker: str = ""


@dataclass(slots=True)
class Writer:
    """Appends to one log and remembers what it wrote."""

    log: UnifiedLog
    leader_epoch: int = 0
    written: list[Written] = field(default_factory=list)
    aborted: list[AbortedTxn] = field(default_factory=list)
    _sequences: dict[int, int] = field(default_factory=dict)
    _open: dict[int, int] = field(default_factory=dict)

    def batch(
        self,
        count: int,
        compression: Compression = Compression.NONE,
        *,
        producer_id: int = -1,
        transactional: bool = False,
        value_bytes: int = 20,
    ) -> None:
        sequence = self._sequences.get(producer_id, 0) if producer_id >= 0 else -1
        builder = BatchBuilder(
            compression=compression,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        first_offset = self.log.offsets.log_end_offset
        for index in range(count):
            record = self._record(first_offset + index, sequence + index if producer_id >= 0 else -1, value_bytes)
            builder.append(
                record.timestamp,
                None if record.key is None else record.key.encode(),
                None if record.value is None else record.value.encode(),
                record.headers,
            )
            self.written.append(record)
        guard = NO_VERIFICATION
        if transactional:
            guard = self.log.appender.start_verification(producer_id, sequence, 0, supports_epoch_bump=False)
        info = self.log.appender.append_as_leader(bytearray(builder.build()), self.leader_epoch, guard=guard)
        assert (info.first_offset, info.last_offset) == (first_offset, first_offset + count - 1)
        self._sequences[producer_id] = sequence + count
        if transactional:
            self._open.setdefault(producer_id, first_offset)

    def _record(self, offset: int, sequence: int, value_bytes: int) -> Written:
        """Nulls, empty strings and headers come up in turn; everything is printable, since Kafka's tool prints it."""
        key = None if offset % 5 == 0 and not self.log.config.value.compact else f"key{offset}"
        text = f"{offset:x}." * value_bytes
        value = None if offset % 7 == 3 else text[:value_bytes]
        headers = (("h1", b"one"), ("h2", None))[: offset % 3]
        return Written(offset, START_MS + offset * 10, key, value, headers, sequence, self.leader_epoch)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        offset = self.log.offsets.log_end_offset
        marker = end_transaction_marker(
            commit=commit,
            timestamp=START_MS + offset * 10,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=7,
        )
        self.log.appender.append_as_leader(
            bytearray(marker), self.leader_epoch, AppendOrigin.COORDINATOR, transaction_version=TRANSACTION_VERSION
        )
        kind = "COMMIT" if commit else "ABORT"
        self.written.append(Written(offset, START_MS + offset * 10, None, None, (), -1, self.leader_epoch, kind))
        first_offset = self._open.pop(producer_id)
        if not commit:
            stable = min([*self._open.values(), offset + 1])
            self.aborted.append(AbortedTxn(producer_id, first_offset, offset, stable))


def open_log(directory: Path, config: LogConfig | None = None, *, topic_id: bytes | None = None) -> UnifiedLog:
    return load_log(OsFileSystem(), SystemClock(), str(directory), config or LogConfig(), topic_id=topic_id)


def write_everything(writer: Writer) -> None:
    """Three leader epochs; in each, all codecs, plain and idempotent, and three transactions that overlap."""
    for epoch in (0, 3, 4):
        writer.leader_epoch = epoch
        for compression in Compression:
            writer.batch(1, compression)
            writer.batch(30, compression, producer_id=100)
            writer.batch(400, compression, value_bytes=60)
        for producer_id in (1000, 1001, 1002):
            writer.batch(5, producer_id=producer_id, transactional=True)
        writer.end_transaction(1001, commit=False)
        writer.batch(5, Compression.LZ4, producer_id=1000, transactional=True)
        writer.end_transaction(1000, commit=True)
        writer.end_transaction(1002, commit=False)


def finish(log: UnifiedLog) -> None:
    """As a clean stop does: everything flushed, a snapshot at the end, files closed."""
    log.flusher.flush(include_active=True)
    log.flusher.take_producer_snapshot()
    log.close()
