"""`odradek groups` and `odradek transactions` on a node with real consumers, and a transaction that really hangs: ours,
and Apache Kafka's."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.net.config import ClientConfig
from odradek.common.addresses import parse_bootstrap
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.produce_response import ProduceResponse
from odradek.records.builder import BatchBuilder
from support.loads.group_members import Member, members, wait_balanced
from support.processes.cli import Command
from support.processes.nodes import OURS, Cluster, Kind, NodeSpec
from support.waiting import wait_until

pytestmark = pytest.mark.slow

TOPIC = "orders"
RECORDS = 10
NAMES = {"classic": "it's $1; group", "consumer": "grüppe"}
WAIT_S = 60
#: The last version in which topics have names.
PRODUCE_VERSION = 11

#: Without verification a broker takes records of transactions that no coordinator knows of, as old ones did.
SETTINGS = {"transaction.partition.verification.enable": "false", "group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module", params=[OURS, pytest.param(Kind.KAFKA, marks=pytest.mark.peer)])
def bootstrap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("groups")
    with Cluster(root, [NodeSpec(1, request.param, "broker,controller", settings=SETTINGS)]) as cluster:
        cluster.start()
        address = cluster[1].broker_address
        producer = Producer({"bootstrap.servers": address, "log_level": 0})
        wait_until(lambda: 1 in producer.list_topics(timeout=5).brokers, "it answers", explain=cluster[1].log_tail)
        yield address


@pytest.fixture
def odradek(bootstrap: str, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, bootstrap)


def write(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for index in range(2 * RECORDS):
        producer.produce(TOPIC, b"record", partition=index % 2)
    assert producer.flush(WAIT_S) == 0


def test_groups_with_members_and_without(odradek: Command) -> None:
    assert odradek.do("groups", "describe") == "There are no groups.\n"
    odradek.do("topics", "create", TOPIC, "--partitions", "2")
    write(odradek.bootstrap)
    made = [
        Member(odradek.bootstrap, name, TOPIC, **{"group.protocol": protocol, "client.id": f"{protocol} client"})
        for protocol, name in NAMES.items()
    ]
    with members(made) as those:
        for member in those:
            wait_balanced([member], 2)
            member.commit({0: 4})
        for protocol, name in NAMES.items():
            check_members(odradek, protocol, name)
    check_without_members(odradek)


def check_members(odradek: Command, protocol: str, name: str) -> None:
    wait_until(lambda: state_of(odradek, name) == (protocol, "Stable"), f"{name} is stable")
    (group,) = odradek.json("groups", "describe", name)
    lags = [(row["partition"], row["committed"], row["end"], row["lag"]) for row in group["partitions"]]
    assert lags == [(0, 4, RECORDS, RECORDS - 4), (1, None, RECORDS, None)]
    (described,) = odradek.json("groups", "describe", name, "--members")
    (member,) = described["members"]
    assert {row["member"] for row in group["partitions"]} == {member["member"]}
    assert member["client"] == f"{protocol} client" and len(member["partitions"]) == 2
    shown = odradek.do("groups", "describe", name)
    assert shown.count(name) == 2 and shown.count(member["member"]) == 2

    for refused, reason in (
        (("groups", "reset-offsets", name, "--to", "earliest", "--yes"), f"group {name}: has members; stop them"),
        (("groups", "delete", name, "--yes"), f"group {name}: has members; stop them first"),
        (("groups", "delete-offsets", name, f"{TOPIC}:0", "--yes"), "members of the group consume this topic"),
    ):
        said = odradek.say(*refused)
        assert said.status == 1 and not said.out and reason in said.err and said.err.count("\n") == 1


def state_of(odradek: Command, name: str) -> tuple[str, str]:
    (found,) = [each for each in odradek.json("groups", "list") if each["group"] == name]
    return found["type"], found["state"]


def check_without_members(odradek: Command) -> None:
    name = NAMES["classic"]
    wait_until(lambda: state_of(odradek, name)[1] == "Empty", "the member has left")
    changed = odradek.json("groups", "reset-offsets", name, "--topic", TOPIC, "--to", "latest", "--yes")
    assert changed == [
        {"topic": TOPIC, "partition": 0, "from": 4, "to": RECORDS},
        {"topic": TOPIC, "partition": 1, "from": None, "to": RECORDS},
    ]
    odradek.do("groups", "reset-offsets", name, "--shift-by", "-3", "--yes")
    assert [row["lag"] for row in odradek.json("groups", "describe", name)[0]["partitions"]] == [3, 3]
    odradek.do("groups", "delete-offsets", name, f"{TOPIC}:1", "--yes")
    said = odradek.say("groups", "reset-offsets", name, "--topic", TOPIC, "--shift-by", "1", "--yes")
    assert said.status == 1 and f"nothing is committed for {TOPIC}-1" in said.err
    said = odradek.say("groups", "delete-offsets", name, f"{TOPIC}:99999999999", "--yes")
    assert said.status == 1 and "it must be an integer" in said.err
    assert odradek.do("groups", "delete", name, "--yes") == f"Deleted {name}.\n"
    said = odradek.say("groups", "describe", name)
    assert (said.status, said.out) == (1, "") and "odradek groups list shows all groups" in said.err


def test_a_transaction_that_is_open_and_one_that_hangs(odradek: Command) -> None:
    odradek.do("topics", "create", "payments", "--partitions", "1")
    producer = Producer({"bootstrap.servers": odradek.bootstrap, "transactional.id": "payer 1", "log_level": 0})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce("payments", b"open", partition=0)
    assert producer.flush(WAIT_S) == 0
    (listed,) = odradek.json("transactions", "list", "--state", "ongoing")
    (described,) = odradek.json("transactions", "describe", "payer 1")
    assert listed["transactional_id"] == described["transactional_id"] == "payer 1"
    assert described["partitions"] == [{"topic": "payments", "partition": 0}]
    assert odradek.do("transactions", "find-hanging", "--max-timeout", "0") == "There are no hanging transactions.\n"
    said = odradek.say("transactions", "find-hanging", "payments", "nowhere")
    assert (said.status, said.out) == (1, "There are no hanging transactions in the partitions that responded.\n")
    assert "partition nowhere-0: does not exist" in said.err
    producer.commit_transaction(WAIT_S)
    wait_until(lambda: committed_end(odradek.bootstrap) == 2, "the marker is written")

    hang(odradek.bootstrap, producer_id=listed["producer_id"] + 1_000)
    (found,) = odradek.json("transactions", "find-hanging", "--max-timeout", "0", "--broker", "1")
    assert (found["topic"], found["partition"], found["started_offset"]) == ("payments", 0, 2)
    assert (
        odradek.do("transactions", "find-hanging") == "There are no hanging transactions.\n"
    )  # it could be somebody's yet
    said = odradek.say("transactions", "abort", "payments:0", "--start-offset", "1", "--yes")
    assert said.status == 1 and "its open transactions start at 2" in said.err
    assert committed_end(odradek.bootstrap) == 2
    odradek.do("transactions", "abort", "payments:0", "--start-offset", "2", "--yes")
    assert odradek.do("transactions", "find-hanging", "--max-timeout", "0") == "There are no hanging transactions.\n"
    assert committed_end(odradek.bootstrap) == 4


def committed_end(bootstrap: str) -> int:
    """Up to where those read who read what is committed."""
    settings = {"group.id": "reader", "isolation.level": "read_committed", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition("payments", 0), WAIT_S)
        return int(end)
    finally:
        consumer.close()


def hang(bootstrap: str, producer_id: int) -> None:
    """A record in a transaction that nobody will end."""
    batch = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
    batch.append(int(time.time() * 1000), b"key", b"hangs")
    data = TopicProduceData(name="payments", partition_data=[PartitionProduceData(records=batch.build())])
    request = ProduceRequest(transactional_id="nobody", acks=-1, timeout_ms=WAIT_S * 1000, topic_data=[data])

    async def send() -> ProduceResponse:
        addresses = parse_bootstrap(bootstrap, "bootstrap")
        async with ClusterRouter(addresses, ClientConfig()) as cluster:
            response: ProduceResponse = await cluster.send_to(addresses[0], request, last_version=PRODUCE_VERSION)
            return response

    response = asyncio.run(send())
    assert response.responses[0].partition_responses[0].error_code == 0
