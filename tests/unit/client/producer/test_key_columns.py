"""A column of keys goes where its keys go one by one."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.producer.key_columns import NO_KEY, partitions_for_keys
from odradek.client.producer.murmur2 import partition_for_key

KEYS = st.none() | st.binary(max_size=20) | st.binary(min_size=250, max_size=300)
KINDS = (pa.binary(), pa.large_binary())


@given(keys=st.lists(KEYS, max_size=20), kind=st.sampled_from(KINDS), count=st.integers(1, 100_000))
def test_as_one_by_one(keys: list[bytes | None], kind: pa.DataType, count: int) -> None:
    expected = [NO_KEY if key is None else partition_for_key(key, count) for key in keys]
    assert partitions_for_keys(pa.array(keys, kind), count).tolist() == expected
    within = pa.array([b"another", None, *keys, b"one more"], kind).slice(2, len(keys))
    assert partitions_for_keys(within, count).tolist() == expected


def test_strings_and_nothing() -> None:
    words = ["", "a", "größe", "ein längeres Wort"]
    expected = [partition_for_key(word.encode(), 7) for word in words]
    for kind in (pa.string(), pa.large_string()):
        assert partitions_for_keys(pa.array(words, kind), 7).tolist() == expected
        assert partitions_for_keys(pa.array([None], kind), 7).tolist() == [NO_KEY]
