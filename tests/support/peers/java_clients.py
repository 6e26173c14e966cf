"""Apache Kafka's Java clients and its tools in one process that stays: `JavaClients.java`, asked over its input.

`with JavaClients(directory) as java: java.produce(...)`. A question is one JSON object a line, and so is its answer.
"""

import base64
import itertools
import json
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from support.peers import downloads as peers
from support.peers import jvm

_SOURCE = Path(__file__).with_suffix("").with_name("JavaClients.java")
_HEAP_MB = 512
_END_TIMEOUT_S = 60
_TAIL_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class JavaRecord:
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    partition: int
    offset: int
    timestamp_type: str
    record: JavaRecord


@dataclass(frozen=True, slots=True)
class Consumed:
    records: list[Fetched]
    #: What came from each node.
    bytes_of_node: dict[str, int]


@dataclass(frozen=True, slots=True)
class Said:
    status: int
    output: str
    errors: str


class JavaClients:
    def __init__(self, directory: Path, *, flags: Sequence[str] | None = None) -> None:
        """With flags that start the JVM quickly, or with these."""
        self._log = directory / "java-clients.log"
        self._command = peers.java_command(
            _SOURCE.stem, flags=jvm.quick_flags(_HEAP_MB) if flags is None else flags, classes=jvm.compiled(_SOURCE)
        )
        self._process: subprocess.Popen[str] | None = None
        #: Answers come in the order of the questions.
        self._turn = threading.Lock()

    def __enter__(self) -> "JavaClients":
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate(timeout=_END_TIMEOUT_S)

    def ask(self, what: str, **arguments: object) -> Any:
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        with self._turn:
            self._process.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the process has ended"}
        assert "error" not in answer, f"{what}: {answer['error']}\n{self._log.read_text()[-_TAIL_CHARACTERS:]}"
        return answer

    def produce(self, topic: str, records: Iterable[JavaRecord], config: Mapping[str, str]) -> list[dict[str, Any]]:
        """For each record its partition, offset and timestamp, or the name of its error."""
        given = [
            {
                "key": _text(record.key),
                "value": _text(record.value),
                "headers": [[name, _text(value)] for name, value in record.headers],
                "timestamp": record.timestamp,
                "partition": record.partition,
            }
            for record in records
        ]
        sent: list[dict[str, Any]] = self.ask("produce", topic=topic, records=given, config=dict(config))["sent"]
        return sent

    def consume(
        self, topic: str, partitions: int, count: int, config: Mapping[str, str], *, offset: int = 0
    ) -> Consumed:
        """From assigned partitions, all from one offset; fewer than `count` if no more come in a minute."""
        asked = {"topic": topic, "partitions": partitions, "count": count, "offset": offset}
        answer = self.ask("consume", config=dict(config), **asked)
        return Consumed([_fetched(record) for record in answer["records"]], answer["bytes_of_node"])

    def offsets(
        self, topic: str, partitions: int, timestamp: int, config: Mapping[str, str]
    ) -> dict[int, tuple[int, int, int]]:
        """By partition: its first offset, its end, and the first offset at or after a time, -1 for none."""
        answer = self.ask("offsets", topic=topic, partitions=partitions, timestamp=timestamp, config=dict(config))
        return {int(partition): tuple(found) for partition, found in answer.items()}

    def produce_load(self, topic: str, count: int, values: Iterable[bytes], config: Mapping[str, str]) -> float:
        """Seconds until so many records were acknowledged, of these values in turn."""
        given = {"topic": topic, "count": count, "values": [_text(value) for value in values]}
        return float(self.ask("produce_load", config=dict(config), **given)["seconds"])

    def transactions(
        self, topic: str, partitions: int, config: Mapping[str, str], *, producers: int, rounds: int
    ) -> list[str]:
        """Commit and abort in turn, without a pause, by many producers. Returns the errors of those that failed."""
        load = {"topic": topic, "partitions": partitions, "producers": producers, "rounds": rounds}
        errors: list[str] = self.ask("transactions", config=dict(config), **load)["errors"]
        return errors

    def consume_load(self, topic: str, partitions: int, count: int, config: Mapping[str, str]) -> float:
        """Seconds for so many records from the beginning of all partitions, less the time to the first."""
        answer = self.ask("consume_load", topic=topic, partitions=partitions, count=count, config=dict(config))
        return float(answer["seconds"])

    def share_poll(self, topic: str, config: Mapping[str, str]) -> str | None:
        """The error of a share consumer, or None if it polls for a minute without one."""
        failure: str | None = self.ask("share_poll", topic=topic, config=dict(config)).get("failure")
        return failure

    def tool(self, main_class: str, *arguments: str, given: str = "") -> Said:
        """One of Kafka's tools, run to its end with this as its input."""
        answer = self.ask("tool", arguments=list(arguments), input=given, **{"class": main_class})
        return Said(answer["status"], answer["output"], answer["errors"])


class JavaMember:
    """A Java consumer that is subscribed to a topic from `start` on, as `support.loads.group_members.Member` is."""

    _numbers = itertools.count()

    def __init__(self, java: JavaClients, bootstrap: str, group: str, topic: str, **options: str) -> None:
        self._java = java
        self._name = f"member {next(self._numbers)}"
        self._topic = topic
        self._config = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            **options,
        }

    def start(self) -> "JavaMember":
        self._java.ask("join_group", name=self._name, topic=self._topic, config=self._config)
        return self

    @property
    def partitions(self) -> frozenset[int]:
        return frozenset(self._java.ask("member_partitions", name=self._name)["partitions"])

    def commit(self, offsets: Mapping[int, int]) -> None:
        given = {str(partition): offset for partition, offset in offsets.items()}
        self._java.ask("member_commit", name=self._name, offsets=given)

    def stop(self) -> None:
        self._java.ask("leave_group", name=self._name)


def _fetched(told: Mapping[str, Any]) -> Fetched:
    headers = tuple((name, _bytes(value)) for name, value in told["headers"])
    record = JavaRecord(_bytes(told["key"]), _bytes(told["value"]), headers, told["timestamp"], told["partition"])
    return Fetched(told["partition"], told["offset"], told["timestamp_type"], record)


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
