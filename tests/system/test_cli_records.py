"""`odradek produce`, `consume` and `perf` on a cluster, and what kcat says of the same records."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from odradek.cli.main import INTERRUPTED
from odradek.testing import Cluster
from support.processes.cli import Command

ODRADEK = str(Path(sys.executable).with_name("odradek"))

_LIMIT_S = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as started:
        yield started


@pytest.fixture
def command(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, cluster.bootstrap)


class Input:
    """What the command reads."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, files: ExitStack) -> None:
        self._path = path
        self._monkeypatch = monkeypatch
        self._files = files

    def put(self, text: str) -> None:
        self._path.write_text(text)
        self._monkeypatch.setattr(sys, "stdin", self._files.enter_context(self._path.open()))


@pytest.fixture
def stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Input]:
    with ExitStack() as files:
        yield Input(tmp_path / "stdin", monkeypatch, files)


def test_lines_in_and_formats_out_as_kcat_does(cluster: Cluster, command: Command, stdin: Input) -> None:
    cluster.create_topic("lines", partitions=3)
    stdin.put("a:1\nb:2\nc:\n")
    said = command.do("produce", "lines", "-K", ":", "-Z", "-H", "source=test", "-z", "gzip")
    assert said.splitlines()[0] == "Delivered 3 records to lines."
    assert said.splitlines()[1].split() == ["partition", "records", "first", "offset", "last", "offset"]
    form = "%t/%p %o %K %k: %S %h\\n"
    ours = command.do("consume", "lines", "--until-end", "-f", form)
    kcat = subprocess.run(
        ["kcat", "-b", cluster.bootstrap, "-C", "-t", "lines", "-e", "-q", "-f", form],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert sorted(ours.splitlines()) == sorted(kcat.stdout.splitlines())
    assert sorted(line.split(" ", 2)[2] for line in ours.splitlines()) == [
        "1 a: 1 source=test",
        "1 b: 1 source=test",
        "1 c: -1 source=test",
    ]


def test_places_to_begin_and_to_end(cluster: Cluster, command: Command, stdin: Input) -> None:
    # One record is of 1970, one of January: with the default, retention deletes them at some moment.
    cluster.create_topic("places", partitions=2, configs={"retention.ms": "-1"})
    stdin.put("".join(f"{number}\n" for number in range(10)))
    command.do("produce", "places", "-p", "0", "-t", "1000")
    stdin.put("late\n")
    report = command.json("produce", "places", "-p", "1", "-t", "2026-01-31T12:00+00:00")
    assert report == {
        "topic": "places",
        "delivered": 1,
        "failed": 0,
        "partitions": [{"partition": 1, "records": 1, "first_offset": 0, "last_offset": 0}],
    }

    def consume(*arguments: str) -> list[str]:
        return command.do("consume", "places", *arguments).split()

    assert consume("-e", "-p", "0") == [str(number) for number in range(10)]
    assert consume("-p", "0", "-n", "2") == ["0", "1"]
    assert consume("-e", "-p", "0", "--from", "8") == ["8", "9"]
    assert sorted(consume("-e", "--from", "-1")) == ["9", "late"]
    assert consume("-e", "--from", "@2026-01-01") == ["late"]
    assert consume("-e", "--from", "latest") == []
    assert consume("-e", "--from", "@2030-01-01") == []


def test_a_group_goes_on_where_it_was(cluster: Cluster, command: Command, stdin: Input) -> None:
    cluster.create_topic("grouped")
    stdin.put("1\n2\n3\n")
    command.do("produce", "grouped")
    assert command.do("consume", "grouped", "-g", "billing", "-n", "2").split() == ["1", "2"]
    (described,) = command.json("groups", "describe", "billing")
    assert [(each["committed"], each["lag"]) for each in described["partitions"]] == [(2, 1)]
    assert command.do("consume", "grouped", "-g", "billing", "--until-end").split() == ["3"]


def test_json_out_is_json_in(cluster: Cluster, command: Command, stdin: Input, tmp_path: Path) -> None:
    cluster.create_topic("json")
    stdin.put('{"key": "k", "value": {"id": 1}, "headers": [["h", {"hex": "ff"}]], "timestamp": 5}\n{"value": null}\n')
    command.do("produce", "json", "-f", "json")
    lines = command.do("consume", "json", "-e", "-f", "json")
    first, second = (json.loads(line) for line in lines.splitlines())
    assert (first["key"], first["value"], first["headers"]) == ("k", '{"id":1}', [["h", {"hex": "ff"}]])
    assert (first["timestamp"], second["value"]) == (5, None)
    copied = tmp_path / "copied.jsonl"
    copied.write_text(lines)
    command.do("produce", "json", str(copied), "-f", "json")
    both = [json.loads(line) for line in command.do("consume", "json", "-e", "--format", "json").splitlines()]
    assert [each | {"offset": 0} for each in both[2:]] == [each | {"offset": 0} for each in both[:2]]


def test_a_whole_file_is_a_record(cluster: Cluster, command: Command, tmp_path: Path) -> None:
    cluster.create_topic("files")
    file = tmp_path / "picture"
    file.write_bytes(b"several\nlines")
    command.do("produce", "files", "--whole", str(file), "-k", "picture")
    assert command.do("consume", "files", "-e", "-f", "%k=%s") == "picture=several\nlines"


def test_what_goes_wrong_is_one_line(cluster: Cluster, command: Command, stdin: Input) -> None:
    cluster.create_topic("wrong")
    stdin.put("a:b\nno key\n")
    for arguments, said in (
        (("produce", "wrong", "-K", ":"), 'standard input:2: no key: expected ":" between key and value.'),
        (("produce", "wrong", "/nowhere/file"), "/nowhere/file: No such file or directory"),
        (("produce", "wrong", "-X", "linger.mss=5"), "linger.ms"),
        (("consume", "missing", "-e"), "topic missing does not exist; odradek topics list shows all topics"),
        (("consume", "wrong", "-p", "7"), "wrong has no partition 7, only 0 to 0"),
        (("produce", "wrong", "-p", "7"), "wrong has no partition 7, only 0 to 0"),
        (
            ("perf", "consume", "wrong", "-n", "10", "--timeout", "0.5"),
            "records, then none for 0.5 s (--timeout)",
        ),
    ):
        status, out, err = command.say(*arguments)
        assert status == 1 and said in err and err.count("\n") == 1, (arguments, out, err)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("consume", "t", "--from", "yesterday"), '"yesterday" is not a start position'),
        (("consume", "t", "-f", "%q"), "%q"),
        (("consume", "t", "-X", "foo"), '"foo" is not a valid setting'),
        (("produce", "t", "-H", "foo"), '"foo" is not a valid header'),
        (("produce", "t", "-t", "noon"), '"noon" is not a valid time'),
    ],
)
def test_what_is_wrong_with_options_is_wrong_usage(command: Command, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = command.say(*arguments)
    assert status == 2 and said in err, (out, err)


def test_what_was_sent_before_a_wrong_record_is_said(cluster: Cluster, command: Command, tmp_path: Path) -> None:
    cluster.create_topic("half")
    (tmp_path / "right").write_text("a:1\nb:2\n")
    (tmp_path / "wrong").write_text("no key\n")
    files = [str(tmp_path / name) for name in ("right", "wrong")]
    status, out, err = command.say("produce", "half", "-K", ":", "-H", "tag=1", "-H", "tag=2", *files)
    assert status == 1 and f"{files[1]}:1: no key" in err
    assert out.splitlines()[0] == "Delivered 2 records to half."
    assert command.do("consume", "half", "-e", "-f", "%k %h\\n") == "a tag=1,tag=2\nb tag=1,tag=2\n"


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Heard by the processes that a test starts, also where tests run under nohup, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_lines_are_sent_as_they_come_and_ctrl_c_says_how_many(cluster: Cluster, command: Command) -> None:
    cluster.create_topic("live")
    with subprocess.Popen(
        [ODRADEK, "produce", "live", "-b", cluster.bootstrap],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as producing:
        assert producing.stdin is not None
        producing.stdin.write("now\n")
        producing.stdin.flush()
        assert command.do("consume", "live", "-n", "1") == "now\n"
        producing.send_signal(signal.SIGINT)
        producing.wait(_LIMIT_S)  # before its input ends, which would be another reason to stop
        out, err = producing.communicate()
    assert producing.returncode == INTERRUPTED and not err
    assert out.startswith("Delivered 1 record to live.\n")


def test_measurements(cluster: Cluster, command: Command) -> None:
    cluster.create_topic("load", partitions=2)
    sent = command.json("perf", "produce", "load", "-n", "500", "--size", "50")
    assert sent["records"] == 500 and sent["records_per_s"] > 0
    assert 0 < sent["latency_p50_ms"] <= sent["latency_p99_ms"] <= sent["latency_max_ms"]
    many = ("-n", "20000", "--at-once", "500", "-z", "lz4")
    assert command.json("perf", "produce", "load", *many)["records"] == 20_000
    for columns in ((), ("--columns",)):
        read = command.json("perf", "consume", "load", "-n", "1000", *columns)
        assert read["records"] >= 1000 and read["mib_per_s"] > 0
    table = command.do("perf", "latency", "load", "-n", "5")
    assert [line.split("  ")[0] for line in table.splitlines()][:3] == ["measured", "records", "seconds"]


def test_a_file_of_settings_may_serve_every_client(
    cluster: Cluster, command: Command, stdin: Input, tmp_path: Path
) -> None:
    cluster.create_topic("settings")
    shared = tmp_path / "client.properties"
    shared.write_text(f"bootstrap.servers={cluster.bootstrap}\nacks=1\nmax.poll.records=1\n")
    stdin.put("a\n")
    command.do("produce", "settings", "--command-config", str(shared))
    assert command.do("consume", "settings", "-e", "--command-config", str(shared)) == "a\n"
    both = ("-X", "linger.ms=1", "-X", "max.poll.records=1")
    assert command.json("perf", "latency", "settings", "-n", "3", *both)["records"] == 3
    said = command.say("consume", "settings", "-e", "-X", "linger.ms=1")
    assert said.status == 1 and "linger.ms" in said.err


def test_shells_complete_names_of_topics_and_groups(cluster: Cluster) -> None:
    cluster.create_topic("completed-one")
    for words, offered in (
        ("odradek cons", "plain,consume"),
        (f"odradek consume -b {cluster.bootstrap} compl", "plain,completed-one"),
        ("odradek consume -b localhost:1 compl", ""),
    ):
        done = subprocess.run(
            [ODRADEK],
            env={"_ODRADEK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() == offered and not done.stderr, words
