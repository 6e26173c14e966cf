"""The same logs, cleaned by a running Apache Kafka and by us, round by round.

The vectors' data directory is taken, every log in it is rolled, and one log is written by us with what compaction is
about: overwritten keys, tombstones, transactions of both kinds, producers that are active and long gone. One copy goes
to a real node whose default policy is `compact`, the other to our cleaner, with the clock that Kafka's delete horizons
show. Then more is appended to what we made, and both clean again: now the horizons have passed.
"""

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.log import file_names
from odradek.log.cleaner.cleaner import CleanerConfig, Cleaning, run_steps
from odradek.log.cleaner.cleaning_plan import cleanable_offsets, make_plan, measure
from odradek.log.cleaner.stats import CleanerStats
from odradek.log.cleaner.throttle import Throttle
from odradek.log.log_config import LogConfig
from odradek.log.manager import checkpoint_files
from odradek.log.recovery.log_loader import load_log
from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import Batch, Compression, read_batches
from support import figures
from support.builders.cleaning import SEED, CompactedLog
from support.builders.logs import HandClock
from support.peers.kafka_node import kafka_node
from support.waiting import wait_until

pytestmark = [pytest.mark.peer, pytest.mark.slow]

SETTINGS = {
    "log.cleanup.policy": "compact",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "0",
    "log.segment.delete.delay.ms": "3600000",
    "log.retention.ms": "-1",
}

#: As above, for us: a retention of nothing makes a horizon the clock of the round.
CONFIG = LogConfig(cleanup_policy=("compact",), delete_retention_ms=0, retention_ms=-1)

#: The one topic of the vectors that has a segment size of its own.
SMALL_SEGMENTS = replace(CONFIG, segment_bytes=1 << 20)

OURS = TopicPartition("compacted", 0)
TOPICS = ("append-time", "compacted", "gzip", "lz4", "plain", "small-segments", "snappy", "txn", "zstd")

DAY_MS = 24 * 60 * 60 * 1000

#: The cleaner looks every 200 ms; all else is a busy machine.
_CLEAN_TIMEOUT_S = 60


def partitions(data: Path) -> list[TopicPartition]:
    found = [file_names.parse_partition_dir(path.name) for path in sorted(data.iterdir()) if path.is_dir()]
    return [name.topic_partition for name in found if name is not None and name.topic_partition.topic in TOPICS]


def load(data: Path, tp: TopicPartition, now_ms: int) -> UnifiedLog:
    config = SMALL_SEGMENTS if tp.topic == "small-segments" else CONFIG
    log = load_log(OsFileSystem(), HandClock(now_ms), str(data / str(tp)), config, clean_shutdown=True)
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    return log


def close(log: UnifiedLog) -> None:
    log.flusher.flush(include_active=True)
    log.close()


def write_ours(data: Path, now_ms: int, number: int) -> None:
    """A round's worth of records, over several segments."""
    clock = HandClock(now_ms - 30 * DAY_MS)
    log = CompactedLog(OsFileSystem(), str(data / str(OURS)), CONFIG, clock)
    log._sequences = {pid: entry.last_sequence + 1 for pid, entry in log.log.producers.producers.items()}
    log.append((b"a", b"old"), (b"b", b"old"), (b"c", b"old"), producer_id=1000 + number)  # a producer long gone
    log.roll()
    clock.now_ms = now_ms - 60_000
    for batch in range(4):
        clock.now_ms += 1000
        log.append((b"a", b"%d" % batch), (b"k%d" % batch, b"x" * 40), (b"b", None), producer_id=1)
        log.transaction(2, [(b"t", b"%d" % batch), (b"u%d" % batch, b"y")], commit=batch % 2 == 0)
        log.transaction(3, [(b"t", b"aborted")], [(b"v", b"aborted twice"), (b"k%d" % batch, None)], commit=False)
        log.append((b"d", b"%d" % batch), compression=list(Compression)[batch + 1])
        if batch % 2:
            log.roll()
    log.end_transaction(4, commit=True)  # a producer that wrote nothing here
    log.append((b"gone%d" % number, b"1"), (b"gone%d" % number, None))
    log.append((b"d", b"newest"), producer_id=1)
    log.roll()
    log.append((b"active", b"%d" % number))
    close(log.log)


def prepare(data: Path, now_ms: int, number: int) -> dict[TopicPartition, int]:
    """Everything sealed but one record; where each clean section will end."""
    ends = {}
    for tp in partitions(data):
        if tp != OURS:
            log = load(data, tp, now_ms)
            log.roller.roll()
            ends[tp] = log.offsets.log_end_offset
            close(log)
    write_ours(data, now_ms, number)
    log = load(data, OURS, now_ms)
    ends[OURS] = log.segments.active.base_offset
    _write_checkpoints(data, {**{tp: end for tp, end in ends.items() if tp != OURS}, OURS: log.offsets.log_end_offset})
    close(log)
    return ends


def _write_checkpoints(data: Path, ends: dict[TopicPartition, int]) -> None:
    files = OsFileSystem()
    for name in (file_names.RECOVERY_POINT_CHECKPOINT, file_names.REPLICATION_CHECKPOINT):
        known = checkpoint_files.read_offset_checkpoint(files, str(data / name))
        checkpoint_files.write_offset_checkpoint(files, str(data / name), {**known, **ends})
    checkpoint_files.write_clean_shutdown(files, str(data), 0)


def clean_by_kafka(data: Path, scratch: Path, ends: dict[TopicPartition, int]) -> None:
    path = str(data / file_names.CLEANER_CHECKPOINT)

    def done() -> bool:
        reached = checkpoint_files.read_offset_checkpoint(OsFileSystem(), path)
        return all(reached.get(tp, -1) >= end for tp, end in ends.items() if end)

    with kafka_node(data, scratch, settings=SETTINGS) as node:
        wait_until(done, "Kafka's cleaner has reached every end", _CLEAN_TIMEOUT_S, lambda: Path(path).read_text())
        node.stop()


def clean_by_us(data: Path, tp: TopicPartition, checkpoint: int, now_ms: int) -> CleanerStats:
    log = load(data, tp, now_ms)
    offsets = cleanable_offsets(log, checkpoint, now_ms)
    plan = make_plan(measure(log, offsets, now_ms), now_ms)
    cleaning = Cleaning(plan, log.files, log.clock, CleanerConfig(), Throttle(float("inf"), 0), SEED)
    run_steps(cleaning, log, lambda _: None)
    for removal in log.segments.take_removals():
        removal.run()
    close(log)
    return cleaning.stats


def segments(data: Path, tp: TopicPartition, below: int) -> dict[str, list[Batch]]:
    found = sorted((data / str(tp)).glob("*.log"))
    return {path.name: list(read_batches(path.read_bytes())) for path in found if int(path.stem) < below}


def kafka_clock(data: Path, tp: TopicPartition, below: int, otherwise_ms: int) -> int:
    """The newest horizon is the clock of Kafka's last round."""
    batches = [batch for some in segments(data, tp, below).values() for batch in some]
    return max([otherwise_ms, *(batch.delete_horizon_ms or 0 for batch in batches)])


def fields(batch: Batch) -> tuple[object, ...]:
    """Everything that does not depend on how well a library compresses."""
    header = tuple(getattr(batch, name) for name in Batch.__slots__ if name not in ("buffer", "crc", "size_bytes"))
    return header, list(batch.records())


def compare(ours: Path, kafkas: Path, tp: TopicPartition, below: int) -> int:
    """How many batches were the same to the last byte."""
    our_segments, kafka_segments = segments(ours, tp, below), segments(kafkas, tp, below)
    assert list(our_segments) == list(kafka_segments), tp
    same = 0
    for name, batches in our_segments.items():
        theirs = kafka_segments[name]
        assert [fields(batch) for batch in batches] == [fields(batch) for batch in theirs], f"{tp}/{name}"
        for our_batch, their_batch in zip(batches, theirs, strict=True):
            if our_batch.compression is Compression.NONE:
                assert our_batch.buffer == their_batch.buffer, f"{tp}/{name}"
                same += 1
        txn_index = name.replace(file_names.LOG_SUFFIX, file_names.TXN_INDEX_SUFFIX)
        assert _content(ours / str(tp) / txn_index) == _content(kafkas / str(tp) / txn_index), f"{tp}/{txn_index}"
    return same


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def test_kafka_and_we_clean_alike(clean_data: Path, tmp_path: Path) -> None:
    ours = clean_data
    (ours / file_names.CLEANER_CHECKPOINT).unlink()
    for path in (ours / str(OURS)).iterdir():
        if path.name != file_names.PARTITION_METADATA:
            path.unlink()
    reached: dict[TopicPartition, int] = {}
    same = dropped = 0
    for number in range(2):
        now_ms = time.time_ns() // 1_000_000
        ends = prepare(ours, now_ms, number)
        kafkas = tmp_path / f"kafka-{number}"
        shutil.copytree(ours, kafkas)
        clean_by_kafka(kafkas, tmp_path / f"node-{number}", ends)
        for tp, end in ends.items():
            clock_ms = kafka_clock(kafkas, tp, end, now_ms)
            stats = clean_by_us(ours, tp, reached.get(tp, 0), clock_ms)
            dropped += stats.messages_read - stats.messages_written
            same += compare(ours, kafkas, tp, end)
        assert clock_ms > now_ms, "Kafka stamped a horizon into our log"
        reached = ends
        shutil.copy(kafkas / file_names.CLEANER_CHECKPOINT, ours)
    left = [
        record for some in segments(ours, OURS, reached[OURS]).values() for batch in some for record in batch.records()
    ]
    assert [record.offset for record in left if record.key == b"gone0"] == []  # a tombstone of the first round
    assert [record.value for record in left if record.key == b"gone1"] == [None]  # one of the second
    assert same > 20
    figures.report("compaction, Apache Kafka's and ours", same_batches=same, dropped_records=dropped, logs=len(reached))
