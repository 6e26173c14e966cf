"""Mutated frames: a request or a ProtocolError, and nothing else, whole and byte by byte alike.

ODRADEK_FUZZ_FRAMES is how many (1,000,000 unless given), ODRADEK_FUZZ_SEED where they start; a failure names the
command that has it again.
"""

import contextlib
import os
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random

import pytest

from odradek.common.failures import ProtocolError
from odradek.protocol.api_keys import ListenerRole, accepted_versions
from odradek.protocol.codec import decode, encode
from odradek.protocol.framing import FrameReader
from odradek.protocol.message import Message
from odradek.protocol.registry import message_class
from odradek.protocol.requests import ParsedRequest, parse_request
from support.builders.protocol import vectors
from support.figures import report
from support.fuzzing.protocol_fuzz import mutated, seeds, streams

FRAMES = int(os.environ.get("ODRADEK_FUZZ_FRAMES", "1000000"))
SEED = int(os.environ.get("ODRADEK_FUZZ_SEED", "20240229"))
SHARDS = 8
#: Far above any mutated frame, so that a length is refused for being a lie and not for being large.
LIMIT_BYTES = 4096
#: No message of a few hundred bytes may ever hold more than this, and nothing of it may stay.
PEAK_BYTES_MAX = 1024 * 1024
GROWTH_BYTES_MAX = 10 * 1024 * 1024
#: How many of the frames that parse are written and read again.
ROUND_TRIP_ONE_IN = 8

BROKER, CONTROLLER = accepted_versions(ListenerRole.BROKER), accepted_versions(ListenerRole.CONTROLLER)
ONE_BYTE = [bytes((value,)) for value in range(256)]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def split(pieces: Iterable[bytes]) -> tuple[list[bytearray], str]:
    """The frames, and the flaw if there was one."""
    reader, frames = FrameReader(LIMIT_BYTES), []
    try:
        for piece in pieces:
            frames.extend(reader.feed(piece))
    except ProtocolError as error:
        return frames, str(error)
    return frames, ""


def parse(frame: bytes | bytearray | memoryview, outcome: Counter[str]) -> ParsedRequest | str:
    """The frame as a broker or, failing that, a controller takes it."""
    for accepted in (BROKER, CONTROLLER):
        try:
            request = parse_request(frame, accepted)
        except ProtocolError as error:
            refusal = str(error)
        else:
            outcome["requests"] += 1
            return request
    outcome["refused"] += 1
    return refusal


def check(stream: bytes, index: int, outcome: Counter[str]) -> None:
    whole = split([stream])
    assert split(map(ONE_BYTE.__getitem__, stream)) == whole
    frames, flaw = whole
    outcome["bad lengths"] += bool(flaw)
    outcome["frames never whole"] += not flaw and not frames
    for frame in frames:
        parsed = parse(frame, outcome)
        if index % ROUND_TRIP_ONE_IN == 0:
            assert parse(bytes(frame), Counter()) == parse(memoryview(frame), Counter()) or "nan" in repr(parsed)
            if isinstance(parsed, ParsedRequest) and parsed.body is not None:
                survives(type(parsed.body), parsed.header.request_api_version, parsed.body, outcome)


def survives(cls: type[Message], version: int, message: Message, outcome: Counter[str]) -> None:
    """What was read can be written, and stays the same from then on."""
    body = encode(message, version)
    assert encode(decode(cls, version, body), version) == body
    outcome["written and read again"] += 1


@pytest.mark.parametrize("shard", range(SHARDS))
def test_mutated_frames(shard: int) -> None:
    seed, count = SEED + shard, FRAMES // SHARDS
    outcome: Counter[str] = Counter()
    for index, stream in enumerate(streams(seed, count, LIMIT_BYTES)):
        try:
            check(stream, index, outcome)
        except Exception as error:
            again = f"ODRADEK_FUZZ_SEED={SEED} pytest tests/fuzz/test_frames.py -k 'mutated_frames and {shard}'"
            error.add_note(f"frame {index} of seed {seed}: {stream.hex()}\nagain: {again}")
            raise
    report("mutated frames", frames=count, seed=seed, seeds=len(seeds()), **outcome)
    assert outcome["requests"] > count // 10, "mutations that leave nothing to parse test little"
    assert outcome["refused"] > count // 10


@pytest.mark.parametrize("shard", range(2))
def test_mutated_bodies_of_every_message(shard: int) -> None:
    """Responses, records and files too: each vector's bytes, mutated many times."""
    random, count = Random(SEED - 1 - shard), FRAMES // 20
    chosen = [vector for vector in vectors()[shard::2] if 0 < len(vector.body) <= 400]
    outcome: Counter[str] = Counter()
    for index in range(count):
        vector = chosen[index % len(chosen)]
        cls, body = message_class(vector.name), mutated(random, vector.body)
        try:
            message = decode(cls, vector.version, body)
        except ProtocolError:
            outcome["refused"] += 1
            continue
        outcome["messages"] += 1
        if index % ROUND_TRIP_ONE_IN == 0:
            survives(cls, vector.version, message, outcome)
    report("mutated bodies", bodies=count, seed=SEED - 1 - shard, seeds=len(chosen), **outcome)
    assert outcome["messages"] > count // 20


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def lying_bodies(step: int) -> Iterator[tuple[type[Message], int, bytes]]:
    """Every message, in every version that has a vector of a few hundred bytes, with each lie at each place."""
    lies = [bytes.fromhex(text) for text in ("7fffffff", "08000000", "7fff", "ffffffff07", "ffff7f")]
    chosen = {(vector.name, vector.version): vector for vector in vectors() if len(vector.body) <= 400}
    places = [(vector, lie, at) for vector in chosen.values() for lie in lies for at in range(len(vector.body))]
    for vector, lie, at in places[::step]:
        yield message_class(vector.name), vector.version, vector.body[:at] + lie + vector.body[at + len(lie) :]


def decode_all(bodies: Iterable[tuple[type[Message], int, bytes]]) -> int:
    tried = 0
    for cls, version, body in bodies:
        tried += 1
        with contextlib.suppress(ProtocolError):
            decode(cls, version, body)
    return tried


def test_lies_about_sizes_cost_no_memory() -> None:
    """Lengths and counts far beyond the bytes that are there: refused, and nothing was allocated for them."""
    decode_all(lying_bodies(step=5))  # what is built on first use is no growth
    before = resident_bytes()
    tried = decode_all(lying_bodies(step=1))
    growth = resident_bytes() - before

    tracemalloc.start()
    sample = list(lying_bodies(step=97))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    decode_all(sample)
    peak = tracemalloc.get_traced_memory()[1] - held
    tracemalloc.stop()
    report("lies about sizes", bodies=tried, peak_kib=peak // 1024, resident_growth_kib=growth // 1024)
    assert tried > 100_000
    assert peak < PEAK_BYTES_MAX
    assert growth < GROWTH_BYTES_MAX
