"""What commands on a cluster refuse before they ask anybody, and what they ask a person."""

import io
import json
import sys
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.cli.commands.reassign.files import read_plan, write_plan
from odradek.client.admin.log_dirs import Replica
from odradek.client.types import TopicPartition
from support.fakes.quorum import FakeQuorum, running_in_thread
from support.processes.ports import free_ports


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 1) -> str:
    """Nobody listens where it would ask."""
    assert run([*arguments, "-b", f"127.0.0.1:{free_ports(1)[0]}"]) == status
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("topics create a --replica-assignment 1,2 --partitions 2", "leave those options out"),
        ("topics create a --partitions 0", "0 is not in the range"),
        ("topics create", "Missing argument 'TOPIC...'"),
        ("topics alter a", "Missing option '--partitions'"),
        ("topics delete-records", "Pass either topics and --before, or --file"),
        ("topics delete-records a --before 1 --file f", "Pass either topics and --before, or --file"),
        ("configs alter --set a=1", "Missing resource: pass --topic"),
        ("configs alter --topic a", "Missing change: pass --set"),
        ("reassign cancel", "Pass either topics or partitions, or --all"),
        ("reassign cancel a --all", "Pass either topics or partitions, or --all"),
        ("cluster unregister x", "'x' is not a valid integer"),
        ("groups list --state Sleeping", "'Sleeping' is not one of"),
        ("groups list --type old", "'old' is not one of 'classic', 'consumer'"),
        ("groups reset-offsets a", "Pass either --to or --shift-by."),
        ("groups reset-offsets a --to 3 --shift-by 4", "Pass either --to or --shift-by."),
        ("groups reset-offsets a --shift-by some", "'some' is not a valid integer"),
        ("groups delete-offsets a", "Missing argument 'TOPIC[:PARTITION]...'"),
        ("groups delete", "Missing argument 'GROUP...'"),
        ("transactions list --state Sleeping", "'Sleeping' is not one of"),
        ("transactions list --longer-than -1", "-1 is not in the range"),
        ("transactions describe", "Missing argument 'TRANSACTIONAL-ID...'"),
        ("transactions find-hanging --max-timeout -1", "-1 is not in the range"),
        ("transactions abort a:0", "Missing option '--start-offset'"),
    ],
)
def test_wrong_usage(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refused(capsys, *arguments.split(), status=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("topics create a --config b", 'odradek: --config: "b" is not a valid setting. Expected key=value'),
        ("topics create a --replica-assignment 1:x", 'odradek: --replica-assignment: "1:x" is not an assignment.'),
        ("topics offsets a --at noon", 'odradek: --at: "noon" is not a valid time. Expected earliest'),
        ("topics delete-records a:0 --before -4", 'odradek: --before: "-4" is not an offset.'),
        ("topics delete-records --file nowhere.json", "odradek: nowhere.json: No such file"),
        ("reassign plan --brokers 1,b", 'odradek: --brokers: "1,b" is not a list of ids.'),
        ("reassign run nowhere.json", "odradek: nowhere.json: No such file"),
        ("topics list", "odradek: no broker answers: 127.0.0.1:"),
        ("topics delete a", "odradek: Topic a and its records will be deleted. Standard input is not a"),
        ("topics delete a b", "odradek: The topics a, b and their records will be deleted. Standard input is"),
        (
            "cluster unregister 4",
            "odradek: Broker 4 will be unregistered; partitions that only it has are lost. Standard",
        ),
        ("groups reset-offsets a --to -3", 'odradek: --to: "-3" is not an offset. Expected earliest, latest, current'),
        ("groups reset-offsets a --to @noon", 'odradek: --to: "@noon" is not an offset.'),
        ("groups delete a b", "odradek: 2 groups will be deleted, with all committed offsets: a, b. Standard input is"),
        ("groups delete-offsets a b:1", "odradek: Offsets of b:1 in group a will be deleted. Standard input is"),
        ("groups list", "odradek: no broker answers: 127.0.0.1:"),
        ("transactions list", "odradek: no broker answers: 127.0.0.1:"),
        ("elect-leaders --unclean a", "odradek: Records of a that only unavailable replicas have will be lost."),
    ],
)
def test_one_line_says_what_was_wrong(
    arguments: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    line = refused(capsys, *arguments.split())
    assert line.startswith(said) and line.count("\n") == 1


def test_a_controller_where_a_broker_should_be(capsys: pytest.CaptureFixture[str]) -> None:
    with running_in_thread(FakeQuorum()) as quorum:
        address = str(quorum.addresses[1])
        assert run(["topics", "list", "-b", address]) == 1
        line = capsys.readouterr().err
        assert (
            line.startswith(f"odradek: {address} has no version of Metadata") and "may be that of a controller" in line
        )
        assert run(["topics", "list", "--bootstrap-controller", address]) == 1
        assert "use --bootstrap with the address of a broker" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not json", "is not a plan (JSONDecodeError"),
        ("[]", "is not a plan (TypeError"),
        ('{"partitions": [{"topic": "a", "partition": 0}]}', "is not a plan (KeyError: 'replicas')"),
        ('{"partitions": [{"topic": "a", "partition": 0, "replicas": ["x"]}]}', "is not a plan (ValueError"),
        ('{"partitions": []}', "the plan has no partitions"),
        ('{"partitions": [{"topic": "a", "partition": 0, "replicas": [1], "log_dirs": ["/d", "any"]}]}', "log_dirs"),
        (
            '{"partitions": [{"topic": "a", "partition": 0, "replicas": [1]},'
            ' {"topic": "a", "partition": 0, "replicas": [2]}]}',
            "partition twice",
        ),
    ],
)
def test_a_file_that_is_no_plan(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    line = refused(capsys, "reassign", "run", str(path))
    assert said in line and line.count("\n") == 1


def test_a_plan_is_read_as_it_was_written_and_as_kafka_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = {TopicPartition("a", 0): [1, 2], TopicPartition("b", 7): [3]}
    write_plan(str(path), plan)
    assert read_plan(str(path)) == (plan, {})
    document = json.loads(path.read_text())
    for each in document["partitions"]:
        each["log_dirs"] = ["any"] * len(each["replicas"])
    path.write_text(json.dumps(document))
    assert read_plan(str(path)) == (plan, {})
    document["partitions"][0]["log_dirs"][1] = "/data"
    path.write_text(json.dumps(document))
    assert read_plan(str(path)) == (plan, {Replica("a", 0, 2): "/data"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"partitions": [{"topic": "a", "partition": 0}]}', "KeyError 'offset'"),
        ('{"partitions": []}', "the list of partitions is empty"),
    ],
)
def test_a_file_of_offsets_that_is_none(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "offsets.json"
    path.write_text(text)
    assert said in refused(capsys, "topics", "delete-records", "--file", str(path), "--yes")
