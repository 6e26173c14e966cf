"""Batches for tests: made up by Hypothesis, and by hand where a test needs a certain one."""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from hypothesis import strategies as st

from odradek.records.batch import Compression
from odradek.records.builder import BatchBuilder
from odradek.records.record import Header

SOURCE = Path(__file__).parents[3] / "src" / "odradek"

CODECS = tuple(Compression)

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
INTS = st.integers(-(1 << 31), (1 << 31) - 1)


@dataclass(frozen=True, slots=True)
class Made:
    """What a record is made of."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def plain(name: str, room: str = "records") -> ModuleType:
    """The Python source of a hot module, whether or not it is compiled too."""
    spec = importlib.util.spec_from_file_location(f"plain_{name}", SOURCE / room / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def contents(largest: int = 300) -> st.SearchStrategy[bytes | None]:
    return st.none() | st.binary(max_size=largest) | st.binary(max_size=8).map(lambda unit: unit * 60)


def made_records(most: int = 12) -> st.SearchStrategy[list[Made]]:
    """Timestamps near one another and far apart; keys, values and headers empty, null, short and long."""
    header = st.tuples(st.text(max_size=8), contents(40))
    timestamps = st.integers(-1, 1 << 45)
    return st.lists(
        st.builds(
            Made,
            timestamp=timestamps,
            key=contents(40),
            value=contents(),
            headers=st.lists(header, max_size=3).map(tuple),
        ),
        min_size=1,
        max_size=most,
    )


def build(records: Sequence[Made], codec: Compression = Compression.NONE, base_offset: int = 0) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, compression=codec)
    for record in records:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    return builder.build()


def headers_of(record: Made) -> tuple[Header, ...]:
    return tuple(Header(name, value) for name, value in record.headers)


#: Everything that a record can have: nulls, empties, long ones, headers, and times out of order.
SAMPLE = (
    Made(1_700_000_000_000, b"key", b"value", (("trace", b"\x00\x01"), ("empty", b""), ("null", None))),
    Made(1_700_000_000_500, None, b"no key"),
    Made(1_699_999_999_000, b"tombstone", None),
    Made(1_700_000_000_001, b"", b""),
    Made(1_700_000_000_002, b"k" * 100, bytes(range(256)) * 300, (("größe", "größe".encode()),)),
    *(Made(1_700_000_000_003 + i, b"user-%d" % (i % 7), b"something that repeats %d" % i) for i in range(150)),
)
