"""The examples of pipelines, run as their readers run them, beside what plain Python makes of the same input."""

import importlib.util
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import fastavro
import pyarrow.dataset as dataset
import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from odradek.testing import Cluster
from support.fakes.schema_registry import RegistryStub, registry_stub
from support.processes.nodes import ODRADEK
from support.spark.pipelines import is_drained, quick_settings
from support.spark.session import environment
from support.waiting import Hopeless, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

EXAMPLES = Path(__file__).parents[2] / "examples"
_TIMEOUT_S = 300
_STOP_TIMEOUT_S = 120

_PARQUET = dataset.ParquetFileFormat(read_options=dataset.ParquetReadOptions(coerce_int96_timestamp_unit="us"))

#: To compile a query takes longer than to run it on a few rows.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with Cluster() as cluster:
        for topic in ("readings", "averages", "orders", "payments", "paid-orders", "events", "events.dead"):
            cluster.create_topic(topic, partitions=1)
        for partner in ("json", "csv", "protobuf"):
            cluster.create_topic(f"events-{partner}", partitions=2)
        yield cluster.bootstrap


class Example:
    """A copy of an example's project that runs continuously: each round of its input is sent while it does."""

    def __init__(self, name: str, directory: Path, bootstrap: str, registry: str = "") -> None:
        self.name, self.directory, self._bootstrap = name, directory / name, bootstrap
        self._environment = {
            **os.environ,
            **environment(),
            "ODRADEK_BOOTSTRAP": bootstrap,
            "SCHEMA_REGISTRY": registry,
        }
        self._registry = registry
        shutil.copytree(EXAMPLES / name, self.directory)
        path = self.directory / "generate.py"
        spec = importlib.util.spec_from_file_location(f"generate_{name}", path)
        assert spec is not None and spec.loader is not None
        self.generator: ModuleType = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = self.generator
        spec.loader.exec_module(self.generator)

    def send(self, number: int) -> None:
        command = [sys.executable, "generate.py", str(number)]
        done = subprocess.run(
            command, cwd=self.directory, env=self._environment, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
        assert (done.returncode, done.stderr) == (0, "")

    @contextmanager
    def running(self) -> Iterator[None]:
        settings = {
            **quick_settings(),
            **_INTERPRETED,
            f"spark.{self.name}.bootstrap": self._bootstrap,
            **({f"spark.{self.name}.registry": self._registry} if self._registry else {}),
        }
        command = [*ODRADEK, "pipeline", "run", str(self.directory), "--continuous"]
        command += ["--master", "local[2]", "--retries", "100", "--format", "json"]
        command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        with (self.directory / "events.jsonl").open("w") as output, (self.directory / "errors").open("w") as errors:
            process = subprocess.Popen(command, env=self._environment, stdout=output, stderr=errors)
        self._process = process
        try:
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(_STOP_TIMEOUT_S) == 0, self._said()
        finally:
            process.kill()
            process.wait()

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        def is_so() -> bool:
            if self._process.poll() is not None:
                raise Hopeless(self._said())
            return condition()

        wait_until(is_so, what, timeout_s=_TIMEOUT_S)

    def events(self) -> list[dict[str, Any]]:
        lines = (self.directory / "events.jsonl").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def wait_for(self, topic: str, count: int) -> None:
        """Until the topic has so many records, or more, and all flows have processed what there is."""
        self.wait(
            lambda: is_drained(self.events()) and len(committed(self._bootstrap, topic)) >= count,
            f"{count} records in {topic}",
        )

    def table(self, name: str) -> list[dict[str, Any]]:
        """Spark's files do not say that their timestamps are in UTC."""
        found = dataset.dataset(self.directory / "storage" / "warehouse" / name, format=_PARQUET).to_table()
        return [
            {key: each.replace(tzinfo=UTC) if isinstance(each, datetime) else each for key, each in row.items()}
            for row in found.to_pylist()
        ]

    def _said(self) -> str:
        return (self.directory / "errors").read_text()


def committed(bootstrap: str, topic: str) -> list[Message]:
    """All of a topic's only partition, as consumers see it that read what is committed."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "look", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Message] = []
    while True:
        message = consumer.poll(60)
        assert message is not None, f"{topic} does not end"
        if message.error() is not None:
            break
        found.append(message)
    consumer.close()
    return found


def values(bootstrap: str, topic: str) -> list[Any]:
    return [json.loads(each.value() or b"") for each in committed(bootstrap, topic)]


def test_windows(bootstrap: str, tmp_path: Path) -> None:
    example = Example("windows", tmp_path, bootstrap)
    rounds = [example.generator.readings(number) for number in (1, 2, 3)]
    expected, late = averages_of(rounds)
    example.send(1)
    with example.running():
        example.wait(lambda: is_drained(example.events()), "the first round is processed")
        assert len(values(bootstrap, "averages")) == 3 * 3, "five minutes less the two that are still open"
        example.send(2)
        example.send(3)
        example.wait_for("averages", len(expected))
    found = {
        (each["sensor"], each["minute"]): (each["celsius"], each["readings"]) for each in example.table("averages")
    }
    assert {key: count for key, (_, count) in found.items()} == {key: len(each) for key, each in expected.items()}
    for key, celsius in expected.items():
        assert found[key][0] == pytest.approx(sum(celsius) / len(celsius))
    assert Counter({each["minute"]: each["late"] for each in example.table("late_readings")}) == late
    in_topic = values(bootstrap, "averages")
    assert len(in_topic) == len(found), "each average once"
    assert {(each["sensor"], datetime.fromisoformat(each["minute"])) for each in in_topic} == set(found)


def averages_of(
    rounds: list[list[dict[str, Any]]],
) -> tuple[dict[tuple[str, datetime], list[float]], Counter[datetime]]:
    """Spark's rule: what is of a minute that ended a minute before the latest of all rounds before is too late."""
    found: dict[tuple[str, datetime], list[float]] = defaultdict(list)
    late: Counter[datetime] = Counter()
    over = datetime.min.replace(tzinfo=UTC)
    for readings in rounds:
        times = [datetime.fromisoformat(each["at"]) for each in readings]
        for each, at in zip(readings, times, strict=True):
            minute = at.replace(second=0)
            if minute + timedelta(minutes=1) <= over:
                late[minute] += 1
            else:
                found[each["sensor"], minute].append(each["celsius"])
        over = max(over, max(times) - timedelta(minutes=1))
    assert late and sum(late.values()) == 3, "the example shows late readings"
    return {key: each for key, each in found.items() if key[1] + timedelta(minutes=1) <= over}, late


def test_joins(bootstrap: str, tmp_path: Path) -> None:
    with registry_stub() as registry:
        example = Example("joins", tmp_path, bootstrap, registry.url)
        expected = paid_orders_of(example.generator)
        example.send(1)
        with example.running():
            example.wait(lambda: is_drained(example.events()), "the first round is processed")
            example.send(2)
            example.wait_for("paid-orders", len(expected))
        in_topic = [paid_order(each.value() or b"", registry) for each in committed(bootstrap, "paid-orders")]
    assert len(in_topic) == len(expected), "each paid order once"
    assert {str(each["id"]): each for each in in_topic} == expected
    totals: dict[Any, list[Decimal]] = defaultdict(list)
    for each in expected.values():
        totals[each["country"]].append(each["amount"])
    sales = {each["country"]: (each["orders"], each["amount"]) for each in example.table("sales_by_country")}
    assert sales == {country: (len(amounts), sum(amounts)) for country, amounts in totals.items()}
    orders = {str(each["id"]) for number in (1, 2) for each in example.generator.orders(number)}
    assert {each["id"] for each in example.table("unpaid_orders")} == orders - set(expected)


def paid_orders_of(generator: ModuleType) -> dict[str, dict[str, Any]]:
    countries = {each["customer"]: each["country"] for each in generator.customers()}
    paid = {each["order_id"]: each for number in (1, 2) for each in generator.payments(number)}
    found = {}
    for order in (each for number in (1, 2) for each in generator.orders(number)):
        payment = paid.get(order["id"])
        if payment is None or payment["paid_at"] - order["ordered_at"] > timedelta(minutes=10):
            continue
        found[str(order["id"])] = {
            "id": order["id"],
            "country": countries.get(order["customer"]),
            "amount": order["amount"],
            "method": payment["method"],
            "waited_s": (payment["paid_at"] - order["ordered_at"]).total_seconds(),
        }
    assert {each["method"] for each in found.values()} == {"CARD", "CASH"}
    return found


def paid_order(value: bytes, registry: RegistryStub) -> Mapping[str, Any]:
    assert value[0] == 0
    answer = registry.answer(f"/schemas/ids/{int.from_bytes(value[1:5], 'big')}", b"")
    assert answer is not None
    found = fastavro.schemaless_reader(io.BytesIO(value[5:]), json.loads(answer["schema"]), None)
    assert isinstance(found, dict)
    return found


def test_dead_letters(bootstrap: str, tmp_path: Path) -> None:
    example = Example("dead_letters", tmp_path, bootstrap)
    generator = example.generator
    sent = [each for number in (1, 2) for each in generator.events(number)]
    good = {each.id: each for each in sent if each.coupon in ("", "SAVE-10", "SAVE-50")}
    example.send(1)
    with example.running():
        example.wait(lambda: is_drained(example.events()), "the first round is processed")
        example.send(2)
        example.wait_for("events", len(good))
    found = values(bootstrap, "events")
    assert len(found) == len(good) < len(sent), "each event once"
    for each in found:
        event = good[each["id"]]
        percent = int(event.coupon.removeprefix("SAVE-") or 0)
        assert (each["cents"], each["partner"]) == (event.cents * (100 - percent) // 100, f"events-{event.partner}")
        assert datetime.fromisoformat(each["at"]) == event.at
    counts = Counter(f"events-{each.partner}" for each in good.values())
    assert {each["partner"]: each["events"] for each in example.table("sales_by_partner")} == counts

    letters = committed(bootstrap, "events.dead")
    assert reasons_of(letters) == {
        ("decode", "undecodable"): 2 * sum(map(len, generator.BROKEN.values())),
        ("price", "failed"): sum(each.id not in good for each in sent),
    }
    broken = [each.value() for each in letters if dict(each.headers() or [])["odradek-step"] == b"decode"]
    assert Counter(broken) == Counter(value for values in generator.BROKEN.values() for value in values * 2)
    places = {
        tuple(dict(each.headers() or [])[f"odradek-{name}"] for name in ("topic", "partition", "offset"))
        for each in letters
    }
    assert len(places) == len(letters), "each names another record"
    said = {dict(each.headers() or [])["odradek-message"].decode() for each in letters}
    assert {"field id is missing or null", "data after the JSON object", "3 fields, expected 4"} <= said
    assert {"SAVE-90 is no coupon of ours", "there is no value", "field colour is not in the schema"} <= said


def reasons_of(letters: list[Message]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for each in letters:
        headers = dict(each.headers() or [])
        assert headers["odradek-topic"] == b"events-" + headers["sent-by"]
        found[headers["odradek-step"].decode(), headers["odradek-reason"].decode()] += 1
    return found
