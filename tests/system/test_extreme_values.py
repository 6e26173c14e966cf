"""Values that no client sends, to a node of ours and to Apache Kafka's: the same error codes, and both go on."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Producer

from odradek.protocol.message import Message
from odradek.protocol.messages import fetch_request as fetch
from odradek.protocol.messages import produce_request as produce
from odradek.protocol.messages import write_txn_markers_request as markers
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from odradek.records.builder import BatchBuilder
from support.fuzzing.typed_sender import exchange
from support.loads.data_load import bootstrap_of, create_topic
from support.processes.nodes import Cluster, Kind, one_of_each_kind
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

TOPIC, RECORDS = "values", 10
LONGEST = "y" * 32_767
OFFSETS = "__consumer_offsets"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Kind, Cluster]]:
    with one_of_each_kind(tmp_path_factory.mktemp("values")) as made:
        for cluster in made.values():
            create_topic(cluster, TOPIC, 2, 1)
            producer = Producer({"bootstrap.servers": bootstrap_of(cluster), "batch.num.messages": RECORDS})
            for _ in range(RECORDS):
                producer.produce(TOPIC, b"value", partition=0)
            assert producer.flush(60) == 0
            wait_until(partial(has_coordinator, cluster), "the offsets' topic is there")
        yield made


def has_coordinator(cluster: Cluster) -> bool:
    answer = exchange(cluster[1].broker_port, FindCoordinatorRequest(coordinator_keys=["group"]), 4)
    return bool(answer.coordinators[0].error_code == 0)


def fetched(max_bytes: int, partition_max_bytes: int, offset: int = 0) -> FetchRequest:
    partition = fetch.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
    return FetchRequest(
        max_bytes=max_bytes, max_wait_ms=10, topics=[fetch.FetchTopic(topic=TOPIC, partitions=[partition])]
    )


def marked(*topics: str, **values: Any) -> WriteTxnMarkersRequest:
    marker = {"producer_id": 5, "producer_epoch": 0, "coordinator_epoch": 0, "transaction_version": 2, **values}
    named = [markers.WritableTxnMarkerTopic(name=name, partition_indexes=[0]) for name in topics or (TOPIC,)]
    return WriteTxnMarkersRequest(markers=[markers.WritableTxnMarker(topics=named, **marker)])


def produced(acks: int, *, transactional: bool = False, records: bytes | None = None) -> ProduceRequest:
    builder = BatchBuilder(
        is_transactional=transactional, producer_id=7 if transactional else -1, producer_epoch=0, base_sequence=0
    )
    builder.append(1, None, b"value")
    data = produce.PartitionProduceData(index=1, records=builder.build() if records is None else records)
    return ProduceRequest(
        acks=acks, timeout_ms=1_000, topic_data=[produce.TopicProduceData(name=TOPIC, partition_data=[data])]
    )


CASES: dict[str, tuple[Message, int]] = {
    "partition_max_bytes=-1": (fetched(1_000, -1), 4),
    "max_bytes=-1": (fetched(-1, 1_000), 4),
    "max_bytes and partition_max_bytes least": (fetched(-(2**31), -(2**31)), 4),
    "max_bytes=-1 at the end of the log": (fetched(-1, 1_000, RECORDS), 4),
    "partition_max_bytes=-1 at the end of the log": (fetched(1_000, -1, RECORDS), 4),
    "max_bytes=0": (fetched(0, 0), 4),
    "transaction_version=-1": (marked(transaction_version=-1), 2),
    "transaction_version=-1, one topic unknown": (marked("none", TOPIC, transaction_version=-1), 2),
    "transaction_version=-1, offsets": (marked(OFFSETS, transaction_version=-1), 2),
    "transaction_version=-128": (marked(transaction_version=-128, producer_id=6), 2),
    "transaction_version=127": (marked(transaction_version=127, producer_id=8), 2),
    "producer_id=-1": (marked(producer_id=-1), 2),
    "producer_id=-1, topic unknown": (marked("none", producer_id=-1), 2),
    "producer_id=-1, one topic unknown": (marked("none", TOPIC, producer_id=-1), 2),
    "producer_id=-1, offsets": (marked(OFFSETS, producer_id=-1), 2),
    "producer_id=-2": (marked(producer_id=-2), 2),
    "producer_epoch=-1": (marked(producer_epoch=-1), 2),
    "producer_epoch=-2": (marked(producer_epoch=-2, producer_id=9), 2),
    "coordinator_epoch=-2": (marked(coordinator_epoch=-2, producer_id=10), 2),
    "transactional records without a transactional id": (produced(1, transactional=True), 10),
    "the same with acks=0": (produced(0, transactional=True), 10),
    "acks=5": (produced(5), 10),
    "records of zero bytes": (produced(1, records=b""), 10),
    "a topic whose name cannot be quoted": (
        ElectLeadersRequest(timeout_ms=1_000, topic_partitions=[TopicPartitions(topic=LONGEST, partitions=[0])]),
        2,
    ),
    "a user whose name cannot be quoted": (DescribeUserScramCredentialsRequest(users=[UserName(name=LONGEST)]), 0),
    "a cluster id that cannot be quoted": (AddRaftVoterRequest(cluster_id=LONGEST, voter_id=9), 0),
}


@pytest.mark.parametrize("case", CASES)
def test_both_kinds_answer_the_same(clusters: dict[Kind, Cluster], case: str) -> None:
    request, version = CASES[case]
    answers = {}
    for kind, cluster in clusters.items():
        answers[kind] = codes(exchange(cluster[1].broker_port, request, version))
        cluster.check_alive()
    assert answers[Kind.ODRADEK] == answers[Kind.KAFKA]


def codes(answer: Any) -> Any:
    """The error codes of an answer, at any depth, in ascending order; Kafka's order of topics is that of a hash."""
    if answer is None:
        return "closed"
    found: list[int] = []
    waiting = [answer]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, Message):
            for name in one.__slots__:
                value = getattr(one, name)
                if name == "error_code":
                    found.append(value)
                elif isinstance(value, list | Message):
                    waiting.append(value)
    return sorted(found)


def test_the_longest_wait_is_granted_and_disturbs_nobody(clusters: dict[Kind, Cluster]) -> None:
    """Nothing comes for it, however long it waits: a client that goes away is all that ends it."""
    longest = 2**31 - 1
    request = fetched(1_000, 1_000, RECORDS)
    request.max_wait_ms, request.min_bytes = longest, longest
    for cluster in clusters.values():
        port = cluster[1].broker_port
        with pytest.raises(TimeoutError):
            exchange(port, request, 4, timeout_s=1)
        assert set(codes(exchange(port, CASES["max_bytes=0"][0], 4))) == {0}
        cluster.check_alive()
