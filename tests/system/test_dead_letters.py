"""Dead letters are replayed exactly once, whatever happens to the replay: killed at any point and started again,
stopped while another one takes over, with letters that fail, are dropped or too large. librdkafka says what is seen."""

import io
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.client.blocking.producer import Producer
from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.status import read_status
from odradek.spark.pipeline.templates.registry import TEMPLATES
from odradek.testing import Cluster
from support.peers.kafka_node import kafka_node
from support.peers.librdkafka_reader import Seen, read_by_librdkafka
from support.processes.cli import Said
from support.waiting import wait_until

ROOT = Path(__file__).parents[2]
WAIT_S = 120
PARTITIONS = 2

#: Where a replay is killed; a call of a method of its producer, which are so many in a run.
POINTS = {
    "init_transactions": 1,
    "begin_transaction": 6,
    "send": 100,
    "flush": 6,
    "send_offsets_to_transaction": 6,
    "commit_transaction": 6,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@dataclass(frozen=True, slots=True)
class Shop:
    """A project, and the dead letters of its topic."""

    directory: Path
    bootstrap: str
    topic: str

    def send_letters(self, count: int, first: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        producer.start()
        try:
            for number in range(first, first + count):
                value = json.dumps({"id": number, "amount": "3,5"}).encode()
                producer.send(f"{self.topic}.dead", value, None, self._headers(number), number % PARTITIONS)
            producer.flush()
        finally:
            producer.close()

    def _headers(self, number: int) -> list[tuple[str, bytes | None]]:
        added = {
            "topic": self.topic,
            "partition": str(number % PARTITIONS),
            "offset": str(number),
            "timestamp-ms": "1700000000000",
            "step": "decode",
            "reason": "failed" if number % 10 == 0 else "undecodable",
            "message": "amount: not a number",
        }
        return [("source", b"web"), *((f"odradek-{name}", text.encode()) for name, text in added.items())]

    def words(self, *words: str) -> list[str]:
        return ["pipeline", "dead-letters", words[0], str(self.directory), *words[1:]]

    def run(self, *words: str) -> Said:
        """In this process, which saves the start of another one."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = run(self.words(*words))
        return Said(status, out.getvalue(), err.getvalue())

    def interrupted(
        self, method: str, call: int, moment: str, signal_name: str, *words: str
    ) -> "subprocess.Popen[str]":
        options = [method, str(call), moment, signal_name, "--"]
        return subprocess.Popen(
            [sys.executable, "-m", "system.interrupted_replay", *options, *self.words("replay", *words)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def committed(self, topic: str) -> list[Seen]:
        return read_by_librdkafka(self.bootstrap, topic, PARTITIONS, isolation_level="read_committed")

    def replayed_ids(self) -> list[int]:
        return sorted(json.loads(seen.value or b"")["id"] for seen in self.committed(self.topic))

    def waiting(self) -> list[dict[str, object]]:
        done = self.run("show", "-n", "100000", "--format", "json")
        assert done.status == 0, done.err
        return [json.loads(line) for line in done.out.splitlines()]

    def waiting_ids(self) -> list[int]:
        return sorted(json.loads(str(letter["value"]))["id"] for letter in self.waiting())


@pytest.fixture
def shop(tmp_path: Path, cluster: Cluster, request: pytest.FixtureRequest) -> Shop:
    """The topics of each test are its own."""
    return make_shop(tmp_path, cluster.bootstrap, request.node.name.replace("[", "-").rstrip("]"))


def make_shop(directory: Path, bootstrap: str, topic: str) -> Shop:
    for name in (topic, f"{topic}.dead"):
        with redirect_stdout(io.StringIO()):
            assert run(["topics", "create", name, "--partitions", str(PARTITIONS), "-b", bootstrap]) == 0
    for path, text in TEMPLATES["counts"].project(topic, topic, bootstrap).files().items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)
    return Shop(directory, bootstrap, topic)


FIX = """\
import json


def fix(letter):
    event = json.loads(letter.value)
    if event["id"] % 25 == 7:
        raise ValueError("cannot be fixed")
    if event["id"] % 25 == 8:
        return None
    return letter.record(value=json.dumps({**event, "amount": 3.5}))
"""


@pytest.mark.parametrize("seed", [19, 68])
def test_a_replay_that_is_killed(shop: Shop, seed: int) -> None:
    """At points of its producer's calls, before, within and after; some letters cannot be fixed, some are dropped."""
    rng, count = random.Random(seed), 240
    shop.send_letters(count)
    (shop.directory / "fix.py").write_text(FIX)
    words = ["--fix-file", str(shop.directory / "fix.py"), "--chunk", "10", "--yes"]
    failing = [number for number in range(count) if number % 25 == 7]
    dropped = [number for number in range(count) if number % 25 == 8]
    for _ in range(4):
        method = rng.choice(list(POINTS))
        moment = rng.choice(["before", "after", f"{rng.uniform(0, 8):.2f}"])
        point = (method, rng.randint(1, POINTS[method]), moment)
        with shop.interrupted(*point, "SIGKILL", *words) as process:
            process.communicate(timeout=WAIT_S)
        assert process.returncode == -signal.SIGKILL, point  # there are more letters than it gets to
        ids, waiting = shop.replayed_ids(), shop.waiting_ids()
        assert len(ids) == len({*ids}) and len(waiting) == len({*waiting}), point
        assert sorted({*ids, *dropped, *waiting}) == list(range(count)) and not {*ids} & {*waiting}, point
    done = shop.run("replay", *words)
    assert done.status == 1 and "failed" in done.out, done.err
    assert shop.replayed_ids() == [number for number in range(count) if number not in {*failing, *dropped}]
    assert {json.loads(seen.value or b"")["amount"] for seen in shop.committed(shop.topic)} == {3.5}
    assert {seen.headers for seen in shop.committed(shop.topic)} == {(("source", b"web"),)}
    assert shop.waiting_ids() == failing
    assert {letter["replay_error"] for letter in shop.waiting()} == {
        f"ValueError: cannot be fixed ({shop.directory}/fix.py:7)"
    }


@pytest.mark.slow
@pytest.mark.peer
def test_apache_kafka(tmp_path: Path) -> None:
    """Its transactions do the same: killed before and after a commit, then to the end."""
    with kafka_node(tmp_path / "data", tmp_path / "kafka", cluster_id="AAAAAAAAAAAAAAAAAAAAAQ") as node:
        shop = make_shop(tmp_path / "project", node.bootstrap, "orders")
        shop.send_letters(40)
        for moment in ("before", "after"):
            with shop.interrupted("commit_transaction", 2, moment, "SIGKILL", "--chunk", "5", "--yes") as process:
                process.communicate(timeout=WAIT_S)
            assert process.returncode == -signal.SIGKILL
        done = shop.run("replay", "--yes")
        assert done.status == 0, done.err
        assert shop.replayed_ids() == list(range(40)) and shop.waiting_ids() == []


def test_a_replay_that_is_overtaken(shop: Shop) -> None:
    """It is stopped in a transaction, another replay sends all letters, and it goes on: nothing is sent twice."""
    shop.send_letters(30)
    with shop.interrupted("send_offsets_to_transaction", 2, "before", "SIGSTOP", "--chunk", "5", "--yes") as process:
        wait_until(lambda: _is_stopped(process.pid), "the replay is stopped", WAIT_S)
        done = shop.run("replay", "--yes")
        assert done.status == 0, done.err
        process.send_signal(signal.SIGCONT)
        _, error = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1 and "another replay" in error
    assert shop.replayed_ids() == list(range(30)) and shop.waiting_ids() == []


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_selection_and_limits(shop: Shop) -> None:
    """What is not selected stays, in its order, and can be replayed later."""
    shop.send_letters(40)
    listed = json.loads(shop.run("list", "--format", "json").out)
    assert listed["waiting"] == 40
    assert {(group["source_topic"], group["reason"], group["letters"]) for group in listed["letters"]} == {
        (shop.topic, "failed", 4),
        (shop.topic, "undecodable", 36),
    }
    done = shop.run("replay", "--reason", "failed", "-n", "3", "--chunk", "7", "--yes", "--format", "json")
    counts = json.loads(done.out)
    assert (done.status, counts["replayed"], counts["by_topic"]) == (0, 3, {shop.topic: 3})
    assert shop.replayed_ids() == [0, 10, 20]
    assert len(shop.waiting_ids()) == 37
    order = [json.loads(str(letter["value"]))["id"] for letter in shop.waiting() if letter["partition"] == 1]
    assert order == sorted(order)
    assert shop.run("replay", "--yes").status == 0
    assert shop.replayed_ids() == list(range(40))
    done = shop.run("replay", "--yes")
    assert (done.status, done.out) == (0, "no letter is waiting\n")
    (letters,) = read_status(read_project(str(shop.directory))).dead_letters
    assert (letters.records, letters.waiting) == (48, 0)  # 8 of the first replay were written back
    shown = shop.run("show", "--from", "earliest", "-n", "1", "--utc").out
    assert "reason   failed in step decode\n  error    amount: not a number\n" in shown


def test_records_that_the_cluster_refuses(shop: Shop) -> None:
    """They stay, with the error; the others of their chunk are sent."""
    shop.send_letters(6)
    fix = "value if json.loads(value)['id'] != 3 else value * 100_000"
    done = shop.run("replay", "--fix", fix, "--yes")
    assert done.status == 1 and "5 replayed" in done.out and "1 failed" in done.out, done.err
    assert shop.replayed_ids() == [0, 1, 2, 4, 5]
    (letter,) = shop.waiting()
    assert str(letter["replay_error"]).startswith("MESSAGE_TOO_LARGE: ")
    done = shop.run("replay", "--to", "nowhere-at-all", "--yes")
    assert done.status == 1 and "there is no topic nowhere-at-all" in done.err
    assert shop.waiting_ids() == [3]


def test_before_anything_is_sent(shop: Shop) -> None:
    """A dry run, a fix that is wrong for all letters, a question without a terminal: nothing changes."""
    shop.send_letters(4)
    done = shop.run("replay", "--fix", "value.replace(b',', b'.')", "--dry-run")
    assert done.status == 0
    assert '  before  {"id": 0, "amount": "3,5"}\n  after   {"id": 0. "amount": "3.5"}\n' in done.out
    assert done.out.endswith(f"dry run, nothing was sent: 4 to replay (4 to {shop.topic})\n")
    done = shop.run("replay", "--fix", "valeu", "--yes")
    assert "the fix fails for all of the first 4 letters, so nothing was sent: NameError" in done.err
    (shop.directory / "client.properties").write_text("bootstrap.servers=localhost:1\ndefault.api.timeout.ms=1000\n")
    done = shop.run("list", "--command-config", str(shop.directory / "client.properties"))
    assert done.status == 1 and "localhost:1" in done.err
    done = shop.run("replay")
    assert f"4 letters of {shop.topic}.dead will be sent to {shop.topic}. Standard input is not" in done.err
    assert shop.replayed_ids() == [] and shop.waiting_ids() == [0, 1, 2, 3]


def test_readers_that_see_aborted_records_are_named(shop: Shop) -> None:
    path = shop.directory / "transformations" / "events.py"
    lines = [line for line in path.read_text().splitlines(keepends=True) if "isolation.level" not in line]
    path.write_text("".join(lines))
    shop.send_letters(1)
    done = shop.run("replay", "--yes")
    assert done.status == 0 and f"reads {shop.topic} without kafka.isolation.level=read_committed" in done.err
