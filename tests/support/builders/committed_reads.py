"""Random transactions as a log stores them, and what a `read_committed` consumer must see of any prefix.

The model knows nothing of `odradek.log`: it is told which batches there are and derives open, committed and aborted
transactions from that list alone.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from odradek.log.offsets import AbortedTxn
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.records.aborted import AbortedTransaction, AbortedTransactions
from odradek.records.batch import read_batches
from odradek.records.builder import BatchBuilder, end_transaction_marker
from odradek.sim.world.disk import SimulatedDisk
from support.builders.cleaning import clean
from support.builders.logs import NOON_MS, Rig

NO_PRODUCER = -1

#: From one batch (a fetch always returns the first) to more than any of these logs holds.
FETCH_BYTES = (1, 300, 700, 1_500, 4_000, 1 << 20)

#: Version, producer id, first offset, last offset, last stable offset.
INDEX_ENTRY = struct.Struct(">hqqqq")


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """One batch with its offset assigned. `commits` is None for data; of a marker it says how the transaction ended."""

    data: bytes
    base_offset: int
    records: tuple[tuple[int, bytes, bytes], ...]
    producer_id: int = NO_PRODUCER
    is_transactional: bool = False
    commits: bool | None = None

    @property
    def next_offset(self) -> int:
        return self.base_offset + max(1, len(self.records))


@dataclass(slots=True)
class History:
    """The batches of a partition in order. Each producer has at most one open transaction."""

    draw: Random
    producers: int = 4
    keys: int = 12
    batches: list[WrittenBatch] = field(default_factory=list)
    open_transactions: set[int] = field(default_factory=set)
    _sequences: dict[int, int] = field(default_factory=dict)

    @property
    def end_offset(self) -> int:
        return self.batches[-1].next_offset if self.batches else 0

    def add_random(self, count: int) -> None:
        """Transactions that overlap, then short ones of one producer while no other is open, then the next one's."""
        self._add_overlapping(self.draw.randrange(count))
        if self.draw.random() < 0.7:
            for producer_id in sorted(self.open_transactions):
                self.end(producer_id, commit=self.draw.random() < 0.5)
            self._add_short(producer_id=self.draw.randrange(self.producers), count=self.draw.randint(1, 8))
            self.write(self.draw.randrange(self.producers))

    def _add_short(self, producer_id: int, count: int) -> None:
        for _ in range(count):
            self.write(producer_id, self.draw.randint(1, 3))
            self.end(producer_id, commit=self.draw.random() < 0.2)

    def _add_overlapping(self, count: int) -> None:
        for _ in range(count):
            producer_id = self.draw.randrange(self.producers)
            if producer_id in self.open_transactions and self.draw.random() < 0.55:
                self.end(producer_id, commit=self.draw.random() < 0.3)
            elif self.draw.random() < 0.15:
                self.write(NO_PRODUCER, self.draw.randint(1, 3))
            else:
                self.write(producer_id, self.draw.randint(1, 3))

    def write(self, producer_id: int, count: int = 1) -> None:
        offset = self.end_offset
        is_transactional = producer_id != NO_PRODUCER
        sequence = self._sequences.get(producer_id, 0) if is_transactional else -1
        builder = BatchBuilder(
            base_offset=offset,
            leader_epoch=0,
            producer_id=producer_id,
            producer_epoch=0 if is_transactional else -1,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        records = []
        for number in range(count):
            key = b"key %d" % self.draw.randrange(self.keys)
            value = b"%d " % (offset + number) + bytes(self.draw.randrange(120))
            builder.append(NOON_MS, key, value)
            records.append((offset + number, key, value))
        if is_transactional:
            self._sequences[producer_id] = sequence + count
            self.open_transactions.add(producer_id)
        self.batches.append(WrittenBatch(builder.build(), offset, tuple(records), producer_id, is_transactional))

    def end(self, producer_id: int, *, commit: bool) -> None:
        marker = end_transaction_marker(
            commit=commit,
            timestamp=NOON_MS,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            base_offset=self.end_offset,
            leader_epoch=0,
        )
        self.open_transactions.discard(producer_id)
        self.batches.append(WrittenBatch(bytes(marker), self.end_offset, (), producer_id, True, commit))


def committed(batches: Sequence[WrittenBatch]) -> list[tuple[int, bytes, bytes]]:
    """Offset, key and value of what `read_committed` shows of a log of exactly these batches."""
    outcome: dict[tuple[int, int], bool] = {}
    firsts: dict[int, int] = {}
    for batch in batches:
        if batch.commits is not None:
            outcome[batch.producer_id, firsts.pop(batch.producer_id, -1)] = batch.commits
        elif batch.is_transactional:
            firsts.setdefault(batch.producer_id, batch.base_offset)
    last_stable_offset = min(firsts.values(), default=1 << 62)
    shown: list[tuple[int, bytes, bytes]] = []
    current: dict[int, int] = {}
    for batch in batches:
        if batch.base_offset >= last_stable_offset:
            break
        if batch.commits is not None:
            current.pop(batch.producer_id, None)
        elif (
            not batch.is_transactional
            or outcome[batch.producer_id, current.setdefault(batch.producer_id, batch.base_offset)]
        ):
            shown += batch.records
    return shown


def aborted_entries(appends: Iterable[Sequence[WrittenBatch]], *, as_kafka: bool = False) -> list[AbortedTxn]:
    """The transaction index of a log that got these appends; `as_kafka`: as Apache Kafka 4.3.1 computes it, which
    enters all transactions of an append before it writes the index."""
    entries: list[AbortedTxn] = []
    ongoing: dict[int, int] = {}
    for batches in appends:
        started = _started(ongoing, batches)
        for batch in batches:
            if not batch.is_transactional:
                continue
            first = next((offset for offset, owner in ongoing.items() if owner == batch.producer_id), None)
            if batch.commits is None:
                if first is None:
                    ongoing[batch.base_offset] = batch.producer_id
            elif first is not None:
                del ongoing[first]
                last = batch.base_offset
                others = [offset for offset in ongoing if offset < last]
                if as_kafka and not others:
                    others = [o for o, owner in started.items() if o > last and owner != batch.producer_id]
                if not batch.commits:
                    entries.append(AbortedTxn(batch.producer_id, first, last, min(others, default=last + 1)))
    return entries


def _started(ongoing: Mapping[int, int], batches: Sequence[WrittenBatch]) -> dict[int, int]:
    """The transactions that begin in an append, first offset to producer."""
    open_producers = set(ongoing.values())
    started: dict[int, int] = {}
    for batch in batches:
        if batch.commits is not None:
            open_producers.discard(batch.producer_id)
        elif batch.is_transactional and batch.producer_id not in open_producers:
            open_producers.add(batch.producer_id)
            started[batch.base_offset] = batch.producer_id
    return started


def random_appends(draw: Random, batches: Sequence[WrittenBatch]) -> Iterator[Sequence[WrittenBatch]]:
    """The batches in appends of one to all of them."""
    at = 0
    while at < len(batches):
        size = draw.choice((1, 2, 5, 20, len(batches)))
        yield batches[at : at + size]
        at += size


def read_committed(
    log: UnifiedLog, max_bytes: int, draw: Random, start_offset: int | None = None
) -> list[tuple[int, bytes | None, bytes | None]]:
    """What a consumer gets by fetches of `max_bytes`, whatever the order of the aborted transactions in a response."""
    shown: list[tuple[int, bytes | None, bytes | None]] = []
    offset = log.offsets.log_start_offset if start_offset is None else start_offset
    while True:
        found = log.reader.read(offset, max_bytes, Isolation.TXN_COMMITTED)
        batches = list(read_batches(log.reader.fetch(found)))
        if not batches:
            return shown
        aborted = [AbortedTransaction(txn.producer_id, txn.first_offset) for txn in found.aborted or ()]
        draw.shuffle(aborted)
        transactions = AbortedTransactions(aborted)
        for batch in batches:
            if transactions.shows(batch):
                shown += [(r.offset, r.key, r.value) for r in batch.records() if r.offset >= offset]
        offset = batches[-1].next_offset


def stored_index(log: UnifiedLog) -> list[AbortedTxn]:
    """The entries of all segments as they are in the files."""
    entries: list[AbortedTxn] = []
    for segment in log.segments:
        segment.txn_index.write()
        if log.files.exists(segment.txn_index.path):
            stored = log.files.read_file(segment.txn_index.path)
            entries += [AbortedTxn(*fields) for _, *fields in INDEX_ENTRY.iter_unpack(stored)]
    return entries


def replace_index(log: UnifiedLog, entries: Sequence[AbortedTxn]) -> None:
    """Put these entries, of the whole log, in place of those that it has."""
    for segment in log.segments:
        following = log.segments.higher(segment.base_offset)
        end = following.base_offset if following is not None else log.offsets.log_end_offset
        segment.txn_index.reset()
        for entry in entries:
            if segment.base_offset <= entry.last_offset < end:
                segment.txn_index.append(entry)
        segment.txn_index.write()


class Replica:
    """A follower's log: `appends` are the batches it has, append by append."""

    def __init__(self, seed: int, rig: Rig | None = None, cleanup_policy: tuple[str, ...] = ("delete",)) -> None:
        self.draw = Random(seed)
        self.cleanup_policy = cleanup_policy
        self.history = History(self.draw)
        self.rig = Rig(SimulatedDisk()) if rig is None else rig
        self.log: UnifiedLog
        self.appends: list[list[WrittenBatch]] = []
        self.reads = 0
        self.has_kafkas_index = False
        self.load(clean_shutdown=True)

    @property
    def batches(self) -> list[WrittenBatch]:
        return [batch for batches in self.appends for batch in batches]

    def catch_up(self) -> None:
        self.history.add_random(self.draw.randint(1, 60))
        behind = self.history.batches[len(self.batches) :]
        for batches in random_appends(self.draw, behind):
            self.log.appender.append_as_follower(bytearray(b"".join(batch.data for batch in batches)), 0)
            self.appends.append(list(batches))

    def truncate(self) -> None:
        """Not below the high watermark of the last check, which is committed for good."""
        batches = self.batches
        if not batches:
            return
        keep = self.draw.randint(len(batches) // 2, len(batches))
        offset = batches[keep - 1].next_offset if keep else 0
        self.log.truncation.truncate_to(offset)
        self.appends = [
            kept for append in self.appends if (kept := [batch for batch in append if batch.next_offset <= offset])
        ]

    def roll(self) -> None:
        if self.log.segments.active.size:
            self.log.roller.roll()

    def restart(self) -> None:
        self.log.flusher.flush(include_active=True)
        self.log.close()
        self.load(clean_shutdown=True, recovery_point=self.log.offsets.log_end_offset)

    def recover(self) -> None:
        """Indexes from the recovery point on are made again from the log."""
        self.log.flusher.flush(include_active=True)
        self.log.close()
        self.load(clean_shutdown=False, recovery_point=self.draw.randint(0, self.log.offsets.log_end_offset))

    def expire_producers(self) -> None:
        self.rig.clock.now_ms += self.log.producers.expiration_ms
        self.log.producers.remove_expired(self.log.clock.wall_ms())

    def take_kafkas_index(self) -> None:
        replace_index(self.log, aborted_entries(self.appends, as_kafka=True))
        self.has_kafkas_index = True

    def raise_last_stable_offsets(self) -> None:
        """Kafka's mistake at its worst: wherever nothing was open, a transaction at the end of the log counts."""
        end = self.log.offsets.log_end_offset
        replace_index(
            self.log,
            [
                entry._replace(last_stable_offset=end) if entry.last_stable_offset > entry.last_offset else entry
                for entry in stored_index(self.log)
            ],
        )

    def check(self) -> None:
        self.log.offsets.set_high_watermark(self.log.offsets.log_end_offset)
        if not self.has_kafkas_index:
            assert stored_index(self.log) == aborted_entries([[batch] for batch in self.batches])
        expected = committed(self.batches)
        for max_bytes in (*FETCH_BYTES, self.draw.randint(1, 3_000)):
            assert read_committed(self.log, max_bytes, self.draw) == expected
            start = self.draw.randint(0, self.log.offsets.log_end_offset)
            from_start = [record for record in expected if record[0] >= start]
            assert read_committed(self.log, max_bytes, self.draw, start) == from_start
            self.reads += 2

    def compact(self) -> None:
        self.log.offsets.set_high_watermark(self.log.offsets.log_end_offset)
        self.roll()
        clean(self.log)
        self.rig.clock.now_ms += 1_000

    def check_compacted(self) -> None:
        """Only committed records are left to see, and of every key the last one."""
        self.log.offsets.set_high_watermark(self.log.offsets.log_end_offset)
        expected = committed(self.batches)
        last_values = {key: value for _, key, value in expected}
        for max_bytes in (*FETCH_BYTES, self.draw.randint(1, 3_000)):
            shown = read_committed(self.log, max_bytes, self.draw)
            assert set(shown) <= set(expected)
            assert {key: value for _, key, value in shown} == last_values
            self.reads += 1

    def load(self, *, clean_shutdown: bool, recovery_point: int = 0) -> None:
        """The log start offset is what a checkpoint would say."""
        self.log = self.rig.load(
            clean_shutdown=clean_shutdown,
            log_start_offset=self.log.offsets.log_start_offset if self.appends else 0,
            recovery_point=recovery_point,
            segment_bytes=6_000,
            index_interval_bytes=100,
            cleanup_policy=self.cleanup_policy,
            delete_retention_ms=0,
        )
        self.has_kafkas_index = False  # loading has corrected it
