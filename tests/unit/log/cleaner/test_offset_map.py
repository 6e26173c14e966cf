"""The offset map agrees with a dictionary, however full it is, and stays within its memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import Fault
from odradek.log.cleaner.offset_map import BYTES_PER_SLOT, LONG_KEY_BYTES, NO_OFFSET, KeyHasher, OffsetMap

HASHER = KeyHasher(b"seed of the tests")


def put(offset_map: OffsetMap, keys: list[bytes], first_offset: int = 0) -> None:
    offset_map.put_many(HASHER.hash_keys(keys), np.arange(first_offset, first_offset + len(keys)))


def get(offset_map: OffsetMap, keys: list[bytes]) -> list[int]:
    found: list[int] = offset_map.get_many(HASHER.hash_keys(keys)).tolist()
    return found


@given(st.lists(st.lists(st.binary(max_size=6), max_size=40), max_size=12))
def test_it_agrees_with_a_dictionary(chunks: list[list[bytes]]) -> None:
    total = sum(map(len, chunks))
    offset_map = OffsetMap(2 * (total + 1) * BYTES_PER_SLOT)
    expected: dict[bytes, int] = {}
    offset = 0
    for chunk in chunks:
        put(offset_map, chunk, offset)
        for key in chunk:
            expected[key] = offset
            offset += 1
    assert offset_map.size == len(expected)
    assert get(offset_map, list(expected)) == list(expected.values())
    assert get(offset_map, [b"not a key of these"]) == [NO_OFFSET]
    assert offset_map.latest_offset == offset - 1


@pytest.mark.parametrize("keys", [90, 95])
def test_a_nearly_full_table_still_finds_every_key(keys: int) -> None:
    offset_map = OffsetMap(100 * BYTES_PER_SLOT, load_factor=1.0)
    names = [b"key %d" % number for number in range(keys)]
    put(offset_map, names, first_offset=7)
    assert get(offset_map, names) == list(range(7, 7 + keys))
    assert offset_map.size == keys
    assert get(offset_map, [b"no key %d" % number for number in range(100)]) == [NO_OFFSET] * 100


def test_a_full_table_refuses_more() -> None:
    offset_map = OffsetMap(4 * BYTES_PER_SLOT, load_factor=0.5)
    put(offset_map, [b"a", b"b"])
    assert offset_map.utilization == 1.0
    with pytest.raises(Fault):
        put(offset_map, [b"c"], first_offset=2)


def test_memory_is_what_was_given_or_less() -> None:
    assert OffsetMap(1_000_000).memory_bytes <= 1_000_000
    assert OffsetMap(128 << 20, most_keys=5).memory_bytes == 11 * BYTES_PER_SLOT


def test_clear_forgets_everything() -> None:
    offset_map = OffsetMap(10 * BYTES_PER_SLOT)
    put(offset_map, [b"a"])
    offset_map.clear()
    assert (offset_map.size, offset_map.latest_offset, get(offset_map, [b"a"])) == (0, NO_OFFSET, [NO_OFFSET])


def test_offset_zero_is_an_offset() -> None:
    offset_map = OffsetMap(10 * BYTES_PER_SLOT)
    put(offset_map, [b"first"])
    assert get(offset_map, [b"first"]) == [0]


SIMILAR = [
    b"",
    b"\0",
    b"\0\0",
    b"\0" * 4,
    b"\0" * LONG_KEY_BYTES,
    b"\0" * (LONG_KEY_BYTES + 1),
    b"a" * LONG_KEY_BYTES,
    b"a" * (LONG_KEY_BYTES + 1),
    b"a" * (LONG_KEY_BYTES + 2),
    b"a" * LONG_KEY_BYTES + b"b",
]


def test_keys_that_differ_only_in_length_or_at_the_end_differ() -> None:
    rows = HASHER.hash_keys(SIMILAR).tolist()
    assert len({tuple(row) for row in rows}) == len(SIMILAR)


def test_a_digest_does_not_depend_on_its_neighbours() -> None:
    together = HASHER.hash_keys(SIMILAR).tolist()
    alone = [HASHER.hash_keys([key]).tolist()[0] for key in SIMILAR]
    assert together == alone


def test_another_seed_gives_other_digests() -> None:
    assert KeyHasher(b"another").hash_keys([b"key"]).tolist() != HASHER.hash_keys([b"key"]).tolist()


def test_a_million_keys_have_a_million_digests() -> None:
    digests = np.concatenate(
        [HASHER.hash_keys([b"%d" % n for n in range(at, at + 10_000)]) for at in range(0, 10**6, 10_000)]
    )
    assert len(np.unique(digests[:, 0])) == 10**6  # even half of the digest tells them apart
