"""The mapping of Fetch messages to entries and back, without a broker."""

from typing import cast

import pytest

from odradek.api.shared.fetch_mapping import (
    fetch_entries,
    fetch_params,
    fetch_response,
    forgotten_partitions,
    replica_of,
)
from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.common.ports import File
from odradek.log.offsets import FileRange, OffsetMetadata
from odradek.log.values import LogRead
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from odradek.replica.fetch_sessions import SelectedPartition
from odradek.replica.requests import FetchEntry, FetchResult, Isolation

TOPIC_ID = bytes(range(16))
TOPIC_NAMES = {TOPIC_ID: "orders"}


def entry(partition_index: int = 0, topic: str = "orders") -> FetchEntry:
    return FetchEntry(TopicPartition(topic, partition_index), TOPIC_ID, 5, 1000)


def with_records(size_bytes: int) -> FetchResult:
    records = FileRange(cast(File, None), 0, size_bytes)
    return FetchResult(0, 4, 4, 0, LogRead(OffsetMetadata(0), records))


def test_entries_take_the_name_from_the_topic_id_since_v13() -> None:
    request = FetchRequest(
        topics=[
            FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(partition=3, fetch_offset=7)]),
            FetchTopic(topic_id=bytes(16), partitions=[FetchPartition(partition=0)]),
        ]
    )
    known, unknown = fetch_entries(request, 13, TOPIC_NAMES.get)
    assert (known.topic_partition, known.topic_id, known.fetch_offset) == (TopicPartition("orders", 3), TOPIC_ID, 7)
    assert unknown.topic_partition == TopicPartition("", 0)


def test_entries_have_the_name_of_the_request_below_v13() -> None:
    request = FetchRequest(topics=[FetchTopic(topic="orders", partitions=[FetchPartition(partition=1)])])
    [only] = fetch_entries(request, 12, lambda topic_id: None)
    assert (only.topic_partition, only.topic_id) == (TopicPartition("orders", 1), ZERO_UUID)


def test_forgotten_partitions_are_keyed_as_the_version_names_topics() -> None:
    request = FetchRequest(forgotten_topics_data=[ForgottenTopic(topic="orders", topic_id=TOPIC_ID, partitions=[1, 2])])
    assert list(forgotten_partitions(request, 12)) == [("orders", 1), ("orders", 2)]
    assert list(forgotten_partitions(request, 13)) == [(TOPIC_ID, 1), (TOPIC_ID, 2)]


def test_a_follower_reads_to_the_log_end_and_names_its_epoch() -> None:
    request = FetchRequest(replica_state=ReplicaState(replica_id=2, replica_epoch=9))
    assert replica_of(request, 15) == (2, 9)
    params = fetch_params(request, 17, 1000)
    assert (params.isolation, params.replica_id, params.replica_epoch) == (Isolation.LOG_END, 2, 9)
    assert not params.may_read_follower


def test_a_consumer_may_read_from_a_follower_and_gets_no_more_than_the_limit() -> None:
    params = fetch_params(FetchRequest(replica_id=-1, max_bytes=5000, min_bytes=3000, isolation_level=1), 11, 1000)
    assert (params.max_bytes, params.min_bytes, params.isolation) == (1000, 1000, Isolation.TXN_COMMITTED)
    assert params.may_read_follower


def test_an_unknown_isolation_level_is_an_error() -> None:
    with pytest.raises(ApiError) as raised:
        fetch_params(FetchRequest(isolation_level=2), 11, 1000)
    assert raised.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_partitions_of_a_topic_are_together_in_the_response() -> None:
    results = [SelectedPartition(entry(0), with_records(3)), SelectedPartition(entry(1), FetchResult(0))]
    response = fetch_response(8, results, lambda result: b"abc")
    [topic] = response.responses
    assert response.session_id == 8
    assert [(data.partition_index, data.records) for data in topic.partitions] == [(0, b"abc"), (1, b"")]


def test_a_read_that_fails_becomes_the_error_of_its_partition() -> None:
    def fail(result: FetchResult) -> bytes:
        raise ApiError("the disk failed", ErrorCode.KAFKA_STORAGE_ERROR)

    results = [SelectedPartition(entry(), with_records(3))]
    [data] = fetch_response(0, results, fail).responses[0].partitions
    assert (data.error_code, data.high_watermark, data.last_stable_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)
