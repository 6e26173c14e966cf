"""Three brokers: partitions move, leaders change, a broker fails; the commands show it, and so do Kafka's tools."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from support.peers import kafka_tools
from support.processes.cli import Command
from support.processes.nodes import Cluster, NodeSpec
from support.waiting import wait_until

WAIT_S = 120

#: Leaders change when the test says so: not because a busy machine keeps a broker from its heartbeats, and not because
#: the controller looks after them every five minutes.
SETTINGS = {"broker.session.timeout.ms": "60000", "auto.leader.rebalance.enable": "false"}

VALUE = bytes(100_000)
#: `replica.fetch.max.bytes` brings no more of a partition.
RECORDS_A_FETCH = 10


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    specs = [NodeSpec(1, roles="broker,controller"), *(NodeSpec(each, roles="broker") for each in (2, 3))]
    with Cluster(tmp_path_factory.mktemp("three"), specs, settings=SETTINGS) as made:
        made.start()
        yield made


@pytest.fixture
def command(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Command:
    made = Command(capsys, cluster[1].broker_address)
    wait_until(lambda: made.say("cluster", "describe").status == 0, "it answers", WAIT_S, cluster[1].log_tail)
    wait_until(lambda: active(made) == [1, 2, 3], "all are there", WAIT_S)
    return made


def active(command: Command) -> list[int]:
    return [node["id"] for node in command.json("cluster", "describe")["nodes"] if not node["fenced"]]


def replicas(command: Command, topic: str) -> dict[int, list[int]]:
    (found,) = command.json("topics", "describe", topic)
    return {each["partition"]: each["replicas"] for each in found["partitions"]}


def leaders(command: Command, topic: str) -> dict[int, int | None]:
    (found,) = command.json("topics", "describe", topic)
    return {each["partition"]: each["leader"] for each in found["partitions"]}


@pytest.mark.slow
@pytest.mark.peer
def test_partitions_move_as_planned_and_back(command: Command, tmp_path: Path) -> None:
    command.do("topics", "create", "moving", "--replica-assignment", "1:2,2:3,3:1,1:3")
    before = replicas(command, "moving")
    plan, back = str(tmp_path / "plan.json"), str(tmp_path / "back.json")
    planned = command.json("reassign", "plan", "moving", "--brokers", "1,2", "--output", plan)
    assert json.loads(Path(plan).read_text()) == planned
    wanted = {each["partition"]: each["replicas"] for each in planned["partitions"]}
    assert set(wanted) >= {1, 2, 3} and all(set(each) == {1, 2} for each in wanted.values())

    said = command.do("reassign", "run", plan, "--throttle", "50000000", "--rollback", back)
    assert f"Started to move {len(wanted)} partitions" in said
    wait_until(lambda: states(command, plan) == {"done"}, "all is moved", WAIT_S)
    assert replicas(command, "moving") == before | wanted
    verified = kafka_tools.run(
        *("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "--bootstrap-server", command.bootstrap),
        *("--verify", "--reassignment-json-file", plan),
    )
    assert verified.count("is completed") == len(wanted)
    throttled = [each for each in all_settings(command) if "throttled" in each]
    assert not throttled, "the throttle went with the last look"

    command.do("reassign", "run", back, "--wait")
    assert replicas(command, "moving") == before
    assert command.do("reassign", "status") == "No reassignment is in progress.\n"
    command.do("topics", "delete", "moving", "--yes")


@pytest.mark.slow
def test_a_throttle_holds_until_it_is_taken_away_and_holds_nobody_else(command: Command, tmp_path: Path) -> None:
    """At a byte a second the first fetch goes through, and then none for days."""
    plans = {}
    producer = Producer({"bootstrap.servers": command.bootstrap, "log_level": 0})
    for topic in ("held", "free"):
        command.do("topics", "create", topic, "--replica-assignment", "1:2")
        for _ in range(6 * RECORDS_A_FETCH):
            producer.produce(topic, VALUE, partition=0)
        plans[topic] = tmp_path / f"{topic}.json"
        partition = {"topic": topic, "partition": 0, "replicas": [1, 3]}
        plans[topic].write_text(json.dumps({"version": 1, "partitions": [partition]}))
    assert producer.flush(WAIT_S) == 0
    command.do("reassign", "run", str(plans["held"]), "--throttle", "1")
    wait_until(lambda: size_on(command, 3, "held") > 0, "it has begun", WAIT_S)
    command.do("reassign", "run", str(plans["free"]), "--wait")
    assert replicas(command, "free") == {0: [1, 3]}
    assert states(command, str(plans["held"])) == {"moving"}
    assert size_on(command, 3, "held") < size_on(command, 1, "held") // 2
    for broker in ("1", "2", "3"):
        rates = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
        command.do("configs", "alter", "--broker", broker, *(word for each in rates for word in ("--delete", each)))
    wait_until(lambda: states(command, str(plans["held"])) == {"done"}, "it is moved", WAIT_S)
    assert size_on(command, 3, "held") == size_on(command, 1, "held")
    command.do("topics", "delete", "held", "free", "--yes")


def size_on(command: Command, broker_id: int, topic: str) -> int:
    (broker,) = command.json("cluster", "log-dirs", "--broker", str(broker_id), "--topic", topic)
    return sum(replica["size_bytes"] for each in broker["log_dirs"] for replica in each["replicas"])


def states(command: Command, plan: str) -> set[str]:
    return {each["state"] for each in json.loads(command.say("reassign", "status", plan, "--format", "json").out)}


def all_settings(command: Command) -> list[str]:
    return [entry["name"] for each in command.json("configs", "describe") for entry in each["configs"]]


@pytest.mark.slow
def test_a_move_to_a_broker_that_is_down_goes_on_until_it_is_cancelled(
    command: Command, cluster: Cluster, tmp_path: Path
) -> None:
    command.do("topics", "create", "stuck", "--replica-assignment", "1:2")
    cluster[3].pause()
    try:
        plan = tmp_path / "plan.json"
        plan.write_text('{"version": 1, "partitions": [{"topic": "stuck", "partition": 0, "replicas": [1, 3]}]}')
        command.do("reassign", "run", str(plan))
        (moving,) = command.json("reassign", "status")
        assert (moving["topic"], moving["adding"], moving["removing"]) == ("stuck", [3], [2])
        assert states(command, str(plan)) == {"moving"}
        assert command.do("topics", "describe", "stuck", "--under-replicated").count("\n") == 1, "it only moves"
        assert command.do("reassign", "cancel", "stuck") == "Cancelled the reassignment of 1 partition.\n"
    finally:
        cluster[3].resume()
    wait_until(lambda: replicas(command, "stuck") == {0: [1, 2]}, "it is as it was", WAIT_S)
    assert states(command, str(plan)) == {"elsewhere"}
    wait_until(lambda: active(command) == [1, 2, 3], "it is back", WAIT_S)
    command.do("topics", "delete", "stuck", "--yes")


@pytest.mark.slow
def test_preferred_leaders_lead_again_after_a_broker_was_away(command: Command, cluster: Cluster) -> None:
    command.do("topics", "create", "led", "--replica-assignment", "2:1,3:2,1:2")
    wait_until(lambda: leaders(command, "led") == {0: 2, 1: 3, 2: 1}, "all lead what they should", WAIT_S)
    cluster[2].stop()
    wait_until(lambda: active(command) == [1, 3], "the broker is known to be gone", WAIT_S)
    assert leaders(command, "led") == {0: 1, 1: 3, 2: 1}
    short = command.json("topics", "describe", "led", "--under-replicated")
    assert [each["partition"] for each in short[0]["partitions"]] == [0, 1, 2]
    said = command.say("elect-leaders", "led:0")
    assert said.status == 1 and "PREFERRED_LEADER_NOT_AVAILABLE" in said.err
    said = command.say("cluster", "log-dirs", "--broker", "2")
    assert said.status == 1 and "broker 2 is not running" in said.err

    cluster[2].start()
    wait_until(
        lambda: not command.json("topics", "describe", "led", "--under-replicated"), "all have caught up", WAIT_S
    )
    assert command.do("elect-leaders", "led") == (
        "led-0: a leader was elected\nled-1: no election needed\nled-2: no election needed\n"
    )
    wait_until(lambda: leaders(command, "led") == {0: 2, 1: 3, 2: 1}, "all lead what they should", WAIT_S)
    command.do("topics", "delete", "led", "--yes")
