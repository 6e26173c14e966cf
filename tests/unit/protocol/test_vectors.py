"""Bytes and JSON that Apache Kafka 4.3.1 wrote, both ways."""

from collections import defaultdict
from typing import Any

import pytest

from odradek.protocol.codec import decode, encode, encode_parts
from odradek.protocol.json_form import from_json, to_json
from odradek.protocol.registry import message_class
from support.builders.protocol import Vector, vectors
from support.figures import report

BY_MESSAGE: dict[str, list[Vector]] = defaultdict(list)
for vector in vectors():
    BY_MESSAGE[vector.name].append(vector)


#: Names of the fields of type `records`.
RECORDS = ("records", "unalignedRecords")


def with_records(value: Any, source: Any) -> Any:
    """Kafka's JSON has every `records` empty; take what they hold from elsewhere."""
    if isinstance(value, list):
        return [with_records(*pair) for pair in zip(value, source, strict=True)]
    if isinstance(value, dict):
        return {
            key: source[key] if key in RECORDS else with_records(inner, source.get(key)) for key, inner in value.items()
        }
    return value


@pytest.mark.parametrize("name", BY_MESSAGE)
def test_bytes_and_json_agree_with_kafka(name: str) -> None:
    cls = message_class(name)
    for vector in BY_MESSAGE[name]:
        message = decode(cls, vector.version, vector.body)
        assert encode(message, vector.version) == vector.body
        assert b"".join(encode_parts(message, vector.version)) == vector.body
        assert to_json(message, vector.version, records=False) == vector.json

        complete = with_records(vector.json, to_json(message, vector.version))
        again = from_json(cls, vector.version, complete)
        assert again == message
        assert encode(again, vector.version) == vector.body


@pytest.mark.parametrize("name", BY_MESSAGE)
def test_the_kind_of_buffer_makes_no_difference(name: str) -> None:
    cls = message_class(name)
    for vector in BY_MESSAGE[name]:
        message = decode(cls, vector.version, vector.body)
        padded = bytearray(b"###" + vector.body)
        assert decode(cls, vector.version, padded, 3) == message
        assert decode(cls, vector.version, memoryview(padded)[3:]) == message


def test_every_vector_was_there() -> None:
    versions = {(vector.name, vector.version) for vector in vectors()}
    lost = sum(any(f"'{name}': ''" in str(vector.json) for name in RECORDS) for vector in vectors())
    report("wire vectors", lines=len(vectors()), message_versions=len(versions), records_not_in_json=lost)
    assert len(vectors()) == 2172
