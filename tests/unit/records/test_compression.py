"""Codecs: round trips, what other libraries write, damage, and bombs that must not get the memory they ask for."""

import gzip
import random
import struct
import subprocess
import sys
import tracemalloc
import zlib

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import ApiError
from odradek.records.codecs.lz4 import xxh32
from odradek.records.compression import Compression, compress, decompress, unfolded_bytes_max
from odradek.records.errors import ExpandedTooLarge, InvalidRecord, UnsupportedCompression
from support.builders.records import CODECS

TEXT = b"the quick brown fox " * 5000
REAL = CODECS[1:]


@given(data=st.binary(max_size=3000), codec=st.sampled_from(CODECS), magic=st.sampled_from([0, 1, 2]))
def test_round_trip(data: bytes, codec: Compression, magic: int) -> None:
    if codec == Compression.ZSTD:
        magic = 2
    folded = compress(codec, memoryview(data), magic=magic)
    assert decompress(codec, memoryview(folded), len(data), magic) == data


@pytest.mark.parametrize("codec", REAL)
@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 9 << 20])
def test_sizes_around_blocks_and_beyond_what_is_kept_while_measuring(codec: Compression, size: int) -> None:
    data = random.Random(size).randbytes(size // 2) + b"z" * (size - size // 2)
    assert decompress(codec, compress(codec, data), size) == data


@pytest.mark.parametrize("codec", REAL)
def test_levels(codec: Compression) -> None:
    for level in (1, 9):
        assert decompress(codec, compress(codec, TEXT, level)) == TEXT


@pytest.mark.parametrize("codec", REAL)
def test_the_limit_is_exact(codec: Compression) -> None:
    folded = compress(codec, TEXT)
    assert decompress(codec, folded, len(TEXT)) == TEXT
    with pytest.raises(ExpandedTooLarge):
        decompress(codec, folded, len(TEXT) - 1)


@pytest.mark.parametrize("codec", REAL)
def test_what_is_cut_off_is_refused_at_every_length(codec: Compression) -> None:
    folded = compress(codec, TEXT[:3000])
    for length in range(len(folded)):
        try:
            assert decompress(codec, folded[:length]) == b"" and codec in (Compression.SNAPPY, Compression.ZSTD)
        except InvalidRecord:
            continue
        assert length in (0, 16)  # nothing at all, or a snappy stream of no blocks


@pytest.mark.parametrize("codec", REAL)
def test_damage_gives_bytes_or_an_api_error(codec: Compression) -> None:
    folded = compress(codec, TEXT)
    source = random.Random(7)
    for _ in range(2000):
        mutated = bytearray(folded)
        for _ in range(source.randint(1, 3)):
            mutated[source.randrange(len(mutated))] = source.randrange(256)
        try:
            assert len(decompress(codec, bytes(mutated), 200_000)) <= 200_000
        except ApiError:
            continue


@given(junk=st.binary(max_size=100), codec=st.sampled_from(REAL))
def test_junk_gives_bytes_or_an_api_error(junk: bytes, codec: Compression) -> None:
    header = {Compression.SNAPPY: b"\x82SNAPPY\x00" + bytes(8), Compression.ZSTD: b"\x28\xb5\x2f\xfd"}
    for data in (junk, header.get(codec, b"") + junk):
        try:
            decompress(codec, data, 10_000)
        except ApiError:
            continue


def test_gzip_of_other_libraries_and_of_several_members() -> None:
    both = gzip.compress(b"one ") + zlib.compress(b"two", wbits=31)
    assert decompress(Compression.GZIP, both) == b"one two"
    assert decompress(Compression.GZIP, both + b"\x00\x00") == b"one two"
    assert gzip.decompress(compress(Compression.GZIP, TEXT)) == TEXT


def test_snappy_is_framed_for_java_and_bare_is_accepted() -> None:
    folded = compress(Compression.SNAPPY, TEXT)
    assert folded[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    (first,) = struct.unpack_from(">i", folded, 16)
    assert cramjam.snappy.decompress_raw_len(folded[20 : 20 + first]) == 32 * 1024
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT
    assert decompress(Compression.SNAPPY, folded + folded) == TEXT + TEXT


@pytest.mark.parametrize("length", [-1, 0, 1 << 30])
def test_snappy_blocks_of_impossible_lengths(length: int) -> None:
    with pytest.raises(InvalidRecord, match="block of"):
        decompress(Compression.SNAPPY, b"\x82SNAPPY\x00" + bytes(8) + struct.pack(">i", length) + b"xx")


def test_lz4_blocks_are_independent_and_the_header_is_checked() -> None:
    folded = compress(Compression.LZ4, TEXT)
    assert not lz4.frame.get_frame_info(folded)["block_linked"]
    with pytest.raises(InvalidRecord, match="depend on one another"):
        decompress(Compression.LZ4, lz4.frame.compress(TEXT, block_linked=True))
    assert decompress(Compression.LZ4, folded + b"what follows is ignored") == TEXT
    damaged = bytearray(folded)
    damaged[6] ^= 0xFF
    with pytest.raises(InvalidRecord):
        decompress(Compression.LZ4, damaged)


@pytest.mark.parametrize("store_size", [True, False])
def test_lz4_of_the_oldest_format_has_a_checksum_over_the_magic_number_too(store_size: bool) -> None:
    frame = lz4.frame.compress(TEXT, block_linked=False, store_size=store_size)
    end = 15 if store_size else 7
    assert frame[end - 1] == xxh32(frame[4 : end - 1]) >> 8 & 0xFF
    old = bytearray(frame)
    old[end - 1] = xxh32(frame[: end - 1][:15]) >> 8 & 0xFF
    assert decompress(Compression.LZ4, old, magic=0) == TEXT
    for magic in (1, 2):
        with pytest.raises(InvalidRecord):
            decompress(Compression.LZ4, old, magic=magic)
    written = compress(Compression.LZ4, TEXT, magic=0)
    assert written[6] == xxh32(written[:6]) >> 8 & 0xFF


def test_zstd_with_and_without_its_size_streamed_and_in_several_frames() -> None:
    sized = zstandard.ZstdCompressor().compress(TEXT)
    unsized = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(TEXT)
    streamed = zstandard.ZstdCompressor(level=19).compressobj()
    pieces = streamed.compress(TEXT) + streamed.flush()
    skippable = struct.pack("<II", 0x184D2A53, 3) + b"abc"
    for folded, copies in ((sized, 1), (unsized, 1), (pieces, 1), (unsized + skippable + sized + pieces, 3)):
        assert decompress(Compression.ZSTD, folded, copies * len(TEXT)) == copies * TEXT
        with pytest.raises(ExpandedTooLarge):
            decompress(Compression.ZSTD, folded, copies * len(TEXT) - 1)
    with pytest.raises(InvalidRecord):
        decompress(Compression.ZSTD, sized + b"junk that follows")


def test_zstd_that_claims_more_than_its_blocks_can_hold() -> None:
    frame = bytearray(zstandard.ZstdCompressor(write_checksum=False).compress(bytes(1 << 20)))
    assert frame[4] >> 6 == 2  # a content size of four bytes after the window's
    at = 5 if frame[4] & 0x20 else 6
    struct.pack_into("<I", frame, at, 90 << 20)
    with pytest.raises(InvalidRecord, match="claims 94371840 bytes"):
        decompress(Compression.ZSTD, frame)


def test_zstd_does_not_exist_in_the_older_formats() -> None:
    for magic in (0, 1):
        with pytest.raises(UnsupportedCompression):
            decompress(Compression.ZSTD, compress(Compression.ZSTD, b"x"), magic=magic)
        with pytest.raises(UnsupportedCompression):
            compress(Compression.ZSTD, b"x", magic=magic)


BOMB = """
import resource, sys, zstandard
from odradek.records.compression import Compression, compress, decompress, unfolded_bytes_max
from odradek.records.errors import ExpandedTooLarge
codec = Compression(int(sys.argv[1]))
if len(sys.argv) > 2:  # a stream that does not say how large it is
    stream = zstandard.ZstdCompressor().compressobj()
    folded = b"".join([stream.compress(bytes(1 << 20)) for _ in range(400)]) + stream.flush()
else:
    folded = sys.stdin.buffer.read()
decompress(codec, compress(codec, b"warm" * 1000))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the largest resident size so far
def peak_kib():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
before = peak_kib()
try:
    decompress(codec, folded)
except ExpandedTooLarge:
    print(peak_kib() - before)
"""


@pytest.mark.parametrize("codec", [*REAL, "unsized"])
def test_a_bomb_gets_less_than_10_mib(codec: Compression | str) -> None:
    """400 MiB of zeros against the default limit of 100 MiB, in a process of its own to see its memory."""
    arguments = ["4", "unsized"] if codec == "unsized" else [str(int(codec))]
    folded = b"" if codec == "unsized" else compress(Compression(int(codec)), bytes(400 << 20))
    done = subprocess.run([sys.executable, "-c", BOMB, *arguments], input=folded, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) < 10 * 1024


def test_a_thousandfold_bomb_is_one() -> None:
    assert len(compress(Compression.GZIP, bytes(400 << 20))) * 1000 < 400 << 20


def test_a_batch_may_unfold_to_a_thousand_times_its_size_and_small_ones_to_more() -> None:
    mib = 1 << 20
    assert [unfolded_bytes_max(size) for size in (0, 1_000, 50_000, mib)] == [4 * mib, 4 * mib, 50_000_000, 100 * mib]


def test_many_gzip_members_are_read_in_one_pass() -> None:
    """The rest of the stream was copied for each member: a batch of 1 MB took seconds."""
    members = 20_000
    data = gzip.compress(b"", mtime=0) * members + gzip.compress(b"end", mtime=0)
    tracemalloc.start()
    try:
        assert decompress(Compression.GZIP, data, 1000) == b"end"
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < len(data), "no copy of the stream is made"
