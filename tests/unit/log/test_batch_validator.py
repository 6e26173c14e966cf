"""What a leader refuses, with Kafka's error code, and what it stamps."""

import struct

import pytest
from crc32c import crc32c

from odradek.common.failures import ApiError
from odradek.log.errors import RecordListTooLarge, RecordTooLarge
from odradek.log.offsets import AppendOrigin
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import RecordsRefused
from odradek.records.batch import Compression, TimestampType
from odradek.records.builder import end_transaction_marker
from odradek.records.errors import CorruptRecord, ExpandedTooLarge, InvalidRecord
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import NOON_MS, Rig, batch, idempotent, stored_batches, stored_records

HOUR_MS = 60 * 60 * 1000

CODES = {"CORRUPT_MESSAGE": 2, "INVALID_TIMESTAMP": 32, "INVALID_RECORD": 87, "UNSUPPORTED_COMPRESSION_TYPE": 76}


@pytest.fixture
def rig() -> Rig:
    return Rig(SimulatedDisk())


def altered(data: bytes, position: int, content: bytes, *, repair: bool = True) -> bytes:
    """A batch with other bytes at a position; `repair`: with a CRC that holds."""
    changed = bytearray(data)
    changed[position : position + len(content)] = content
    if repair:
        struct.pack_into(">I", changed, 17, crc32c(changed[21:]))
    return bytes(changed)


def refusal(log: UnifiedLog, data: bytes, origin: AppendOrigin = AppendOrigin.CLIENT) -> ApiError:
    """The error of an append that must leave no trace."""
    end, size = log.offsets.log_end_offset, log.segments.size_bytes
    with pytest.raises(ApiError) as raised:
        log.appender.append_as_leader(data, 0, origin)
    assert (log.offsets.log_end_offset, log.segments.size_bytes) == (end, size)
    return raised.value


GOOD = batch("one", "two")

#: What is done to a good batch, and what Kafka answers.
REFUSED = {
    "a flipped bit": (altered(GOOD, 70, b"X", repair=False), "CORRUPT_MESSAGE"),
    "a length below the header": (altered(GOOD, 8, struct.pack(">i", 20)), "CORRUPT_MESSAGE"),
    "an impossible magic": (altered(GOOD, 16, b"\x07"), "CORRUPT_MESSAGE"),
    "a base offset": (altered(GOOD, 0, struct.pack(">q", 5)), "INVALID_RECORD"),
    "a negative last offset delta": (altered(GOOD, 23, struct.pack(">i", -1)), "INVALID_RECORD"),
    "more offsets than records": (altered(GOOD, 23, struct.pack(">i", 2)), "INVALID_RECORD"),
    "no records": (altered(GOOD, 57, struct.pack(">i", 0)), "INVALID_RECORD"),
    "fewer records than it says": (
        altered(altered(GOOD, 57, struct.pack(">i", 3)), 23, struct.pack(">i", 2)),
        "INVALID_RECORD",
    ),
    "more records than it says": (
        altered(altered(GOOD, 57, struct.pack(">i", 1)), 23, struct.pack(">i", 0)),
        "INVALID_RECORD",
    ),
    "a control record": (altered(GOOD, 21, struct.pack(">h", 0x20)), "INVALID_RECORD"),
    "a producer without sequence": (altered(GOOD, 43, struct.pack(">q", 9)), "INVALID_RECORD"),
    "two batches": (GOOD + GOOD, "INVALID_RECORD"),
    "a record length beyond the batch": (altered(GOOD, 61, b"\x7e"), "INVALID_RECORD"),
    "a codec that does not exist": (altered(GOOD, 21, struct.pack(">h", 6)), "UNSUPPORTED_COMPRESSION_TYPE"),
    "a payload that is not gzip": (altered(GOOD, 21, struct.pack(">h", 1)), "INVALID_RECORD"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_batch_is_refused_with_kafkas_code(rig: Rig, case: str) -> None:
    data, name = REFUSED[case]
    log = rig.load()
    assert refusal(log, data).code == CODES[name]
    log.appender.append_as_leader(GOOD, 0)
    assert [record.value for record in stored_records(log)] == [b"one", b"two"]


@pytest.mark.parametrize("position", range(61))
def test_no_flipped_bit_of_a_header_is_accepted_unnoticed(rig: Rig, position: int) -> None:
    """Base offset and leader epoch are overwritten, all else is covered by the CRC or by a check."""
    for bit in range(8):
        log = rig.load()
        data = altered(GOOD, position, bytes([GOOD[position] ^ 1 << bit]), repair=False)
        if 12 <= position < 16:
            log.appender.append_as_leader(data, 3)
            assert next(stored_batches(log)).leader_epoch == 3
        else:
            end = log.offsets.log_end_offset
            with pytest.raises((CorruptRecord, InvalidRecord)):
                info = log.appender.append_as_leader(data, 3)
                # A length that reaches beyond the bytes makes the batch incomplete: nothing is appended.
                assert (info.first_offset, info.valid_bytes, log.offsets.log_end_offset) == (-1, 0, end)
                raise CorruptRecord("incomplete")
        rig.files.remove_tree(rig.directory)


def test_an_incomplete_batch_is_nothing(rig: Rig) -> None:
    log = rig.load()
    for size in (0, 11, 17, 60, len(GOOD) - 1):
        assert log.appender.append_as_leader(GOOD[:size], 0).valid_bytes == 0
    assert log.offsets.log_end_offset == 0
    # Bytes behind a whole batch that are no batch are left out.
    assert log.appender.append_as_leader(GOOD + GOOD[:30], 0).valid_bytes == len(GOOD)
    assert log.segments.size_bytes == len(GOOD)


def test_size_limits(rig: Rig) -> None:
    log = rig.load(max_message_bytes=len(GOOD))
    log.appender.append_as_leader(GOOD, 0)
    assert isinstance(refusal(log, batch("one", "two!")), RecordTooLarge)
    log.config.update(rig.load(max_message_bytes=10_000, segment_bytes=len(GOOD)).config.value)
    assert isinstance(refusal(log, batch("one", "two!")), RecordListTooLarge)


def test_old_formats_are_refused_from_clients(rig: Rig) -> None:
    log = rig.load()
    value = b"old"
    body = struct.pack(">bbqii", 1, 0, NOON_MS, -1, len(value)) + value
    import zlib

    message = struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
    error = refusal(log, message)
    assert isinstance(error, InvalidRecord) and "magic version 2" in error.message


def test_offset_and_epoch_are_written_in_place(rig: Rig) -> None:
    log = rig.load()
    log.appender.append_as_leader(batch("a", "b", "c"), 1)
    received = bytearray(batch("d", "e"))
    info = log.appender.append_as_leader(received, 4)
    assert (info.first_offset, info.last_offset, info.log_append_time_ms) == (3, 4, -1)
    assert struct.unpack_from(">q", received) == (3,)
    assert struct.unpack_from(">i", received, 12) == (4,)
    assert bytes(received) == bytes(list(stored_batches(log))[-1].buffer)


def test_keys_are_required_on_a_compacted_topic(rig: Rig) -> None:
    log = rig.load(cleanup_policy=("compact",))
    for codec in (Compression.NONE, Compression.LZ4):
        error = refusal(log, batch("a", "b", "c", keys=[b"k", None, None], compression=codec))
        assert isinstance(error, RecordsRefused) and error.code == CODES["INVALID_RECORD"]
        assert [one.batch_index for one in error.errors] == [1, 2]
        assert "without key" in error.errors[0].message
    log.appender.append_as_leader(batch("a", key=b""), 0)


def test_timestamps_must_be_within_bounds(rig: Rig) -> None:
    log = rig.load(message_timestamp_before_max_ms=HOUR_MS, message_timestamp_after_max_ms=HOUR_MS)
    edges = (NOON_MS - HOUR_MS, NOON_MS + HOUR_MS)
    for codec in Compression:
        log.appender.append_as_leader(batch("a", "b", timestamps=edges, compression=codec), 0)
        for wrong in (edges[0] - 1, edges[1] + 1):
            error = refusal(log, batch("a", "b", timestamps=[NOON_MS, wrong], compression=codec))
            assert isinstance(error, RecordsRefused) and error.code == CODES["INVALID_TIMESTAMP"]
            assert [one.batch_index for one in error.errors] == [1]
            assert f"[{edges[0]}, {edges[1]}]" in error.errors[0].message


def test_a_record_without_time_has_no_bounds(rig: Rig) -> None:
    log = rig.load(message_timestamp_before_max_ms=HOUR_MS)
    log.appender.append_as_leader(batch("a", timestamp=-1), 0)
    assert stored_records(log)[0].timestamp == -1


def test_the_future_is_bounded_by_default(rig: Rig) -> None:
    log = rig.load()
    log.appender.append_as_leader(batch("a", timestamp=NOON_MS + HOUR_MS), 0)
    assert refusal(log, batch("a", timestamp=NOON_MS + HOUR_MS + 1)).code == CODES["INVALID_TIMESTAMP"]


def test_a_wrong_max_timestamp_is_put_right(rig: Rig) -> None:
    """The header says 1, the records say noon: what is stored agrees with the records."""
    log = rig.load()
    log.appender.append_as_leader(altered(GOOD, 35, struct.pack(">q", 1)), 0)
    stored = next(stored_batches(log))
    stored.check()
    assert stored.max_timestamp == NOON_MS
    assert log.segments.active.max_timestamp_so_far == NOON_MS


@pytest.mark.parametrize("codec", Compression)
def test_append_time_is_stamped_on_all_records(rig: Rig, codec: Compression) -> None:
    log = rig.load(message_timestamp_type="LogAppendTime")
    rig.clock.now_ms += 5
    info = log.appender.append_as_leader(batch("a", "b", timestamps=[1, 2], compression=codec), 0)
    assert info.log_append_time_ms == info.max_timestamp == NOON_MS + 5
    stored = next(stored_batches(log))
    stored.check()
    assert [record.timestamp for record in stored.records()] == [NOON_MS + 5] * 2
    assert stored.timestamp_type is TimestampType.LOG_APPEND_TIME


def test_a_producer_must_not_stamp_append_time(rig: Rig) -> None:
    log = rig.load(message_timestamp_type="LogAppendTime")
    stamped = batch("a", timestamp_type=TimestampType.LOG_APPEND_TIME, append_time_ms=NOON_MS)
    assert refusal(log, stamped).code == CODES["INVALID_TIMESTAMP"]
    # On a topic with create time Kafka takes it, and the batch becomes one with create time.
    log = rig.load(message_timestamp_type="CreateTime")
    log.appender.append_as_leader(stamped, 0)
    stored = list(stored_batches(log))[-1]
    stored.check()
    assert stored.timestamp_type is TimestampType.CREATE_TIME


@pytest.mark.parametrize("source", Compression)
@pytest.mark.parametrize("target", ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_the_topics_codec_replaces_the_producers(rig: Rig, source: Compression, target: str) -> None:
    log = rig.load(compression_type=target)
    log.appender.append_as_leader(batch("x"), 2)
    sent = idempotent(5, 0, "a" * 300, "b", compression=source)
    log.appender.append_as_leader(sent, 2)
    stored = list(stored_batches(log))[-1]
    stored.check()
    expected = {"producer": source, "uncompressed": Compression.NONE}.get(target)
    assert stored.compression is (Compression[target.upper()] if expected is None else expected)
    assert (stored.producer_id, stored.base_sequence, stored.leader_epoch) == (5, 0, 2)
    assert [(r.offset, r.value) for r in stored.records()] == [(1, b"a" * 300), (2, b"b")]
    assert log.appender.append_as_leader(sent, 2).is_duplicate


def test_a_marker_of_the_coordinator_is_never_compressed(rig: Rig) -> None:
    log = rig.load(compression_type="zstd")
    marker = end_transaction_marker(
        commit=True, timestamp=NOON_MS, producer_id=5, producer_epoch=0, coordinator_epoch=0
    )
    log.appender.append_as_leader(marker, 0, AppendOrigin.COORDINATOR, transaction_version=0)
    stored = next(stored_batches(log))
    assert stored.is_control and stored.compression is Compression.NONE


def test_a_batch_too_large_after_recompression_is_refused(rig: Rig) -> None:
    sent = batch("a" * 5000, compression=Compression.ZSTD)
    log = rig.load(compression_type="uncompressed", max_message_bytes=1000)
    assert isinstance(refusal(log, sent), RecordTooLarge)


@pytest.mark.parametrize("target", ["producer", "gzip"])
def test_what_unfolds_to_a_thousand_times_its_size_is_refused_however_it_is_to_be_written(
    rig: Rig, target: str
) -> None:
    log = rig.load(compression_type=target)
    bomb = batch(bytes(5 * 1024 * 1024), compression=Compression.ZSTD)
    assert len(bomb) * 1_000 < 5 * 1024 * 1024
    assert isinstance(refusal(log, bomb), ExpandedTooLarge)
    log.appender.append_as_leader(batch(bytes(3 * 1024 * 1024), compression=Compression.ZSTD), 0)
