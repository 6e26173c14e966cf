"""Ours read by the parsers of kafka-python and aiokafka, theirs read by us: all five codecs."""

import pytest

from odradek.records.batch import Compression, TimestampType, read_batch, read_batches
from odradek.records.builder import BatchBuilder, end_transaction_marker
from odradek.records.record import Record
from support.builders.records import CODECS, SAMPLE, build, headers_of
from unit.records.client_oracles import BUILDERS, READERS, build_as, read_as, seen

pytestmark = pytest.mark.parametrize("client", list(READERS))


@pytest.mark.parametrize("codec", CODECS)
def test_they_read_ours(client: str, codec: Compression) -> None:
    data = build(SAMPLE, codec) + build(SAMPLE, codec, base_offset=1000)
    ours = [record for batch in read_batches(data) for record in batch.records()]
    assert [seen(record) for record in read_as(client, data)] == [seen(record) for record in ours]
    assert [record.value for record in ours] == [made.value for made in SAMPLE] * 2


@pytest.mark.parametrize("codec", CODECS)
def test_we_read_theirs(client: str, codec: Compression) -> None:
    data = build_as(client, SAMPLE, codec, producer_id=77, producer_epoch=3, base_sequence=5, is_transactional=1)
    batch = read_batch(data)
    batch.check()
    assert (batch.compression, batch.producer_id, batch.producer_epoch) == (codec, 77, 3)
    assert (batch.is_transactional, batch.last_sequence) == (True, 5 + len(SAMPLE) - 1)
    assert list(batch.records()) == [
        Record(i, made.timestamp, TimestampType.CREATE_TIME, made.key, made.value, headers_of(made), 5 + i)
        for i, made in enumerate(SAMPLE)
    ]


def test_uncompressed_we_write_the_same_bytes(client: str) -> None:
    builder = BatchBuilder(producer_id=77, producer_epoch=3, base_sequence=5, leader_epoch=0)
    for made in SAMPLE:
        builder.append(made.timestamp, made.key, made.value, made.headers)
    theirs = bytearray(build_as(client, SAMPLE, 0, producer_id=77, producer_epoch=3, base_sequence=5))
    theirs[12:16] = bytes(4)  # the leader epoch, which is the broker's to write
    assert builder.build() == theirs


def test_append_time_and_markers(client: str) -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, append_time_ms=123_456)
    builder.append(5, b"k", b"v")
    (record,) = read_as(client, builder.build())
    assert (record.timestamp, record.timestamp_type) == (123_456, 1)
    marker = end_transaction_marker(commit=True, timestamp=9, producer_id=4, producer_epoch=0, coordinator_epoch=2)
    batch = READERS[client](marker).next_batch()
    assert batch.is_control_batch and batch.is_transactional and batch.producer_id == 4
    assert client in BUILDERS
