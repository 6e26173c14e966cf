"""The frame around a metadata record, and what is refused."""

import pytest

from odradek.common.failures import ProtocolError
from odradek.metadata.records.record_serde import MetadataRecord, decode_record, encode_record
from odradek.protocol import json_form
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.protocol.registry import message_class, message_names
from support import vectors

#: UnregisterControllerRecord has a schema, but no code of Kafka 4.3.1 writes it.
METADATA_RECORDS = [name for name in message_names("metadata", "metadata") if name != "UnregisterControllerRecord"]


def test_every_record_of_the_vectors_comes_back_in_its_frame() -> None:
    seen = set()
    for line in vectors.wire_messages():
        name, version = line["message"], line["version"]
        if name not in METADATA_RECORDS:
            continue
        message = json_form.from_json(message_class(name), version, line["json"])
        data = encode_record(MetadataRecord(message, version))
        assert data == bytes((1, message.API_KEY, version)) + bytes.fromhex(line["hex"])
        assert decode_record(data) == (message, version)
        seen.add(name)
    assert seen == set(METADATA_RECORDS)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "end"),
        (b"\x00\x0c\x00", "frame version 0"),
        (b"\x02\x0c\x00", "frame version 2"),
        (b"\x01\x06\x00", "the key 6"),
        (b"\x01\x0c\x07", "versions 0 to 0, not 7"),
        (b"\x01\x0c", "end"),
    ],
)
def test_what_is_no_record(data: bytes, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        decode_record(data)


def test_bytes_left_over() -> None:
    data = encode_record(MetadataRecord(FeatureLevelRecord(name="a", feature_level=1), 0))
    for _ in range(2):  # the first of its kind, and one after it
        with pytest.raises(ProtocolError, match="left over"):
            decode_record(data + b"\0")
    with pytest.raises(ProtocolError):
        decode_record(data[:-1])
