"""Logs and batches for tests: a clock to turn by hand, batches in one line, logs on a real or a simulated disk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from odradek.common.ports import FileSystem
from odradek.log.log_config import LogConfig
from odradek.log.recovery.log_loader import LogOptions, load_log
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.records.batch import Batch, Compression, Record, read_batches
from odradek.records.builder import BatchBuilder

#: When tests take place, by the wall clock.
NOON_MS = 1_700_000_000_000

#: Transactions are not verified with a coordinator: there is none.
OPTIONS = LogOptions(verification_enabled=False)

DIRECTORY = "/data/topic-0"


@dataclass(slots=True)
class HandClock:
    """Stands still until a test turns it."""

    now_ms: int = NOON_MS

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms - NOON_MS


def batch(
    *values: bytes | str,
    key: bytes | None = b"key",
    keys: Sequence[bytes | None] | None = None,
    timestamp: int = NOON_MS,
    timestamps: Sequence[int] | None = None,
    compression: Compression = Compression.NONE,
    **fields: Any,
) -> bytes:
    """One batch of a record per value; `fields` are those of `BatchBuilder`."""
    builder = BatchBuilder(compression=compression, **fields)
    for index, value in enumerate(values):
        content = value.encode() if isinstance(value, str) else value
        stamp = timestamps[index] if timestamps is not None else timestamp
        builder.append(stamp, keys[index] if keys is not None else key, content)
    return builder.build()


def idempotent(producer_id: int, sequence: int, *values: bytes | str, epoch: int = 0, **fields: Any) -> bytes:
    return batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, **fields)


@dataclass(slots=True)
class Rig:
    """A log with its disk and clock, and how to start it again."""

    files: FileSystem
    clock: HandClock = field(default_factory=HandClock)
    directory: str = DIRECTORY
    config: LogConfig = field(default_factory=LogConfig)

    def load(self, **arguments: Any) -> UnifiedLog:
        """Arguments are those of `load_log`, or settings of the topic."""
        settings = {name: arguments.pop(name) for name in list(arguments) if name in LogConfig.__dataclass_fields__}
        arguments.setdefault("options", OPTIONS)
        self.config = replace(self.config, **settings)
        return load_log(self.files, self.clock, self.directory, self.config, **arguments)


def stored_batches(log: UnifiedLog, isolation: Isolation = Isolation.LOG_END) -> Iterator[Batch]:
    """Every batch from the log start on, as a reader would fetch them."""
    offset = log.offsets.log_start_offset
    while True:
        data = log.reader.fetch(log.reader.read(offset, 1 << 20, isolation))
        batches = list(read_batches(data))
        if not batches:
            return
        yield from batches
        offset = batches[-1].next_offset


def stored_records(log: UnifiedLog, isolation: Isolation = Isolation.LOG_END) -> list[Record]:
    """Every record from the log start on; control records are left out."""
    return [
        record
        for found in stored_batches(log, isolation)
        if not found.is_control
        for record in found.records()
        if record.offset >= log.offsets.log_start_offset
    ]


def stored_values(log: UnifiedLog, isolation: Isolation = Isolation.LOG_END) -> list[bytes | None]:
    return [record.value for record in stored_records(log, isolation)]


def committed_records(log: UnifiedLog) -> list[Record]:
    """What a `read_committed` consumer keeps of what it fetches."""
    kept: list[Record] = []
    offset = log.offsets.log_start_offset
    while True:
        found = log.reader.read(offset, 1 << 20, Isolation.TXN_COMMITTED)
        batches = list(read_batches(log.reader.fetch(found)))
        if not batches:
            return kept
        aborted = {(txn.producer_id, txn.first_offset): txn.last_offset for txn in found.aborted or ()}
        for part in batches:
            is_aborted = part.is_transactional and any(
                part.producer_id == producer_id and first <= part.base_offset < last
                for (producer_id, first), last in aborted.items()
            )
            if not part.is_control and not is_aborted:
                kept.extend(part.records())
        offset = batches[-1].next_offset
