"""The structural check, plain and compiled: the same cases, the same answers, the same words."""

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given

from odradek.records import batch_walk as imported
from odradek.records.batch import HEADER_BYTES
from odradek.records.builder import varint
from odradek.records.errors import InvalidRecord
from support.builders.records import SAMPLE, Made, build, made_records, plain

PLAIN = plain("batch_walk")
MODULES = [PLAIN, imported] if imported.COMPILED else [PLAIN]


@pytest.fixture(params=MODULES, ids=["plain", "compiled"][: len(MODULES)])
def module(request: pytest.FixtureRequest) -> ModuleType:
    found: ModuleType = request.param
    return found


def payload_of(records: list[Made] | tuple[Made, ...]) -> bytes:
    return build(records)[HEADER_BYTES:]


def record(
    *,
    timestamp: bytes = b"\x00",
    offset: bytes = b"\x00",
    key: bytes = b"\x02k",
    value: bytes = b"\x02v",
    headers: bytes = b"\x00",
    length: int | None = None,
) -> bytes:
    """One record of any shape; the parts are raw bytes with their lengths."""
    body = b"\x00" + timestamp + offset + key + value + headers
    return varint(len(body) if length is None else length) + body


def refusal(module: ModuleType, payload: bytes, count: int = 1) -> str:
    with pytest.raises(InvalidRecord) as caught:
        module.walk(payload, 0, len(payload), count)
    return caught.value.message


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except InvalidRecord as error:
        return error.message


def test_the_sample(module: ModuleType) -> None:
    payload = payload_of(SAMPLE)
    walked = module.walk(b"xx" + payload + b"y", 2, 2 + len(payload), len(SAMPLE))
    assert walked.max_timestamp_delta == 500
    assert walked.max_timestamp_index == 1
    assert walked.min_timestamp_delta == -1000
    assert walked.keyless_index == 1


def test_the_first_record_with_the_largest_time_is_told(module: ModuleType) -> None:
    payload = payload_of([Made(stamp, b"k", b"") for stamp in (5, 9, 9, 1)])
    assert tuple(module.walk(payload, 0, len(payload), 4)) == (4, 1, -4, -1)
    payload = payload_of([Made(stamp, b"k", b"") for stamp in (5, 4, 3)])
    assert tuple(module.walk(payload, 0, len(payload), 3)) == (0, 0, -2, -1)
    assert tuple(module.walk(b"", 0, 0, 0)) == (0, -1, 0, -1)


def test_times_of_64_bits(module: ModuleType) -> None:
    for delta in (0, -1, 1 << 20, -(1 << 33), (1 << 62) - 1, 1 << 62, (1 << 63) - 1, -(1 << 63)):
        payload = record(timestamp=varint(delta))
        assert module.walk(payload, 0, len(payload), 1).max_timestamp_delta == delta


@pytest.mark.parametrize(
    ("payload", "count", "said"),
    [
        (b"", 1, "record 0: missing: 1 records were announced"),
        (record(), 2, "record 1: missing: 2 records were announced"),
        (record() + b"\x00", 1, "1 bytes after the last of 1 records"),
        (record(), -1, "-1 records in bytes 0 to 9 of 9"),
        (record(length=9), 1, "record 0: its length is 9, but 8 bytes are left"),
        (record(length=-1), 1, "record 0: its length is -1, but 8 bytes are left"),
        (record(length=7), 1, "record 0: its value reaches beyond it"),
        (record() + record(), 2, "record 1: its offset delta is 0"),
        (record(offset=b"\x02"), 1, "record 0: its offset delta is 1"),
        (record(offset=b"\x01"), 1, "record 0: its offset delta is -1"),
        (record(key=b"\x03"), 1, "record 0: its key has a length of -2"),
        (record(key=b"\x7ek"), 1, "record 0: its key reaches beyond it"),
        (record(value=b"\x03"), 1, "record 0: its value has a length of -2"),
        (record(value=b"\x7ev"), 1, "record 0: its value reaches beyond it"),
        (record(headers=b"\x00\x00"), 1, "record 0: 1 bytes after its headers"),
        (record(headers=b"\x01"), 1, "record 0: -1 headers in 0 bytes"),
        (record(headers=b"\x04\x00"), 1, "record 0: 2 headers in 1 bytes"),
        (record(headers=b"\x02\x01\x00"), 1, "record 0: a header has no key"),
        (record(headers=b"\x02\x08h\x00"), 1, "record 0: a header's key reaches beyond it"),
        (record(headers=b"\x02\x02h\x03"), 1, "record 0: a header's value has a length of -2"),
        (record(headers=b"\x02\x02h\x04v"), 1, "record 0: a header's value reaches beyond it"),
        (record(offset=b"\x80\x80\x80\x80\x80\x00"), 1, "record 0: a varint of more than 32 bits"),
        (record(offset=b"\x80\x80\x80\x80\x10"), 1, "record 0: a varint of more than 32 bits"),
        (record(timestamp=b"\x80" * 9 + b"\x02"), 1, "record 0: a varint of more than 64 bits"),
        (record(timestamp=b"\xff" * 12), 1, "record 0: a varint of more than 64 bits"),
        (b"\x02\x80", 1, "record 0: the batch ends within it"),
    ],
)
def test_what_is_wrong_is_named(module: ModuleType, payload: bytes, count: int, said: str) -> None:
    assert said in refusal(module, payload, count)


def test_headers_and_longer_varints_than_needed_are_fine(module: ModuleType) -> None:
    payload = record(headers=b"\x06\x02a\x02b\x02c\x01\x00\x00", offset=b"\x80\x80\x00")
    module.walk(payload, 0, len(payload), 1)


def test_a_range_outside_of_the_data_is_refused(module: ModuleType) -> None:
    for start, end in ((-1, 3), (0, 10), (5, 4)):
        with pytest.raises(InvalidRecord):
            module.walk(b"123456789", start, end, 1)
        with pytest.raises(InvalidRecord):
            module.record_ends(b"123456789", start, end, 1)


@given(records=made_records())
def test_ends_of_records(records: list[Made]) -> None:
    payload = payload_of(records)
    sizes = [len(build(records[: i + 1])) - HEADER_BYTES for i in range(len(records))]
    for module in MODULES:
        assert module.record_ends(payload, 0, len(payload), len(records)) == sizes
        for count in (len(records) - 1, len(records) + 1):
            with pytest.raises(InvalidRecord):
                module.record_ends(payload, 0, len(payload), count)


def test_both_say_the_same_of_mutated_payloads() -> None:
    payload = payload_of(SAMPLE[:12])
    source = random.Random(20_240_601)
    accepted = 0
    for _ in range(20_000):
        mutated = bytearray(payload)
        for _ in range(source.randint(1, 3)):
            mutated[source.randrange(min(len(mutated), 400))] = source.randrange(256)
        if source.random() < 0.2:
            del mutated[source.randrange(len(mutated)) :]
        data = bytes(mutated)
        walks = [outcome(module.walk, data, 0, len(data), 12) for module in MODULES]
        ends = [outcome(module.record_ends, data, 0, len(data), 12) for module in MODULES]
        assert len(set(map(str, walks))) == 1 and len(set(map(str, ends))) == 1
        if not isinstance(walks[0], str):
            accepted += 1
            assert ends[0][-1] == len(data)
    assert 0 < accepted < 20_000
