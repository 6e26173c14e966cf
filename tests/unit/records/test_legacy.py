"""The two older formats: written by other clients' builders or byte by byte, read by us and by them."""

import struct

import pytest

from odradek.common.failures import ApiError
from odradek.records.batch import Batch, Compression, TimestampType, read_batch, read_batches
from odradek.records.errors import CorruptRecord, InvalidRecord, UnsupportedCompression
from support.builders.records import Made
from unit.records.client_oracles import LEGACY_BUILDERS, READERS, build_legacy_as, read_as
from unit.records.legacy_builder import message, wrapper

RECORDS = [
    Made(1_500_000_000_000 + 7 * i, key, value)
    for i, (key, value) in enumerate([(b"k", b"v"), (None, b"v" * 1000), (b"", None), (None, None), (b"k2", b"")])
]
CODECS = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4]


def seen(data: bytes) -> list[tuple[int, int, bytes | None, bytes | None]]:
    for batch in read_batches(data):
        batch.check()
    return [(r.offset, r.timestamp, r.key, r.value) for batch in read_batches(data) for r in batch.records()]


def seen_by(client: str, data: bytes) -> list[tuple[int, int, bytes | None, bytes | None]]:
    stamps = [-1 if r.timestamp is None else r.timestamp for r in read_as(client, data)]
    return [(r.offset, stamp, r.key, r.value) for r, stamp in zip(read_as(client, data), stamps, strict=True)]


@pytest.mark.parametrize("client", list(LEGACY_BUILDERS))
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_other_builders(client: str, magic: int) -> None:
    data = build_legacy_as(client, magic, RECORDS, 0)
    assert seen(data) == [(i, r.timestamp if magic else -1, r.key, r.value) for i, r in enumerate(RECORDS)]
    batches = list(read_batches(data))
    assert len(batches) == len(RECORDS)
    assert [(b.base_offset, b.last_offset, b.next_offset, b.count) for b in batches][-1] == (4, 4, 5, 1)
    assert batches[0].timestamp_type == (TimestampType.CREATE_TIME if magic else TimestampType.NONE)
    assert (batches[0].leader_epoch, batches[0].has_producer_id, batches[0].is_control) == (-1, False, False)
    assert batches[0].delete_horizon_ms is None


@pytest.mark.parametrize("client", list(LEGACY_BUILDERS))
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("offset", [0, 104])
def test_wrappers_of_other_builders(client: str, codec: Compression, offset: int) -> None:
    """A producer leaves the wrapper at 0; the broker of old moves it to the offset of the last message inside."""
    data = bytearray(build_legacy_as(client, 1, RECORDS, codec))
    struct.pack_into(">q", data, 0, offset)
    base = offset - 4 if offset else 0
    assert seen(bytes(data)) == [(base + i, r.timestamp, r.key, r.value) for i, r in enumerate(RECORDS)]
    batch = read_batch(data)
    assert (batch.base_offset, batch.last_offset, batch.count, batch.magic) == (base, offset, 5, 1)
    assert batch.compression == codec


@pytest.mark.parametrize("client", list(READERS))
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", CODECS)
def test_wrappers_with_gaps_agree_with_other_parsers(client: str, magic: int, codec: Compression) -> None:
    """Absolute offsets inside under magic 0, relative ones under magic 1; the cleaner left holes in both."""
    places = [10, 12, 15] if magic == 0 else [0, 2, 5]
    inner = [message(at, magic, b"k%d" % at, b"v", timestamp=1000 + at) for at in places]
    data = wrapper(magic, 15, inner, codec, timestamp=1005)
    # They refuse the old checksum of lz4 without a library that we do not install: same content in another codec.
    is_old_lz4 = codec == Compression.LZ4 and magic == 0
    for_them = wrapper(magic, 15, inner, Compression.GZIP, timestamp=1005) if is_old_lz4 else data
    assert [record[0] for record in seen(data)] == [10, 12, 15]
    assert seen(data) == seen_by(client, for_them)


def test_the_logs_time_is_the_time_of_all_inside() -> None:
    inner = [message(i, 1, b"k", b"v", timestamp=i) for i in range(3)]
    data = wrapper(1, 20, inner, Compression.GZIP, attributes=0x08, timestamp=5555)
    batch = read_batch(data)
    assert (batch.timestamp_type, batch.max_timestamp) == (TimestampType.LOG_APPEND_TIME, 5555)
    assert [(r.offset, r.timestamp, r.timestamp_type) for r in batch.records()] == [
        (offset, 5555, TimestampType.LOG_APPEND_TIME) for offset in (18, 19, 20)
    ]
    assert seen(data) == seen_by("kafka-python", data)


def refused(batch: Batch) -> str:
    with pytest.raises(InvalidRecord) as caught:
        list(batch.records())
    return caught.value.message


def test_what_is_wrong_with_a_wrapper_is_named() -> None:
    inner = [message(0, 1, b"k", b"v", timestamp=0)]
    assert "nothing inside" in refused(read_batch(wrapper(1, 9, [], Compression.GZIP)))
    assert "no value" in refused(read_batch(message(9, 1, None, None, attributes=1)))
    assert "its last inner message is at 7" in refused(
        read_batch(wrapper(1, 5, [message(7, 1, None, b"")], Compression.GZIP))
    )
    twice = wrapper(1, 9, [wrapper(1, 0, inner, Compression.GZIP)], Compression.GZIP)
    assert "inside of a wrapper" in refused(read_batch(twice))
    assert "impossible" in refused(read_batch(wrapper(1, 9, [struct.pack(">qi", 0, 13) + bytes(13)], Compression.GZIP)))
    assert "magic 2" in refused(read_batch(wrapper(1, 9, [message(0, 2, None, b"12345678")], Compression.GZIP)))
    with pytest.raises(UnsupportedCompression):
        list(read_batch(message(9, 1, None, b"x", attributes=4)).records())
    long_key = bytearray(message(0, 1, b"key", b"v"))
    struct.pack_into(">i", long_key, 26, 99)
    assert "99 bytes" in refused(read_batch(bytes(long_key)))


def test_a_message_cut_off_inside_a_wrapper_is_left_out() -> None:
    inner = [message(i, 1, b"k", b"v", timestamp=0) for i in range(2)]
    data = wrapper(1, 0, [inner[0], inner[1][:-1]], Compression.GZIP)
    assert [record.offset for record in read_batch(data).records()] == [0]


@pytest.mark.parametrize("magic", [0, 1])
def test_any_changed_bit_is_noticed_or_changes_nothing_but_the_offset(magic: int) -> None:
    inner = [message(i, magic, b"k", b"v" * 20, timestamp=i) for i in range(2)]
    for data in (message(500, magic, b"key", b"value", timestamp=3), wrapper(magic, 501, inner, Compression.GZIP)):
        want = [record[1:] for record in seen(data)]
        for position in range(len(data)):
            for bit in range(8):
                mutated = bytearray(data)
                mutated[position] ^= 1 << bit
                try:
                    got = seen(bytes(mutated))
                except ApiError:
                    continue
                assert position < 12
                assert not got or [record[1:] for record in got] == want


def test_too_small_for_their_magic() -> None:
    with pytest.raises(CorruptRecord, match="magic 1 needs 34"):
        read_batch(message(0, 0, None, None)[:16] + b"\x01" + bytes(20))


def test_a_wrapper_of_an_unknown_codec_is_refused_by_name() -> None:
    """Found by guided fuzzing: the text of the error asked for the base offset, which lies within the wrapper."""
    wrapper = bytes(17) + b"\x07" + bytes(8)
    wrapper = wrapper[:8] + (len(wrapper) - 12).to_bytes(4, "big") + wrapper[12:]
    with pytest.raises(UnsupportedCompression, match="no codec has the number 7"):
        list(read_batch(wrapper).records())
