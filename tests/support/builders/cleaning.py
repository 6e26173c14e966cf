"""A compacted log for tests, with a model of what a reader must see of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from odradek.common.ports import FileSystem
from odradek.log.cleaner.cleaner import CleanerConfig, Cleaning, run_steps
from odradek.log.cleaner.cleaning_plan import CleanableOffsets, cleanable_offsets, make_plan, measure
from odradek.log.cleaner.throttle import Throttle
from odradek.log.log_config import LogConfig
from odradek.log.offsets import AppendOrigin
from odradek.log.recovery.log_loader import load_log
from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import Compression, Record
from odradek.records.builder import BatchBuilder, end_transaction_marker
from support.builders.logs import NOON_MS, OPTIONS, HandClock, committed_records, stored_batches

SEED = b"sixteen bytes or more of chance"

COMPACTED = LogConfig(cleanup_policy=("compact",), delete_retention_ms=1000)

#: Key and value; a value of None is a tombstone.
Pair = tuple[bytes | None, bytes | None]


def new_cleaning(
    log: UnifiedLog, checkpoint: int | None = None, config: CleanerConfig | None = None, now_ms: int | None = None
) -> Cleaning:
    """A round over the log, whether it is worth it or not."""
    now_ms = log.clock.wall_ms() if now_ms is None else now_ms
    offsets: CleanableOffsets = cleanable_offsets(log, checkpoint, now_ms)
    plan = make_plan(measure(log, offsets, now_ms), now_ms)
    throttle = Throttle(float("inf"), log.clock.monotonic_ms())
    return Cleaning(plan, log.files, log.clock, config or CleanerConfig(), throttle, SEED)


def clean(
    log: UnifiedLog, checkpoint: int | None = None, config: CleanerConfig | None = None, now_ms: int | None = None
) -> Cleaning:
    cleaning = new_cleaning(log, checkpoint, config, now_ms)
    run_steps(cleaning, log, lambda _: None)
    return cleaning


def records_of(log: UnifiedLog) -> list[Record]:
    """Everything that is stored, aborted or not, without control records."""
    return [record for batch in stored_batches(log) if not batch.is_control for record in batch.records()]


def latest_values(records: Sequence[Record]) -> dict[bytes, bytes]:
    """What a reader that keeps the last value of each key ends with."""
    latest: dict[bytes, bytes] = {}
    for record in records:
        assert record.key is not None
        if record.value is None:
            latest.pop(record.key, None)
        else:
            latest[record.key] = record.value
    return latest


@dataclass(slots=True)
class CompactedLog:
    """Appends to a log and remembers what it appended; the whole log is replicated at once."""

    files: FileSystem
    directory: str = "/data/topic-0"
    config: LogConfig = COMPACTED
    clock: HandClock = field(default_factory=HandClock)
    log: UnifiedLog = field(init=False)
    #: Everything ever appended, by offset.
    appended: dict[int, Record] = field(default_factory=dict)
    latest: dict[bytes, bytes] = field(default_factory=dict)
    checkpoint: int | None = None
    _sequences: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.load(clean_shutdown=True)

    def load(self, *, clean_shutdown: bool) -> None:
        self.log = load_log(
            self.files, self.clock, self.directory, self.config, clean_shutdown=clean_shutdown, options=OPTIONS
        )
        self.log.offsets.set_high_watermark(self.log.offsets.log_end_offset)

    def restart(self) -> None:
        self.log.flusher.flush(include_active=True)
        self.log.close()
        self.load(clean_shutdown=True)

    def append(
        self,
        *pairs: Pair,
        producer_id: int = -1,
        transactional: bool = False,
        compression: Compression = Compression.NONE,
    ) -> None:
        sequence = self._sequences.get(producer_id, 0) if producer_id >= 0 else -1
        builder = BatchBuilder(
            compression=compression,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        for key, value in pairs:
            builder.append(self.clock.now_ms, key, value)
        # As a follower: keys may be missing, as they are in a log that was not always compacted.
        first = self.log.offsets.log_end_offset
        data = bytearray(builder.build())
        data[0:8] = first.to_bytes(8, "big")
        data[12:16] = (0).to_bytes(4, "big")
        self.log.appender.append_as_follower(data, 0)
        self._advance()
        if producer_id >= 0:
            self._sequences[producer_id] = sequence + len(pairs)
        for number, (key, value) in enumerate(pairs):
            self.appended[first + number] = Record(first + number, self.clock.now_ms, 0, key, value)  # type: ignore[arg-type]
        if not transactional:
            self.apply(pairs)

    def transaction(self, producer_id: int, *batches: Sequence[Pair], commit: bool) -> None:
        for pairs in batches:
            self.append(*pairs, producer_id=producer_id, transactional=True)
        self.end_transaction(producer_id, commit=commit)
        if commit:
            for pairs in batches:
                self.apply(pairs)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        marker = end_transaction_marker(
            commit=commit, timestamp=self.clock.now_ms, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0
        )
        self.log.appender.append_as_leader(bytearray(marker), 0, AppendOrigin.COORDINATOR, transaction_version=1)
        self._advance()

    def _advance(self) -> None:
        self.log.offsets.raise_high_watermark(self.log.offsets.log_end_offset)

    def apply(self, pairs: Sequence[Pair]) -> None:
        for key, value in pairs:
            if key is None:
                continue
            if value is None:
                self.latest.pop(key, None)
            else:
                self.latest[key] = value

    def roll(self) -> None:
        if self.log.segments.active.size:
            self.log.roller.roll()

    def clean(self, config: CleanerConfig | None = None) -> Cleaning:
        """Of everything so far: the active segment is rolled first."""
        self.roll()
        cleaning = clean(self.log, self.checkpoint, config)
        self.checkpoint = cleaning.end_offset
        return cleaning

    def with_config(self, config: LogConfig) -> None:
        self.config = config
        self.log.config.update(config)

    def check(self) -> None:
        """What is left was appended just so, in order; a reader ends with the same values as if nothing were gone."""
        left = records_of(self.log)
        offsets = [record.offset for record in left]
        assert offsets == sorted(set(offsets))
        for record in left:
            original = self.appended[record.offset]
            assert (record.key, record.value, record.timestamp) == (original.key, original.value, original.timestamp)
        committed = [record for record in committed_records(self.log) if record.key is not None]
        assert latest_values(committed) == self.latest
        assert self.log.offsets.log_end_offset == self.log.offsets.high_watermark

    def sequences(self) -> dict[int, tuple[int, int]]:
        """Last sequence and epoch of every producer that the log knows."""
        return {
            producer_id: (entry.last_sequence, entry.producer_epoch)
            for producer_id, entry in self.log.producers.producers.items()
        }


def later(config: LogConfig, **settings: object) -> LogConfig:
    return replace(config, **settings)  # type: ignore[arg-type]


__all__ = [
    "COMPACTED",
    "NOON_MS",
    "SEED",
    "CompactedLog",
    "Pair",
    "clean",
    "later",
    "latest_values",
    "new_cleaning",
    "records_of",
]
