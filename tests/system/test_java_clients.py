"""Apache Kafka's Java producer, consumer and tools against our brokers: one node and three.

One JVM serves all of it, see `support.peers.java_clients`. The consumer reads partitions that it is assigned.
"""

import itertools
import json
import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.loads.data_load import admin_of, bootstrap_of, leaders_of
from support.peers.java_clients import JavaClients, JavaRecord, Said
from support.processes.nodes import OURS, Cluster, NodeSpec
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 3
RECORDS = 200
MANY_PARTITIONS = 200
LARGE_BYTES, LIMIT_BYTES = 5_000_000, 6_000_000
#: Within what a topic accepts, and before anything that a broker stamps.
BASE_MS = 1_700_000_000_000

TOOLS = "org.apache.kafka.tools"

_names = (f"java-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClients]:
    with JavaClients(tmp_path_factory.mktemp("java")) as clients:
        yield clients


@pytest.fixture(scope="module", params=[1, 3], ids=["one node", "three nodes"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Each node in a rack of its own; consumers may read in theirs."""
    count: int = request.param
    settings = {
        "default.replication.factor": str(count),
        "min.insync.replicas": str(min(2, count)),
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    }
    specs = [
        NodeSpec(node_id, OURS, roles="broker,controller", settings={"broker.rack": f"rack-{node_id}"})
        for node_id in range(1, count + 1)
    ]
    with Cluster(tmp_path_factory.mktemp("nodes"), specs, settings=settings) as made:
        made.start()
        admin = admin_of(made)
        wait_until(lambda: len(admin.list_topics(timeout=5).brokers) == count, "all brokers are there")
        yield made
        made.check_alive()


def client(cluster: Cluster, **more: str) -> dict[str, str]:
    return {"bootstrap.servers": bootstrap_of(cluster), **{key.replace("_", "."): value for key, value in more.items()}}


def create(java: JavaClients, cluster: Cluster, partitions: int = PARTITIONS, *config: str) -> str:
    """By Kafka's own tool. The records are of long ago: with the default, retention deletes them at some moment."""
    name = next(_names)
    if not any(entry.startswith("retention.ms=") for entry in config):
        config = (*config, "retention.ms=-1")
    options = [word for entry in config for word in ("--config", entry)]
    said = topics(java, cluster, "--create", "--topic", name, "--partitions", str(partitions), *options)
    assert (said.status, said.output) == (0, f"Created topic {name}.\n")
    admin = admin_of(cluster)
    wait_until(lambda: len(leaders_of(admin, name)) == partitions, f"all partitions of {name} have leaders")
    return name


def topics(java: JavaClients, cluster: Cluster, *arguments: str) -> Said:
    return java.tool(f"{TOOLS}.TopicCommand", "--bootstrap-server", bootstrap_of(cluster), *arguments)


def records(seed: str) -> list[JavaRecord]:
    """Keys, tombstones, headers with and without a value, times that go back and forth."""
    draw = random.Random(seed)
    return [
        JavaRecord(
            b"key %d" % number,
            draw.choice((None, b"", draw.randbytes(300), b"v" * 500)),
            tuple((f"h{index}", draw.choice((None, b"", b"x"))) for index in range(draw.randrange(3))),
            BASE_MS + draw.randrange(10_000),
            number % PARTITIONS,
        )
        for number in range(RECORDS)
    ]


def by_key(found: list[JavaRecord]) -> list[JavaRecord]:
    return sorted(found, key=lambda record: record.key or b"")


# Records


def test_records_in_every_codec_with_idempotence(java: JavaClients, cluster: Cluster) -> None:
    topic, sent, placed = create(java, cluster), list[JavaRecord](), list[dict[str, Any]]()
    for codec in CODECS:
        some = records(codec)
        config = client(cluster, compression_type=codec, enable_idempotence="true", linger_ms="20", acks="all")
        placed += java.produce(topic, some, config)
        sent += some
    by_place = {(place["partition"], place["offset"]): record for place, record in zip(placed, sent, strict=True)}
    assert len(by_place) == len(sent)
    for isolation in ("read_uncommitted", "read_committed"):
        found = java.consume(topic, PARTITIONS, len(sent), client(cluster, isolation_level=isolation)).records
        assert {(fetched.partition, fetched.offset): fetched.record for fetched in found} == by_place


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks(java: JavaClients, cluster: Cluster, acks: str) -> None:
    topic, sent = create(java, cluster), records("acks")
    placed = java.produce(topic, sent, client(cluster, acks=acks, enable_idempotence="false"))
    assert all("error" not in place for place in placed)
    found = java.consume(topic, PARTITIONS, RECORDS, client(cluster)).records
    assert by_key([fetched.record for fetched in found]) == by_key(sent)


def test_timestamps(java: JavaClients, cluster: Cluster) -> None:
    given = [JavaRecord(b"k", b"%d" % number, (), BASE_MS + 1_000 * number, 0) for number in range(100)]
    kept = create(java, cluster, 1)
    assert [place["timestamp"] for place in java.produce(kept, given, client(cluster))] == [
        record.timestamp for record in given
    ]
    assert {fetched.timestamp_type for fetched in java.consume(kept, 1, 100, client(cluster)).records} == {"CreateTime"}
    assert java.offsets(kept, 1, BASE_MS + 41_500, client(cluster)) == {0: (0, 100, 42)}
    assert java.offsets(kept, 1, BASE_MS + 99_001, client(cluster)) == {0: (0, 100, -1)}
    too_late = [replace(given[0], timestamp=int(time.time() * 1000) + 2 * 3_600_000)]
    assert java.produce(kept, too_late, client(cluster)) == [{"error": "InvalidTimestampException"}]

    stamped = create(java, cluster, 1, "message.timestamp.type=LogAppendTime")
    begun_ms = int(time.time() * 1000)
    placed = java.produce(stamped, given, client(cluster))
    found = java.consume(stamped, 1, 100, client(cluster)).records
    assert {fetched.timestamp_type for fetched in found} == {"LogAppendTime"}
    assert [fetched.record.timestamp for fetched in found] == [place["timestamp"] for place in placed]
    assert all(begun_ms <= place["timestamp"] <= int(time.time() * 1000) for place in placed)


def test_large_records_and_those_that_are_too_large(java: JavaClients, cluster: Cluster) -> None:
    topic = create(java, cluster, 1, f"max.message.bytes={LIMIT_BYTES}")
    draw = random.Random(5)
    sent = [JavaRecord(b"%d" % number, draw.randbytes(LARGE_BYTES), (), BASE_MS, 0) for number in range(2)]
    config = client(cluster, max_request_size=str(4 * LIMIT_BYTES))
    assert [place["offset"] for place in java.produce(topic, sent, config)] == [0, 1]
    # A partition gives less than a whole record otherwise, and yet the record comes: no consumer can be stuck.
    found = java.consume(topic, 1, 2, client(cluster, max_partition_fetch_bytes="1000")).records
    assert [fetched.record for fetched in found] == sent
    too_large = [JavaRecord(b"k", bytes(LIMIT_BYTES), (), BASE_MS, 0)]
    assert java.produce(topic, too_large, config) == [{"error": "RecordTooLargeException"}]
    usual = create(java, cluster, 1)
    assert java.produce(usual, sent[:1], config) == [{"error": "RecordTooLargeException"}]


def test_many_partitions(java: JavaClients, cluster: Cluster) -> None:
    topic = create(java, cluster, MANY_PARTITIONS)
    sent = [JavaRecord(b"%05d" % number, b"v", (), BASE_MS, number) for number in range(MANY_PARTITIONS)]
    assert {place["offset"] for place in java.produce(topic, sent, client(cluster))} == {0}
    found = java.consume(topic, MANY_PARTITIONS, MANY_PARTITIONS, client(cluster)).records
    assert by_key([fetched.record for fetched in found]) == sent
    ends = java.offsets(topic, MANY_PARTITIONS, BASE_MS, client(cluster))
    assert ends == dict.fromkeys(range(MANY_PARTITIONS), (0, 1, 0))


def test_a_consumer_reads_from_the_follower_in_its_rack(java: JavaClients, cluster: Cluster) -> None:
    """What its connections received tells whom it read from."""
    topic = create(java, cluster, 1)
    sent = [JavaRecord(b"%d" % number, bytes(10_000), (), BASE_MS, 0) for number in range(100)]
    java.produce(topic, sent, client(cluster))
    leader = leaders_of(admin_of(cluster), topic)[0]
    for node_id in cluster.nodes:
        config = client(cluster, client_rack=f"rack-{node_id}", max_partition_fetch_bytes="100000")
        consumed = java.consume(topic, 1, len(sent), config)
        assert [fetched.record for fetched in consumed.records] == sent
        assert consumed.bytes_of_node[f"node-{node_id}"] > 1_000_000
        others = [count for node, count in consumed.bytes_of_node.items() if node != f"node-{node_id}"]
        assert sum(others) < 100_000, f"node {leader} leads: {consumed.bytes_of_node}"


# Tools


def test_console_tools(java: JavaClients, cluster: Cluster) -> None:
    topic, servers = create(java, cluster, 1), bootstrap_of(cluster)
    given = "".join(f"h:{number}\tkey {number}\tvalue {number}\n" for number in range(10))
    properties = ("parse.key=true", "parse.headers=true")
    options = [word for entry in properties for word in ("--reader-property", entry)]
    said = java.tool(
        *(f"{TOOLS}.ConsoleProducer", "--bootstrap-server", servers, "--topic", topic, *options), given=given
    )
    assert said.status == 0
    printed = ("print.key=true", "print.headers=true", "print.offset=true", "print.partition=true")
    options = [word for entry in printed for word in ("--formatter-property", entry)]
    where = ("--partition", "0", "--offset", "4", "--max-messages", "6")
    said = java.tool(
        *(f"{TOOLS}.consumer.ConsoleConsumer", "--bootstrap-server", servers, "--topic", topic, *where, *options)
    )
    expected = [f"Partition:0\tOffset:{number}\th:{number}\tkey {number}\tvalue {number}" for number in range(4, 10)]
    assert (said.status, said.output.splitlines()) == (0, expected)


def test_offsets_records_deleted_and_performance(java: JavaClients, cluster: Cluster, tmp_path: Path) -> None:
    topic, servers = create(java, cluster, 2), bootstrap_of(cluster)
    load = ("--num-records", "5000", "--record-size", "100", "--throughput", "-1")
    properties = ("--command-property", f"bootstrap.servers={servers}")
    said = java.tool(f"{TOOLS}.ProducerPerformance", "--topic", topic, *load, *properties)
    assert said.output.splitlines()[-1].startswith("5000 records sent, ")

    def offsets(*arguments: str) -> dict[int, int]:
        said = java.tool(f"{TOOLS}.GetOffsetShell", "--bootstrap-server", servers, "--topic", topic, *arguments)
        assert said.status == 0
        return {int(line.split(":")[1]): int(line.split(":")[2]) for line in said.output.splitlines()}

    assert sum(offsets().values()) == 5_000
    assert offsets("--time", "earliest") == {0: 0, 1: 0}
    assert offsets("--time", "max-timestamp").keys() == {0, 1}
    wanted = [{"topic": topic, "partition": 0, "offset": 7}, {"topic": topic, "partition": 1, "offset": -1}]
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"partitions": wanted, "version": 1}))
    deleted = java.tool(
        *(f"{TOOLS}.DeleteRecordsCommand", "--bootstrap-server", servers, "--offset-json-file", str(file))
    )
    assert f"partition: {topic}-0\tlow_watermark: 7" in deleted.output
    ends = offsets()
    assert offsets("--time", "earliest") == {0: 7, 1: ends[1]}
    wanted[0]["offset"] = ends[0] + 1
    file.write_text(json.dumps({"partitions": wanted[:1], "version": 1}))
    refused = java.tool(
        *(f"{TOOLS}.DeleteRecordsCommand", "--bootstrap-server", servers, "--offset-json-file", str(file))
    )
    assert "OffsetOutOfRangeException" in refused.output


def test_topics_by_their_ids(java: JavaClients, cluster: Cluster) -> None:
    """A topic that is made anew under its name is another topic, for the tools and for those that read it."""
    topic = create(java, cluster, 2, "retention.ms=3600000")
    first_id = topic_id(java, cluster, topic)
    described = topics(java, cluster, "--describe", "--topic-id", first_id).output
    assert f"Topic: {topic}\t" in described and "retention.ms=3600000" in described
    assert f"ReplicationFactor: {len(cluster.nodes)}\t" in described
    assert topics(java, cluster, "--alter", "--topic", topic, "--partitions", "4").status == 0
    wait_until(lambda: len(leaders_of(admin_of(cluster), topic)) == 4, "there are four partitions")
    again = topics(java, cluster, "--create", "--topic", topic)
    assert again.status == 1 and f"Topic '{topic}' already exists." in again.output
    java.produce(topic, [JavaRecord(b"k", b"first", (), BASE_MS, 0)], client(cluster))
    assert topics(java, cluster, "--delete", "--topic", topic).status == 0
    wait_until(lambda: topic not in topics(java, cluster, "--list").output.split(), "the topic is gone")
    assert topics(java, cluster, "--create", "--topic", topic, "--partitions", "1").status == 0
    wait_until(lambda: len(leaders_of(admin_of(cluster), topic)) == 1, "it is there again")
    assert topic_id(java, cluster, topic) != first_id
    assert topics(java, cluster, "--describe", "--topic-id", first_id).status == 1
    java.produce(topic, [JavaRecord(b"k", b"second", (), BASE_MS, 0)], client(cluster))
    (found,) = java.consume(topic, 1, 1, client(cluster)).records
    assert (found.offset, found.record.value) == (0, b"second")


def topic_id(java: JavaClients, cluster: Cluster, topic: str) -> str:
    found = re.search(r"TopicId: (\S+)", topics(java, cluster, "--describe", "--topic", topic).output)
    assert found is not None
    return found[1]


def test_tools_that_look_at_brokers(java: JavaClients, cluster: Cluster) -> None:
    topic, servers = create(java, cluster, len(cluster.nodes)), bootstrap_of(cluster)
    at = ("--bootstrap-server", servers)
    said = java.tool(f"{TOOLS}.LogDirsCommand", *at, "--describe", "--topic-list", topic)
    directories = json.loads(said.output.splitlines()[-1])["brokers"]
    assert {broker["broker"] for broker in directories} == set(cluster.nodes)
    logs = [each["partition"] for broker in directories for log in broker["logDirs"] for each in log["partitions"]]
    assert sorted(logs) == sorted(f"{topic}-{number}" for number in range(len(cluster.nodes)) for _ in cluster.nodes)
    elected = java.tool(f"{TOOLS}.LeaderElectionCommand", *at, "--election-type", "preferred", "--all-topic-partitions")
    assert elected.status == 0
    assert cluster.cluster_id in java.tool(f"{TOOLS}.ClusterTool", "cluster-id", *at).output
    at_broker = (*at, "--entity-type", "brokers", "--entity-name", "1", "--describe", "--all")
    assert "replica.selector.class=org.apache.kafka" in java.tool("kafka.admin.ConfigCommand", *at_broker).output


def test_transactions_that_follow_each_other_without_a_pause(java: JavaClients, cluster: Cluster) -> None:
    """Each request of a transaction comes while the markers of the last one are being written, and is retried."""
    partitions = 12
    topic = create(java, cluster, partitions)
    assert java.transactions(topic, partitions, client(cluster), producers=6, rounds=5) == []


def test_share_consumers_learn_at_once_that_nothing_serves_them(java: JavaClients, cluster: Cluster) -> None:
    failure = java.share_poll(create(java, cluster), client(cluster, group_id="share"))
    assert (
        failure is not None and "UnsupportedVersionException: The cluster does not support the share group" in failure
    )
