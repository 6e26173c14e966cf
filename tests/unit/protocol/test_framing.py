import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import ProtocolError
from odradek.protocol.framing import UNAUTHENTICATED_FRAME_BYTES_MAX, FrameReader, frame


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def read_all(reader: FrameReader, pieces: list[bytes]) -> tuple[list[bytes], bool]:
    """The frames, and whether the reader gave up."""
    frames: list[bytes] = []
    try:
        for piece in pieces:
            frames += [bytes(whole) for whole in reader.feed(piece)]
    except ProtocolError:
        return frames, True
    return frames, False


@given(bodies=st.lists(st.binary(min_size=1, max_size=50)), cuts=st.lists(st.integers(0, 400)))
def test_frames_do_not_depend_on_how_the_bytes_arrive(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(framed, bodies))
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:stop] for start, stop in pairwise(edges)]
    reader = FrameReader()
    assert read_all(reader, pieces) == (bodies, False)
    assert reader.pending_bytes == 0


@given(stream=st.binary(max_size=60), limit=st.integers(1, 40))
def test_any_bytes_are_split_the_same_whole_and_one_by_one(stream: bytes, limit: int) -> None:
    whole = read_all(FrameReader(limit), [stream])
    one_by_one = read_all(FrameReader(limit), [bytes((byte,)) for byte in stream])
    assert whole == one_by_one


@pytest.mark.parametrize("size", [-(2**31), -1, 0, 101, 2**31 - 1])
@pytest.mark.parametrize("step", [1, 4])
def test_a_length_out_of_bounds_is_refused_at_its_fourth_byte(size: int, step: int) -> None:
    head = struct.pack(">i", size)
    reader = FrameReader(limit_bytes=100)
    with pytest.raises(ProtocolError, match=f"a frame of {size} bytes; at most 100"):
        for start in range(0, 4, step):
            list(reader.feed(head[start : start + step]))
    with pytest.raises(ProtocolError):
        list(reader.feed(framed(b"after a flaw nothing counts")))


def test_frames_before_a_flaw_are_given_first() -> None:
    reader = FrameReader(limit_bytes=100)
    frames = reader.feed(framed(b"good") + b"\xff\xff\xff\xff")
    assert next(frames) == b"good"
    with pytest.raises(ProtocolError):
        next(frames)


def test_the_limit_itself_is_allowed_and_may_grow_after_authentication() -> None:
    reader = FrameReader(limit_bytes=UNAUTHENTICATED_FRAME_BYTES_MAX)
    body = bytes(UNAUTHENTICATED_FRAME_BYTES_MAX)
    assert list(reader.feed(framed(body))) == [body]
    reader.limit_bytes += 1
    assert list(reader.feed(framed(body + b"!"))) == [body + b"!"]


def test_nothing_is_allocated_for_a_promise() -> None:
    reader = FrameReader(limit_bytes=2**31 - 1)
    assert list(reader.feed(struct.pack(">i", 2**31 - 1) + b"abc")) == []
    assert reader.pending_bytes == 3


def test_a_large_frame_is_received_where_it_stays() -> None:
    body = bytes(range(256)) * 4_000
    stream, reader = struct.pack(">i", len(body)) + body, FrameReader()
    position = 40_000
    assert list(reader.feed(stream[:position])) == []
    frames: list[bytearray] = []
    while not frames:
        room = reader.room()
        assert room is not None and reader.is_direct
        assert len(room) <= 3 * reader.pending_bytes, "a few times what has arrived, whatever was promised"
        count = min(len(room), 100_000)
        room[:count] = stream[position : position + count]
        del room
        position += count
        frames = [whole for whole in (reader.received(count),) if whole is not None]
    assert (bytes(frames[0]), position) == (body, len(stream))
    assert reader.is_between_frames and reader.room() is None
    assert list(reader.feed(struct.pack(">i", 1) + b"x")) == [b"x"]


@pytest.mark.parametrize("arrived", [b"", b"\x00", struct.pack(">i", 1_000_000), struct.pack(">i", 1_000_000) + b"x"])
def test_who_has_only_promised_a_large_frame_gets_no_room(arrived: bytes) -> None:
    reader = FrameReader()
    assert list(reader.feed(arrived)) == []
    assert reader.room() is None


def test_a_frame_can_be_written_to() -> None:
    (whole,) = FrameReader().feed(framed(b"abc"))
    memoryview(whole)[0] = ord("A")
    assert whole == b"Abc"


def test_frame_puts_the_length_first() -> None:
    assert b"".join(frame([b"ab", memoryview(b"cde")])) == framed(b"abcde")


def received_directly(reader: FrameReader, content: bytes) -> bytearray:
    """The first 40,000 bytes come through a buffer, the rest where it will stay."""
    stream = len(content).to_bytes(4, "big") + content
    assert list(reader.feed(stream[:40_000])) == []
    room = reader.room()
    assert room is not None and len(room) == len(stream) - 40_000, "all that is promised, at once"
    room[:] = stream[40_000:]
    del room
    whole = reader.received(len(stream) - 40_000)
    assert whole is not None
    return whole


def test_a_trusted_peers_frame_goes_where_the_last_one_was_unless_somebody_holds_that() -> None:
    reader = FrameReader(is_peer_trusted=True)
    first = received_directly(reader, b"a" * 100_000)
    assert first == b"a" * 100_000
    view = memoryview(first)[10:20]
    del first
    second = received_directly(reader, b"b" * 90_000)
    assert second == b"b" * 90_000 and view == b"a" * 10, "a view holds what it is of"
    where = id(second)
    del second
    for content in (b"c" * 80_000, b"d" * 120_000):
        found = received_directly(reader, content)
        assert found == content and id(found) == where
        del found
