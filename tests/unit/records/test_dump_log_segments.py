"""Apache Kafka's own reader of segments, on batches that we wrote."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.records.batch import Batch, Compression, TimestampType, read_batch, read_batches
from odradek.records.builder import BatchBuilder, empty_batch, end_transaction_marker, retained_batch
from odradek.records.record import Record
from support.builders.records import CODECS, SAMPLE, Made, build
from support.peers.kafka_tools import dump_log_segments
from unit.records.legacy_builder import message, wrapper

pytestmark = pytest.mark.peer

#: Printable, since the tool prints keys and values as text.
READABLE = tuple(
    Made(1_700_000_000_000 + i, None if i % 5 == 0 else b"key-%d" % i, b"value-%d" % i * 40, (("h", b"x"),) * (i % 3))
    for i in range(400)
)


def written() -> bytes:
    """All codecs, a transaction with its marker, append time, a cleaned batch with a horizon, an emptied one."""
    chunk = b""

    def next_offset() -> int:
        return list(read_batches(chunk))[-1].next_offset if chunk else 0

    for codec in CODECS:
        chunk += build(READABLE, codec, next_offset())
    transaction = BatchBuilder(
        base_offset=next_offset(), producer_id=9, producer_epoch=1, base_sequence=0, is_transactional=True
    )
    for made in READABLE[:10]:
        transaction.append(made.timestamp, made.key, made.value)
    chunk += transaction.build()
    chunk += end_transaction_marker(
        commit=True, timestamp=5, producer_id=9, producer_epoch=1, coordinator_epoch=3, base_offset=next_offset()
    )
    stamped = BatchBuilder(
        base_offset=next_offset(), timestamp_type=TimestampType.LOG_APPEND_TIME, append_time_ms=1_700_000_001_111
    )
    stamped.append(1, b"key", b"value")
    chunk += stamped.build()
    original = read_batch(build(READABLE, Compression.ZSTD, next_offset()))
    kept = [record for record in original.records() if record.offset % 7 == 0]
    chunk += retained_batch(original, kept, delete_horizon_ms=1_800_000_000_000)
    return chunk + empty_batch(read_batch(transaction.build(), 0))


def dump(directory: Path, chunk: bytes) -> str:
    path = directory / "00000000000000000000.log"
    path.write_bytes(chunk)
    return dump_log_segments("--deep-iteration", "--print-data-log", "--files", str(path))


def batch_line(batch: Batch, position: int) -> str:
    horizon = ".empty" if batch.delete_horizon_ms is None else f"[{batch.delete_horizon_ms}]"
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.count} "
        f"baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} producerId: {batch.producer_id} "
        f"producerEpoch: {batch.producer_epoch} partitionLeaderEpoch: {batch.leader_epoch} "
        f"isTransactional: {str(batch.is_transactional).lower()} isControl: {str(batch.is_control).lower()} "
        f"deleteHorizonMs: OptionalLong{horizon} position: {position} "
        f"{_time(batch.timestamp_type)}: {batch.max_timestamp} size: {batch.size_bytes} "
        f"magic: {batch.magic} compresscodec: {batch.compression.name.lower()} "
        f"crc: {batch.crc} isvalid: true"
    )


def record_line(record: Record, *, with_data: bool = True) -> str:
    key_size = -1 if record.key is None else len(record.key)
    value_size = -1 if record.value is None else len(record.value)
    line = (
        f"| offset: {record.offset} {_time(record.timestamp_type)}: {record.timestamp} keySize: {key_size} "
        f"valueSize: {value_size} sequence: {record.sequence} headerKeys: "
        f"[{','.join(header.key for header in record.headers)}]"
    )
    if not with_data:
        return line
    if record.key is not None:
        line += f" key: {record.key.decode()}"
    return line + ("" if record.value is None else f" payload: {record.value.decode()}")


def _time(kind: TimestampType) -> str:
    return "LogAppendTime" if kind == TimestampType.LOG_APPEND_TIME else "CreateTime"


def test_it_prints_what_we_read(tmp_path: Path) -> None:
    chunk = written()
    lines = dump(tmp_path, chunk).splitlines()
    batch_lines = [line for line in lines if line.startswith("baseOffset")]
    record_lines = [line for line in lines if line.startswith("| offset") and "endTxnMarker" not in line]
    markers = [line for line in lines if "endTxnMarker" in line]
    batches = list(read_batches(chunk))
    positions = _positions(batches)
    assert batch_lines == [batch_line(batch, at) for batch, at in zip(batches, positions, strict=True)]
    assert record_lines == [record_line(r) for batch in batches if not batch.is_control for r in batch.records()]
    assert len(markers) == 1 and re.search(r"endTxnMarker: COMMIT coordinatorEpoch: 3", markers[0])


def _positions(batches: Sequence[Batch]) -> list[int]:
    positions, position = [], 0
    for batch in batches:
        positions.append(position)
        position += batch.size_bytes
    return positions


def test_any_bytes_at_all_in_keys_values_and_headers(tmp_path: Path) -> None:
    chunk = b"".join(build(SAMPLE, codec, i * len(SAMPLE)) for i, codec in enumerate(CODECS))
    text = dump(tmp_path, chunk)
    assert text.count("isvalid: true") == len(CODECS)
    assert len(re.findall(r"^\| offset: ", text, re.MULTILINE)) == len(CODECS) * len(SAMPLE)


@pytest.mark.parametrize("magic", [0, 1])
def test_it_reads_our_lz4_of_the_older_formats(tmp_path: Path, magic: int) -> None:
    """No other library here can vouch for the checksum of magic 0."""
    inner = [message(0, magic, b"key", b"value", timestamp=5)]
    text = dump(tmp_path, wrapper(magic, 0, inner, Compression.LZ4, timestamp=5))
    assert "isvalid: true" in text and "key: key payload: value" in text


def test_we_read_kafkas_lz4_as_it_does(clean_data: Path) -> None:
    """The list of expected records was made without that topic."""
    path = clean_data / "lz4-0" / "00000000000000000000.log"
    lines = dump_log_segments("--deep-iteration", "--files", str(path)).splitlines()
    batches = list(read_batches(path.read_bytes()))
    assert [line for line in lines if line.startswith("baseOffset")] == [
        batch_line(batch, at) for batch, at in zip(batches, _positions(batches), strict=True)
    ]
    assert [line.rstrip() for line in lines if line.startswith("| offset")] == [
        record_line(record, with_data=False) for batch in batches for record in batch.records()
    ]
