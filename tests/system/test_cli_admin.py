"""Commands that administer a cluster: the same words on a node of ours as on Apache Kafka's, for the same state.

The same commands run on both, and what they say must be the same but for ids and ports. Of errors only the code is
compared: the reason is the node's own.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka import KafkaException, Producer

from odradek.metadata.features.feature_versions import UNSERVED_FEATURES
from support.peers import kafka_tools
from support.processes.cli import Command, Said
from support.processes.nodes import Cluster, Kind, NodeSpec
from support.waiting import wait_until

WAIT_S = 120

#: How long two nodes may take to hear of the same change.
SAME_S = 60
FIRST_MS = 1_700_000_000_000

#: Topic ids, cluster ids.
_ID = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])", re.ASCII)
#: Kafka finalizes these features when it formats; Odradek does not, since nothing serves them.
_UNSERVED_LEVEL = re.compile(rf"^((?:{'|'.join(map(re.escape, UNSERVED_FEATURES))}) +)\d", re.MULTILINE)
_REASON = re.compile(r"([A-Z][A-Z_]+): .*")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Kind], str]]:
    """One of each kind, started when it is first asked for; by its address."""
    with ExitStack() as stack:
        started: dict[Kind, str] = {}

        def node(kind: Kind) -> str:
            if kind not in started:
                root = tmp_path_factory.mktemp(kind.value)
                cluster = stack.enter_context(Cluster(root, [NodeSpec(1, kind, "broker,controller")]))
                cluster.start()
                started[kind] = cluster[1].broker_address
                wait_until(lambda: accepts(started[kind]), "it answers", WAIT_S, cluster[1].log_tail)
            return started[kind]

        yield node


def accepts(bootstrap: str) -> bool:
    try:
        return 1 in Producer({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=5).brokers
    except KafkaException:
        return False


def on(nodes: Callable[[Kind], str], kind: Kind, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, nodes(kind))


def write(bootstrap: str, topic: str, partition: int, count: int) -> None:
    """A record a batch, a millisecond apart, so that both kinds have the same to say about them."""
    producer = Producer({"bootstrap.servers": bootstrap, "batch.num.messages": 1})
    for index in range(count):
        producer.produce(topic, f"{index}", partition=partition, timestamp=FIRST_MS + index)
    assert producer.flush(WAIT_S) == 0


def comparable(said: Said, bootstrap: str) -> Said:
    err = _REASON.sub(r"\1", said.err)
    out, err = (_ID.sub("<id>", text.replace(bootstrap, "<node>")) for text in (said.out, err))
    return Said(said.status, _UNSERVED_LEVEL.sub(r"\1<level>", out), err)


COMMANDS = """
topics create orders --partitions 3 --config retention.ms=-1 --config segment.bytes=2000000
topics create orders
topics create orders payments --if-not-exists --format json
topics create placed --replica-assignment 1,1
topics create wide --partitions 2 --replication-factor 3
topics create bad!name
topics create odd --config retention.ms=soon
topics create odd --config no.such.thing=1
topics create maybe --dry-run
topics list
topics list --format json
topics describe orders
topics describe --format json
topics describe nowhere orders
topics describe --under-replicated
topics describe --unavailable
topics describe --at-min-isr
topics describe --under-min-isr --format json
topics alter orders --partitions 4
topics alter orders --partitions 4
topics alter orders --partitions 1
topics alter nowhere --partitions 9
topics alter placed --partitions 9 --dry-run
<write>
topics offsets orders
topics offsets orders --format json
topics offsets orders:0 orders:1 orders:2 --at latest
topics offsets orders:0 --at earliest --utc
topics offsets orders:0 --at max-timestamp --utc
topics offsets orders:0 orders:2 --at 1700000000005 --utc
topics offsets orders:0 --at 2023-11-14T22:13:20.003+00:00 --format json
topics offsets orders:0 --at 2040-01-01
topics offsets orders:77 nowhere
topics delete-records orders:0 --before 4 --yes
topics delete-records orders:0 --before 1000 --yes
topics delete-records orders:1 --before end --yes --format json
topics delete-records nowhere --before 3 --yes
topics delete-records orders --before 3
topics offsets
configs describe --topic orders
configs describe --topic orders --all
configs describe --topic orders --topic nowhere --broker 7
configs alter --topic orders --set retention.ms=5000000000000 --delete segment.bytes --append cleanup.policy=compact
configs describe --topic orders --format json
configs alter --topic orders --subtract cleanup.policy=compact --dry-run
configs alter --topic orders --set retention.ms=soon
configs alter --topic orders --set no.such.thing=1
configs alter --topic nowhere --set retention.ms=1
configs alter --broker 1 --set log.cleaner.threads=2
configs alter --broker 1 --set node.id=3
configs alter --broker 1 --set log.cleaner.threads=9
configs alter --broker-defaults --set listeners=PLAINTEXT://:1
configs alter --broker-logger 1 --set root=WARN
configs alter --broker-logger 1 --set root=LOUD
configs alter --broker-logger 1 --delete root
configs alter --broker-logger 7 --set root=WARN
configs alter --broker-defaults --set num.io.threads=9
configs describe --broker 1 --broker-defaults
configs describe
configs alter --broker 1 --delete log.cleaner.threads
configs alter --broker-defaults --delete num.io.threads
cluster describe
cluster features
cluster unregister 9 --yes
cluster unregister 9
elect-leaders
elect-leaders orders:0 payments
elect-leaders orders:77 nowhere
elect-leaders --unclean orders:0 --yes
elect-leaders --unclean orders:0
reassign plan
reassign plan orders nowhere --brokers 1
reassign plan orders --brokers 4
reassign status
reassign cancel orders
reassign cancel --all
topics delete orders payments nowhere --yes
topics delete placed
topics delete placed --yes --format json
topics delete placed --yes --if-exists
"""


#: These change nothing, and may be asked again: a broker hears of a change a moment after it was made.
READING = re.compile(r"\w+ (list|describe|offsets|features|status|plan)\b")


@pytest.mark.slow
@pytest.mark.peer
def test_the_same_words_for_the_same_state(nodes: Callable[[Kind], str], capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = on(nodes, Kind.ODRADEK, capsys), on(nodes, Kind.KAFKA, capsys)
    statuses: list[int] = []

    def differ(line: str) -> str:
        here, there = (comparable(each.say(*line.split()), each.bootstrap) for each in (ours, theirs))
        statuses.append(here.status)
        assert "Traceback" not in here.err
        return "" if here == there else f"$ odradek {line}\nours: {here}\nKafka's: {there}"

    for line in filter(None, COMMANDS.split("\n")):
        if line == "<write>":
            for partition in (0, 1):
                write(ours.bootstrap, "orders", partition, 10)
                write(theirs.bootstrap, "orders", partition, 10)
        elif READING.match(line):
            wait_until(lambda line=line: not differ(line), line, SAME_S, lambda line=line: differ(line))
        else:
            assert not (difference := differ(line)), difference
    assert statuses.count(0) > 40 and statuses.count(1) > 20 and set(statuses) == {0, 1}


@pytest.fixture
def ours(nodes: Callable[[Kind], str], capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """A node of ours with a topic; gone afterwards."""
    command = on(nodes, Kind.ODRADEK, capsys)
    command.do("topics", "create", "told", "--partitions", "2", "--config", "retention.ms=-1")
    write(command.bootstrap, "told", 1, 5)
    yield command
    command.do("topics", "delete", "told", "--yes")


def kafka_tool(name: str, bootstrap: str, *arguments: str) -> list[str]:
    said = kafka_tools.run(f"org.apache.kafka.tools.{name}", "--bootstrap-server", bootstrap, *arguments)
    return [line for line in said.splitlines() if line.strip()]


@pytest.mark.slow
@pytest.mark.peer
def test_kafkas_topic_tool_shows_what_we_show(ours: Command) -> None:
    heading, *lines = kafka_tool("TopicCommand", ours.bootstrap, "--describe", "--topic", "told")
    (topic,) = ours.json("topics", "describe", "told")
    shown = fields(heading)
    assert shown["TopicId"] == topic["topic_id"]
    assert int(shown["PartitionCount"]) == len(topic["partitions"])
    assert int(shown["ReplicationFactor"]) == topic["replication_factor"]
    assert dict(each.split("=", 1) for each in shown["Configs"].split(",")) == topic["configs"]
    partitions = [
        {
            "partition": int(each["Partition"]),
            "leader": int(each["Leader"]),
            "replicas": ids(each["Replicas"]),
            "isr": ids(each["Isr"]),
            "elr": ids(each["Elr"]),
            "last_known_elr": ids(each["LastKnownElr"]),
        }
        for each in map(fields, lines)
    ]
    assert partitions == [{key: each[key] for key in partitions[0]} for each in topic["partitions"]]
    listed = kafka_tool("TopicCommand", ours.bootstrap, "--list")
    assert listed == [each["name"] for each in ours.json("topics", "list")]


def fields(line: str) -> dict[str, str]:
    """`Topic: told  Leader: 1` as a mapping; tabs stand between."""
    return {key.strip(): value.strip() for key, _, value in (each.partition(":") for each in line.split("\t"))}


def ids(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each]


@pytest.mark.slow
@pytest.mark.peer
def test_kafkas_config_tool_shows_what_we_show(ours: Command) -> None:
    said = kafka_tools.run(
        *("kafka.admin.ConfigCommand", "--bootstrap-server", ours.bootstrap),
        *("--describe", "--all", "--topic", "told"),
    )
    shown = re.findall(r"^  (\S+)=(\S*) sensitive=(\w+) synonyms=\{(.*)\}$", said, re.MULTILINE)
    (described,) = ours.json("configs", "describe", "--topic", "told", "--all")
    entries = [
        (
            each["name"],
            each["value"],
            str(each["sensitive"]).lower(),
            ", ".join(f"{level['source']}:{level['name']}={level['value']}" for level in each["synonyms"]),
        )
        for each in described["configs"]
    ]
    assert sorted(shown) == entries
    assert len(entries) > 30


@pytest.mark.slow
@pytest.mark.peer
def test_kafkas_other_tools_show_what_we_show(ours: Command) -> None:
    offsets = kafka_tool("GetOffsetShell", ours.bootstrap, "--topic", "told")
    found = ours.json("topics", "offsets", "told")
    assert offsets == [f"{each['topic']}:{each['partition']}:{each['end_offset']}" for each in found]
    assert [each["end_offset"] for each in found] == [0, 5]

    shown = kafka_tool("LogDirsCommand", ours.bootstrap, "--describe", "--topic-list", "told")[-1]
    replicas = {
        each["partition"]: each["size"]
        for broker in json.loads(shown)["brokers"]
        for log_dir in broker["logDirs"]
        for each in log_dir["partitions"]
    }
    (broker,) = ours.json("cluster", "log-dirs", "--topic", "told")
    told = {f"told-{each['partition']}": each["size_bytes"] for each in broker["log_dirs"][0]["replicas"]}
    assert replicas == told
    assert told["told-1"] > told["told-0"] == 0

    features = kafka_tool("FeatureCommand", ours.bootstrap, "describe")
    level, first, last = (r"FinalizedVersionLevel: (\S+)", r"SupportedMinVersion: (\S+)", r"SupportedMaxVersion: (\S+)")
    rows = [[re.findall(wanted, line)[0] for wanted in (r"Feature: (\S+)", level, first, last)] for line in features]
    assert rows == [line.split() for line in ours.do("cluster", "features").splitlines()[1:]]
    cluster_id = kafka_tools.run(
        "org.apache.kafka.tools.ClusterTool", "cluster-id", "--bootstrap-server", ours.bootstrap
    )
    assert cluster_id.strip() == f"Cluster ID: {ours.json('cluster', 'describe')['cluster_id']}"
