"""Directories that Apache Kafka 4.3.1 wrote, opened by us: what a client read from them is what we read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.log.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    parse_partition_dir,
)
from odradek.log.log_config import LogConfig
from odradek.log.manager.checkpoint_files import read_epoch_checkpoint, read_offset_checkpoint
from odradek.log.recovery.log_loader import load_log
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.records.batch import Record
from support import vectors
from support.builders.logs import OPTIONS, HandClock, committed_records, stored_batches, stored_records

FILES = OsFileSystem()

#: When the directories were written, by the clock of their machine, at the earliest; and when producers expire.
WRITTEN_MS = 1_794_000_000_000
DAY_MS = 24 * 60 * 60 * 1000

#: Topics that the cleaner has been at: their offsets have gaps.
COMPACTED = ("compacted", "__consumer_offsets", "__transaction_state")


def partition_dirs(data: Path) -> list[Path]:
    return sorted(path for path in data.iterdir() if path.is_dir() and parse_partition_dir(path.name))


def open_log(data: Path, path: Path, *, clean: bool) -> UnifiedLog:
    parsed = parse_partition_dir(path.name)
    assert parsed is not None
    tp = parsed.topic_partition
    config = LogConfig(cleanup_policy=("compact",)) if tp.topic in COMPACTED else LogConfig()
    log = load_log(
        FILES,
        HandClock(),
        str(path),
        config,
        log_start_offset=read_offset_checkpoint(FILES, f"{data}/{LOG_START_CHECKPOINT}").get(tp, 0),
        recovery_point=read_offset_checkpoint(FILES, f"{data}/{RECOVERY_POINT_CHECKPOINT}").get(tp, 0),
        clean_shutdown=clean,
        options=OPTIONS,
    )
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    return log


def open_logs(data: Path, *, clean: bool) -> Iterator[UnifiedLog]:
    for path in partition_dirs(data):
        log = open_log(data, path, clean=clean)
        yield log
        log.close_handlers()


def as_expected(tp: TopicPartition, log: UnifiedLog) -> list[vectors.ExpectedRecord]:
    committed = {record.offset for record in committed_records(log)}
    epochs = [(batch.base_offset, batch.last_offset, batch.leader_epoch) for batch in stored_batches(log)]

    def convert(record: Record) -> vectors.ExpectedRecord:
        return vectors.ExpectedRecord(
            topic=tp.topic,
            partition=tp.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=record.timestamp_type + 1,
            key=record.key,
            value=record.value,
            headers=tuple((header.key, header.value) for header in record.headers),
            leader_epoch=next(epoch for first, last, epoch in epochs if first <= record.offset <= last),
            committed=record.offset in committed,
        )

    return [convert(record) for record in stored_records(log)]


@pytest.fixture(params=["clean", "unclean"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return vectors.unpack(request.param, tmp_path)


def test_every_record_is_what_a_client_read(data: Path) -> None:
    expected = vectors.expected_records()
    topics = {record.topic for record in expected}
    found = [
        record
        for log in open_logs(data, clean=data.name == "data")
        if log.topic_partition.topic in topics
        for record in as_expected(log.topic_partition, log)
    ]

    def place(record: vectors.ExpectedRecord) -> tuple[str, int, int]:
        return record.topic, record.partition, record.offset

    assert sorted(found, key=place) == sorted(expected, key=place)
    assert any(not record.committed for record in found)


def test_nothing_needs_repair_after_a_clean_stop(clean_data: Path) -> None:
    """Except for what Kafka itself drops when it loads: the cleaner's `.deleted` files, whose time had not come,
    snapshots of earlier stops, and epochs of leaders that wrote nothing."""
    before = {path: path.read_bytes() for path in clean_data.rglob("*") if path.is_file()}
    repairs = [repair for log in open_logs(clean_data, clean=True) for repair in log.repairs]
    assert all(repair.startswith("removed ") and repair.endswith(".deleted") for repair in repairs)
    after = {path: path.read_bytes() for path in clean_data.rglob("*") if path.is_file()}
    for gone in before.keys() - after.keys():
        newer = [
            other for other in after if other.parent == gone.parent and other.suffix == ".snapshot" and other > gone
        ]
        is_stray = gone.suffix == ".snapshot" and newer and gone.with_suffix(".log") not in before
        assert gone.suffix == ".deleted" or is_stray
    changed = {path.name for path, content in after.items() if content != before[path]}
    assert changed == {LEADER_EPOCH_CHECKPOINT}


def test_checkpoints_agree_with_the_log_ends(clean_data: Path) -> None:
    recovery_points = read_offset_checkpoint(FILES, f"{clean_data}/{RECOVERY_POINT_CHECKPOINT}")
    high_watermarks = read_offset_checkpoint(FILES, f"{clean_data}/{REPLICATION_CHECKPOINT}")
    ends = {log.topic_partition: log.offsets.log_end_offset for log in open_logs(clean_data, clean=True)}
    metadata = TopicPartition("__cluster_metadata", 0)
    del ends[metadata]  # the metadata log keeps no checkpoint among the topics'
    assert recovery_points == ends
    assert high_watermarks == ends


def test_a_recovery_of_everything_finds_what_the_clean_stop_left(clean_data: Path, tmp_path: Path) -> None:
    again = vectors.unpack(vectors.CLEAN, tmp_path / "again")
    for path in partition_dirs(clean_data):
        trusted = open_log(clean_data, path, clean=True)
        for checkpoint in (RECOVERY_POINT_CHECKPOINT,):
            (again / checkpoint).unlink(missing_ok=True)
        rebuilt = open_log(again, again / path.name, clean=False)
        assert rebuilt.offsets.log_end_offset == trusted.offsets.log_end_offset
        assert rebuilt.epochs.entries() == trusted.epochs.entries()
        assert_same_producers(rebuilt, trusted)
        assert aborted_of(rebuilt) == aborted_of(trusted)
        for mine, kafkas in zip(rebuilt.segments, trusted.segments, strict=True):
            assert mine.size == kafkas.size
            assert mine.max_timestamp_and_offset == kafkas.max_timestamp_and_offset
        trusted.close_handlers()
        rebuilt.close_handlers()


def test_epochs_are_rebuilt_from_the_batches(clean_data: Path) -> None:
    for path in partition_dirs(clean_data):
        kafkas = read_epoch_checkpoint(FILES, str(path))
        (path / LEADER_EPOCH_CHECKPOINT).unlink()
        log = open_log(clean_data, path, clean=True)
        # A leader that wrote nothing has an epoch in the checkpoint, but no batch.
        written = [entry for entry in kafkas if entry.start_offset < log.offsets.log_end_offset]
        found = log.epochs.entries()
        assert [entry.epoch for entry in found] == [entry.epoch for entry in written]
        for mine, kafka in zip(found, written, strict=True):
            # The cleaner may have taken an epoch's first records.
            assert mine == kafka or (log.config.value.compact and mine.start_offset > kafka.start_offset)
        log.close_handlers()


def test_producers_are_rebuilt_from_the_segments(clean_data: Path) -> None:
    seen = 0
    for path in partition_dirs(clean_data):
        kafkas = open_log(clean_data, path, clean=True)
        kafkas.close_handlers()
        for snapshot in path.glob("*.snapshot"):
            snapshot.unlink()
        rebuilt = open_log(clean_data, path, clean=False)
        assert_same_producers(rebuilt, kafkas)
        rebuilt.close_handlers()
        seen += len(kafkas.producers.producers)
    assert seen > 0


def test_a_lookup_by_every_timestamp_finds_the_first_record_that_late(clean_data: Path) -> None:
    for log in open_logs(clean_data, clean=True):
        if log.topic_partition.topic.startswith("__"):
            continue
        records = [record for batch in stored_batches(log) for record in batch.records()]
        for wanted in sorted({record.timestamp for record in records})[:200]:
            first = next(record for record in records if record.timestamp >= wanted)
            found = log.reader.offset_for_timestamp(wanted)
            assert found is not None
            assert (found.timestamp, found.offset) == (first.timestamp, first.offset)


def test_a_read_committed_reader_ends_at_the_last_stable_offset(clean_data: Path) -> None:
    log = open_log(clean_data, clean_data / "txn-0", clean=True)
    last = max(batch.last_offset for batch in stored_batches(log, Isolation.TXN_COMMITTED))
    assert last + 1 == log.offsets.last_stable_offset
    log.close_handlers()


def assert_same_producers(rebuilt: UnifiedLog, kafkas: UnifiedLog) -> None:
    """Kafka, whose clock was years ahead of most records' times, had already forgotten some producers."""
    mine, theirs = rebuilt.producers.producers, kafkas.producers.producers
    assert {key: repr(mine[key]) for key in theirs} == {key: repr(theirs[key]) for key in theirs}
    assert all(mine[key].last_timestamp < WRITTEN_MS - DAY_MS for key in mine if key not in theirs)


def aborted_of(log: UnifiedLog) -> list[object]:
    return [entry for segment in log.segments for entry in segment.txn_index.entries()]
