"""`odradek quorum`: what it shows, what it asks, and what it refuses."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.common.files import OsFileSystem
from odradek.common.ids import uuid_to_text
from odradek.log.manager.meta_properties import read_meta_properties
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.protocol.messages.describe_cluster_response import DescribeClusterResponse
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from odradek.protocol.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from support.fakes.quorum import CLUSTER_ID, FakeQuorum, running_in_thread
from support.processes.ports import free_ports
from support.processes.storage import write_config

DIRECTORIES = {node_id: bytes(15) + bytes((node_id,)) for node_id in (1, 2, 7)}
TEXTS = {node_id: uuid_to_text(directory) for node_id, directory in DIRECTORIES.items()}
NOW_MS = 1_700_000_000_000


class Quorum(FakeQuorum):
    """Two voters, of which the second is 5 records and 70 ms behind, and an observer that was never seen to fetch."""

    def __init__(self) -> None:
        super().__init__({ApiKey.ADD_RAFT_VOTER: self.add, ApiKey.REMOVE_RAFT_VOTER: self.remove})
        self.handlers[ApiKey.DESCRIBE_QUORUM] = self.describe
        self.refusal = (0, "")
        self.added: list[AddRaftVoterRequest] = []
        self.removed: list[RemoveRaftVoterRequest] = []

    def describe(self, _: int, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        voters = [self.replica(1, 110, NOW_MS, NOW_MS), self.replica(2, 105, NOW_MS - 3, NOW_MS - 70)]
        partition = PartitionData(
            leader_id=1,
            leader_epoch=4,
            high_watermark=108,
            current_voters=voters,
            observers=[self.replica(7, 0, -1, -1)],
        )
        nodes = [
            Node(node_id=node_id, listeners=[Listener(name="CONTROLLER", host="::1", port=9090 + node_id)])
            for node_id in (1, 2)
        ]
        topics = [TopicData(topic_name="__cluster_metadata", partitions=[partition])]
        return DescribeQuorumResponse(topics=topics, nodes=nodes)

    def replica(self, node_id: int, end_offset: int, fetch_ms: int, caught_up_ms: int) -> ReplicaState:
        return ReplicaState(
            replica_id=node_id,
            replica_directory_id=DIRECTORIES[node_id],
            log_end_offset=end_offset,
            last_fetch_timestamp=fetch_ms,
            last_caught_up_timestamp=caught_up_ms,
        )

    def add(self, _: int, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
        self.added.append(request)
        return AddRaftVoterResponse(error_code=self.refusal[0], error_message=self.refusal[1])

    def remove(self, _: int, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
        self.removed.append(request)
        return RemoveRaftVoterResponse(error_code=self.refusal[0], error_message=self.refusal[1])


@pytest.fixture
def quorum() -> Iterator[Quorum]:
    made = Quorum()
    with running_in_thread(made):
        yield made


def address(quorum: FakeQuorum) -> list[str]:
    return ["--bootstrap-controller", str(quorum.addresses[1])]


def formatted(directory: Path, cluster_id: str = CLUSTER_ID) -> Path:
    config = write_config(directory, directory, dynamic=True, roles="controller")
    assert run(["storage", "format", "-t", cluster_id, "-c", str(config), "--no-initial-controllers"]) == 0
    return config


def test_describe_as_json_says_everything(quorum: Quorum, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "describe", "--format", "json", *address(quorum)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "cluster_id": CLUSTER_ID,
        "leader_id": 1,
        "leader_epoch": 4,
        "high_watermark": 108,
        "max_follower_lag": 5,
        "max_follower_lag_ms": 70,
        "voters": [
            {"id": 1, "directory_id": TEXTS[1], "endpoints": ["CONTROLLER://[::1]:9091"]},
            {"id": 2, "directory_id": TEXTS[2], "endpoints": ["CONTROLLER://[::1]:9092"]},
        ],
        "observers": [{"id": 7, "directory_id": TEXTS[7], "endpoints": []}],
        "replication": [
            _replication(1, 110, 0, NOW_MS, NOW_MS, "leader"),
            _replication(2, 105, 5, NOW_MS - 3, NOW_MS - 70, "follower"),
            _replication(7, 0, 110, None, None, "observer"),
        ],
    }


def _replication(
    node_id: int, end: int, lag: int, fetch_ms: int | None, caught_up_ms: int | None, status: str
) -> dict[str, object]:
    return {
        "id": node_id,
        "directory_id": TEXTS[node_id],
        "log_end_offset": end,
        "lag": lag,
        "last_fetch_ms": fetch_ms,
        "last_caught_up_ms": caught_up_ms,
        "status": status,
    }


def test_describe_for_people(quorum: Quorum, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "describe", "--utc", *address(quorum)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == [
        f"cluster id        {CLUSTER_ID}",
        "leader            1, epoch 4",
        "high watermark    108",
        "max follower lag  5 records, 70 ms",
        f"voters            1  CONTROLLER://[::1]:9091  {TEXTS[1]}",
        f"                  2  CONTROLLER://[::1]:9092  {TEXTS[2]}",
        f"observers         7  {TEXTS[7]}",
    ]
    assert lines[7] == ""
    assert lines[8].split()[:4] == ["node", "status", "log", "end"]
    assert lines[9].split()[:6] == ["1", "leader", "110", "0", "2023-11-14", "22:13:20.000+00:00"]
    assert lines[11].split() == ["7", "observer", "0", "110", "-", "-", TEXTS[7]]


def test_a_cluster_that_does_not_tell_its_id(quorum: Quorum, capsys: pytest.CaptureFixture[str]) -> None:
    refusal = DescribeClusterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    quorum.handlers[ApiKey.DESCRIBE_CLUSTER] = lambda *_: refusal
    assert run(["quorum", "describe", *address(quorum)]) == 0
    assert capsys.readouterr().out.startswith("cluster id        unknown\nleader            1, epoch 4\n")


@pytest.mark.parametrize(("option", "kept"), [("--status", "cluster_id"), ("--replication", "replication")])
def test_describe_shows_the_part_that_is_asked_for(
    quorum: Quorum, capsys: pytest.CaptureFixture[str], option: str, kept: str
) -> None:
    assert run(["quorum", "describe", option, "--format", "json", *address(quorum)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"cluster_id", "replication"} & document.keys() == {kept}
    assert run(["quorum", "describe", option, *address(quorum)]) == 0
    text = capsys.readouterr().out
    assert ("cluster id" in text, "last caught up" in text) == (kept == "cluster_id", kept == "replication")


def test_a_cluster_that_is_not_there_is_told_with_its_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = free_ports(2)
    assert run(["quorum", "describe", "-b", f"localhost:{first},127.0.0.1:{second}"]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"odradek: no broker answers: localhost:{first}: connection refused; 127.0.0.1:{second}: ")
    assert len(told.splitlines()) == 1


def test_the_environment_names_the_cluster(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "nonsense")
    assert run(["quorum", "describe"]) == 1
    assert capsys.readouterr().err.startswith('odradek: ODRADEK_BOOTSTRAP: "nonsense" has no port. Right would be')


def test_a_controller_is_reached_with_its_own_option(quorum: Quorum, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "describe", "-b", str(quorum.addresses[1])]) == 1
    assert "not of a broker; use --bootstrap-controller" in capsys.readouterr().err


def test_brokers_and_controllers_at_once_are_wrong_usage(quorum: Quorum, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "describe", "-b", "localhost:1", *address(quorum)]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_no_leader_is_told_and_waited_for_as_long_as_the_file_says(
    quorum: Quorum, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quorum.leader_id = None
    (tmp_path / "client.properties").write_text("default.api.timeout.ms=1\n")
    config = ["--command-config", str(tmp_path / "client.properties")]
    assert run(["quorum", "describe", *address(quorum), *config]) == 1
    assert "no leader of the quorum responded within 0.001 s" in capsys.readouterr().err


def test_add_voter_reads_who_it_is_from_its_file(
    quorum: Quorum, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = formatted(tmp_path)
    meta = read_meta_properties(OsFileSystem(), str(tmp_path / "one"))
    assert meta is not None and meta.directory_id is not None
    directory = uuid_to_text(meta.directory_id)
    capsys.readouterr()
    assert run(["quorum", "add-voter", "-c", str(config), *address(quorum)]) == 0
    said = f"controller 1, directory {directory}, at CONTROLLER://localhost:9093."
    assert capsys.readouterr().out == f"Added {said}\n"
    request = quorum.added[0]
    assert (request.cluster_id, request.voter_id, request.voter_directory_id) == (CLUSTER_ID, 1, meta.directory_id)
    assert [(each.name, each.host, each.port) for each in request.listeners] == [("CONTROLLER", "localhost", 9093)]


def test_a_dry_run_changes_nothing_and_needs_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = formatted(tmp_path)
    capsys.readouterr()
    nobody = ["--bootstrap-controller", f"127.0.0.1:{free_ports(1)[0]}"]
    assert run(["quorum", "add-voter", "-c", str(config), "--dry-run", *nobody]) == 0
    assert capsys.readouterr().out.startswith("Would add controller 1, directory ")
    assert run(["quorum", "add-voter", "-c", str(config), "--dry-run", "--format", "json", *nobody]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["added"], document["id"], document["endpoints"]) == (False, 1, ["CONTROLLER://localhost:9093"])


def test_only_a_formatted_controller_can_be_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(tmp_path, tmp_path, dynamic=True, roles="controller")
    assert run(["quorum", "add-voter", "-c", str(config), "--dry-run"]) == 1
    assert "one is not formatted; run odradek storage format -t CLUSTER-ID -c" in capsys.readouterr().err
    config = write_config(tmp_path, tmp_path, dynamic=True, roles="broker")
    assert run(["quorum", "add-voter", "-c", str(config), "--dry-run"]) == 1
    assert "process.roles: broker: only a controller can vote" in capsys.readouterr().err


def test_a_refusal_is_told_in_the_leaders_words(
    quorum: Quorum, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = formatted(tmp_path)
    quorum.refusal = (ErrorCode.DUPLICATE_VOTER, "The voter id for 1 is already part of the set of voters.")
    assert run(["quorum", "add-voter", "-c", str(config), *address(quorum)]) == 1
    assert capsys.readouterr().err == (
        "odradek: DUPLICATE_VOTER: The voter id for 1 is already part of the set of voters.\n"
    )


REMOVE = ["quorum", "remove-voter", "--id", "2", "--directory-id", TEXTS[2]]


def test_remove_voter_asks_first(
    quorum: Quorum, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("n\ny\n"))
    assert run([*REMOVE, *address(quorum)]) == 1
    assert capsys.readouterr().err.endswith("odradek: not confirmed; nothing was changed\n")
    assert not quorum.removed
    assert run([*REMOVE, *address(quorum)]) == 0
    assert capsys.readouterr().out == f"Removed controller 2, directory {TEXTS[2]}.\n"
    assert [(each.voter_id, each.voter_directory_id) for each in quorum.removed] == [(2, DIRECTORIES[2])]


def test_without_anybody_to_ask_yes_must_be_said(
    quorum: Quorum, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert run([*REMOVE, *address(quorum)]) == 1
    assert "Controller 2" in (told := capsys.readouterr().err) and "pass --yes" in told
    assert not quorum.removed
    assert run([*REMOVE, "--yes", "--format", "json", *address(quorum)]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": True, "id": 2, "directory_id": TEXTS[2]}


def test_a_directory_id_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quorum", "remove-voter", "--id", "2", "--directory-id", "two", "--yes"]) == 1
    assert capsys.readouterr().err.startswith('odradek: --directory-id: "two" is no uuid')
