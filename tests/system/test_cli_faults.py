"""What commands say while something is wrong: no leader, a move that is refused, nothing to forget."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.testing import Cluster
from support.peers.plain_clients import produce
from support.processes.cli import Command


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Node 1 is the quorum: node 2 can be killed."""
    with Cluster(nodes=2) as started:
        yield started


@pytest.fixture
def command(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, cluster.nodes[1].address)


def test_a_move_that_is_refused_has_not_begun(command: Command, tmp_path: Path) -> None:
    command.do("topics", "create", "moved", "--replica-assignment", "1")
    partition = {"topic": "moved", "partition": 0, "replicas": [1], "log_dirs": ["/nowhere"]}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    status, out, err = command.say("reassign", "run", str(plan))
    assert status == 1 and "LOG_DIR_NOT_FOUND" in err and "Started to move" not in out, (out, err)


def test_what_was_never_committed_is_not_forgotten(cluster: Cluster, command: Command) -> None:
    command.do("topics", "create", "read", "unread", "--replica-assignment", "1")
    produce(cluster.bootstrap, "read", ["a"])
    command.do("consume", "read", "-g", "forgetful", "-n", "1")
    said = command.do("groups", "delete-offsets", "forgetful", "unread", "--yes")
    assert said == "Group forgetful has no committed offsets for unread.\n"
    assert (
        command.do("groups", "delete-offsets", "forgetful", "read", "--yes") == "Deleted the offsets of 1 partition.\n"
    )


def test_lag_is_told_without_a_partition_that_nobody_leads(cluster: Cluster, command: Command) -> None:
    command.do("topics", "create", "halved", "--replica-assignment", "1,2")
    produce(cluster.bootstrap, "halved", ["a"])
    assert command.do("consume", "halved", "-g", "waiting", "-n", "1") == "a\n"
    cluster.kill(2)
    try:
        status, out, err = command.say("groups", "describe", "waiting", "--format", "json")
    finally:
        cluster.start(2)
    (described,) = json.loads(out)
    assert status == 0
    assert [(each["committed"], each["end"]) for each in described["partitions"]] == [(1, 1), (0, None)]
    assert "halved-1: its end offset is unknown after 3 s" in err and err.count("\n") == 1
