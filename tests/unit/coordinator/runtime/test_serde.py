from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.common.failures import ProtocolError
from odradek.coordinator.runtime.serde import (
    UnknownRecordType,
    build_batch,
    decode_record,
    encode_key,
    encode_value,
    first_batch,
    module_of,
)
from odradek.coordinator.runtime.shard import CoordinatorRecord
from odradek.protocol.messages.group_metadata_key import GroupMetadataKey
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.transaction_log_key import TransactionLogKey
from odradek.records.batch import Batch, read_batches
from odradek.records.batch_stamps import assign
from support import vectors

GROUPS = "group-coordinator"


def batches(directory: Path) -> Iterator[tuple[str, Batch]]:
    """Of the internal topics in a directory, with their coordinator."""
    for topic in ("__consumer_offsets", "__transaction_state"):
        for path in sorted(directory.glob(f"{topic}-*/*.log")):
            for batch in read_batches(path.read_bytes()):
                yield module_of(topic), batch


@pytest.mark.parametrize("state", [vectors.CLEAN, vectors.UNCLEAN])
def test_batches_that_kafka_wrote_are_written_the_same(tmp_path: Path, state: str) -> None:
    kinds: Counter[str] = Counter()
    for module, batch in batches(vectors.unpack(state, tmp_path)):
        found = list(batch.records())
        records = [decode_record(module, record.key, record.value) for record in found]
        built = bytearray(build_batch(module, records, found[0].timestamp))
        assign(built, 0, batch.base_offset, batch.leader_epoch)
        assert built == bytes(batch.buffer)
        kinds.update(type(record.key).__name__ for record in records)
    assert kinds == {"OffsetCommitKey": 6, "GroupMetadataKey": 6, "TransactionLogKey": 24}


def test_a_key_begins_with_its_type_and_a_value_with_its_version() -> None:
    record = CoordinatorRecord(OffsetCommitKey(group="g", topic="t", partition=5))
    assert encode_key(record) == b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x05"
    assert encode_value(record) is None
    assert decode_record(GROUPS, encode_key(record), None) == record


def test_a_type_of_a_later_version_is_told_from_damage() -> None:
    with pytest.raises(UnknownRecordType) as caught:
        decode_record(GROUPS, b"\x03\xe7rest", b"\x00\x00")
    assert caught.value.record_type == 999


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (None, b"", "no key"),
        (b"\x00", None, "1 bytes"),
        (encode_key(CoordinatorRecord(GroupMetadataKey(group="g"))), b"", "value"),
        (encode_key(CoordinatorRecord(GroupMetadataKey(group="g"))), b"\x00\x63", "versions 0 to 4, not 99"),
        (b"\x00\x02\x00\x09g", None, "."),
    ],
)
def test_what_is_no_record_is_refused(key: bytes | None, value: bytes | None, said: str) -> None:
    with pytest.raises(ProtocolError, match=said) as caught:
        decode_record(GROUPS, key, value)
    assert not isinstance(caught.value, UnknownRecordType)


def test_what_follows_the_last_field_is_ignored() -> None:
    record = CoordinatorRecord(GroupMetadataKey(group="g"))
    assert decode_record(GROUPS, encode_key(record) + b"more", None) == record


def test_as_many_tombstones_as_a_batch_can_hold() -> None:
    long = [CoordinatorRecord(TransactionLogKey(transactional_id=str(number) * 32_000)) for number in range(10)] * 10
    assert 1 < len(first_batch(long)) < 20
    assert first_batch(long[:3]) == tuple(long[:3])
    assert first_batch([]) == ()
