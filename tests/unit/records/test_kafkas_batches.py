"""Batches that Apache Kafka 4.3.1 wrote, in the data directories under `tests/vectors/`."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from odradek.records.aborted import AbortedTransaction
from odradek.records.batch import Batch, Compression, TimestampType, read_batches
from odradek.records.batch_walk import walk
from odradek.records.columns.record_columns import read_columns
from odradek.records.control import ControlType, control_type, read_end_transaction
from support.vectors import ExpectedRecord, expected_records

TOPICS = ("plain", "gzip", "snappy", "zstd", "append-time", "compacted", "small-segments", "txn")
_LOG_SUFFIXES = (".log", ".checkpoint")


@cache
def expected(topic: str, partition: int) -> list[ExpectedRecord]:
    return [record for record in expected_records() if (record.topic, record.partition) == (topic, partition)]


def chunks(data: Path, partition: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((data / partition).glob("*.log"))]


def batches(data: Path, partition: str) -> Iterator[Batch]:
    for chunk in chunks(data, partition):
        yield from read_batches(chunk)


def partitions(data: Path, topic: str) -> list[str]:
    return sorted(path.name for path in data.glob(f"{topic}-[0-9]"))


def seen(batch: Batch) -> list[tuple[object, ...]]:
    return [
        (r.offset, r.timestamp, int(r.timestamp_type) + 1, r.key, r.value, r.headers, batch.leader_epoch)
        for r in batch.records()
    ]


@pytest.mark.parametrize("topic", TOPICS)
def test_every_record_is_what_a_client_read(clean_data: Path, topic: str) -> None:
    for partition in partitions(clean_data, topic):
        got = [row for b in batches(clean_data, partition) if not b.is_control for row in seen(b)]
        want = expected(topic, int(partition.rpartition("-")[2]))
        assert got == [
            (r.offset, r.timestamp, r.timestamp_type, r.key, r.value, r.headers, r.leader_epoch) for r in want
        ]


@pytest.mark.parametrize("topic", TOPICS)
def test_columns_see_what_a_committed_reader_saw(clean_data: Path, topic: str) -> None:
    for partition in partitions(clean_data, topic):
        chunk = b"".join(chunks(clean_data, partition))
        columns = read_columns(chunk, aborted=aborted_in(list(read_batches(chunk))))
        want = [r for r in expected(topic, int(partition.rpartition("-")[2])) if r.committed]
        assert columns.offset.tolist() == [record.offset for record in want]
        assert columns.timestamp.tolist() == [record.timestamp for record in want]
        assert columns.keys() == [record.key for record in want]
        assert columns.values() == [record.value for record in want]
        assert [columns.headers(i) for i in range(len(columns))] == [record.headers for record in want]


def aborted_in(found: list[Batch]) -> list[AbortedTransaction]:
    """What a broker would list with a fetch of all of it."""
    began: dict[int, int] = {}
    aborted = []
    for batch in found:
        if batch.is_control:
            marker = read_end_transaction(batch)
            first_offset = began.pop(batch.producer_id, None)
            if marker is not None and not marker.committed and first_offset is not None:
                aborted.append(AbortedTransaction(batch.producer_id, first_offset))
        elif batch.is_transactional:
            began.setdefault(batch.producer_id, batch.base_offset)
    return aborted


def test_every_batch_of_every_file_is_sound(clean_data: Path) -> None:
    """User topics, coordinators' topics, the metadata log and its snapshots."""
    codecs, kinds, count = [], [], 0
    for path in sorted(clean_data.rglob("*")):
        if path.suffix not in _LOG_SUFFIXES:
            continue
        content = path.read_bytes()
        found = list(read_batches(content))
        assert sum(batch.size_bytes for batch in found) == len(content)
        for batch in found:
            batch.check()
            count += 1
            codecs.append(batch.compression)
            records = list(batch.records())
            if batch.is_control:
                kinds += [control_type(record.key) for record in records]
            if records and not path.parent.name.startswith("compacted"):
                payload = batch.payload()
                walked = walk(payload, 0, len(payload), batch.count)
                if batch.timestamp_type == TimestampType.CREATE_TIME:
                    assert batch.base_timestamp + walked.max_timestamp_delta == batch.max_timestamp
    assert sorted(set(codecs)) == list(Compression)
    assert {ControlType.ABORT, ControlType.COMMIT, ControlType.LEADER_CHANGE, ControlType.SNAPSHOT_HEADER} <= set(kinds)
    assert ControlType.UNKNOWN not in kinds
    assert count > 400


def test_the_lz4_topic_holds_as_many_records_as_its_siblings(clean_data: Path) -> None:
    """The list of expected records was made without it."""
    found = list(batches(clean_data, "lz4-0"))
    assert {batch.compression for batch in found} <= {Compression.LZ4, Compression.NONE}
    assert sum(len(list(batch.records())) for batch in found) == len(expected("gzip", 0))


def test_the_cleaner_of_kafka_set_delete_horizons(clean_data: Path) -> None:
    horizons = [batch.delete_horizon_ms for batch in batches(clean_data, "compacted-0")]
    assert any(horizon is not None for horizon in horizons)
