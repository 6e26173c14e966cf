"""Request frames that are nearly right: seeds from the registry and Kafka's vectors, and what is done to them.

Everything follows from one number, the seed of a `Random`, so that a run can be had again.
"""

import struct
from collections.abc import Callable, Iterator
from functools import cache
from random import Random

from odradek.protocol.api_keys import ListenerRole, accepted_versions
from odradek.protocol.codec import encode
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.registry import request_class
from odradek.protocol.requests import request_header_version
from support.builders.protocol import vectors

#: Bodies up to this size are seeds: small ones are hit in more places, and a million of them fit in a minute.
SEED_BYTES_MAX = 120

#: Values that lengths, counts and varints go wrong at.
BYTES = (0x00, 0x01, 0x02, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
SHORTS = tuple(struct.pack(">H", value) for value in (0, 1, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF))
INTEGERS = tuple(struct.pack(">I", value) for value in (0, 1, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF))
VARINTS = tuple(
    bytes.fromhex(text) for text in ("8001", "ffff03", "ffffffff07", "ffffffff0f", "ffffffffff01", "808000")
)


@cache
def seeds() -> tuple[bytes, ...]:
    """A frame's content for every API key and version that some listener takes, several where there are vectors."""
    bodies: dict[tuple[str, int], list[bytes]] = {}
    for vector in vectors():
        if len(vector.body) <= SEED_BYTES_MAX:
            bodies.setdefault((vector.name, vector.version), []).append(vector.body)
    found: dict[bytes, None] = {}
    for listener in ListenerRole:
        for key, versions in accepted_versions(listener).items():
            for version in range(versions.first, versions.last + 1):
                header = RequestHeader(request_api_key=key, request_api_version=version, client_id="id")
                head = encode(header, request_header_version(key, version))
                for body in bodies.get((request_class(key).__name__, version), []) or [smallest(key, version)]:
                    found[head + body] = None
    return tuple(found)


def smallest(key: int, version: int) -> bytes:
    return encode(request_class(key)(), version)


def flip(random: Random, data: bytearray) -> None:
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def overwrite_byte(random: Random, data: bytearray) -> None:
    data[random.randrange(len(data))] = random.choice(BYTES)


def overwrite(random: Random, data: bytearray) -> None:
    value = random.choice(random.choice((SHORTS, INTEGERS, VARINTS)))
    position = random.randrange(len(data))
    data[position : position + len(value)] = value


def insert(random: Random, data: bytearray) -> None:
    position = random.randrange(len(data) + 1)
    data[position:position] = random.randbytes(random.randrange(1, 5))


def delete(random: Random, data: bytearray) -> None:
    position = random.randrange(len(data))
    del data[position : position + random.randrange(1, 5)]


def cut(random: Random, data: bytearray) -> None:
    del data[random.randrange(len(data)) :]


def splice(random: Random, data: bytearray) -> None:
    other = random.choice(seeds())
    data[random.randrange(len(data)) :] = other[random.randrange(len(other)) :]


def change_version(random: Random, data: bytearray) -> None:
    """The body of one version read as another."""
    data[3:4] = bytes((random.randrange(20),))


MUTATIONS: tuple[Callable[[Random, bytearray], None], ...] = (
    flip,
    flip,
    overwrite_byte,
    overwrite_byte,
    overwrite,
    overwrite,
    insert,
    delete,
    cut,
    splice,
    change_version,
)


def mutated(random: Random, seed: bytes) -> bytes:
    """One to four changes; the last ones miss when nothing is left."""
    data = bytearray(seed)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        if data:
            random.choice(MUTATIONS)(random, data)
    return bytes(data)


def streams(seed: int, count: int, limit_bytes: int) -> Iterator[bytes]:
    """What a connection carries: a length, and then mostly as much; one in sixteen lengths is made up."""
    random = Random(seed)
    every = seeds()
    lengths = (-(2**31), -1, 0, limit_bytes + 1, 2**31 - 1)
    for _ in range(count):
        body = mutated(random, random.choice(every))
        if random.randrange(16):
            yield len(body).to_bytes(4, "big") + body
        else:
            claimed = random.choice((*lengths, len(body) + random.randrange(-4, 5)))
            yield struct.pack(">i", claimed) + body
