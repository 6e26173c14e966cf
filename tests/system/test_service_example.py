"""The example of the documentation, run as its reader runs it: the command, its pages, its end by SIGTERM."""

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message

from odradek.testing import Cluster
from support.processes.nodes import ODRADEK
from support.waiting import wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "service"


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with Cluster() as cluster:
        for topic in ("orders", "receipts"):
            cluster.create_topic(topic, partitions=3)
        yield cluster.bootstrap


def read(bootstrap: str, topic: str, count: int) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "look", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[Message] = []

    def all_there() -> bool:
        found.extend(each for each in consumer.consume(count - len(found), 0.5) if each.error() is None)
        return len(found) >= count

    wait_until(all_there, f"{count} messages in {topic}")
    consumer.close()
    return found


def page(address: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_example_of_the_documentation(bootstrap: str, tmp_path: Path) -> None:
    environment = os.environ | {"ODRADEK_BOOTSTRAP": bootstrap}
    log = tmp_path / "service.log"
    with log.open("w") as output:
        command = [*ODRADEK, "service", "run", "shop:app", "--admin", "127.0.0.1:0"]
        service = subprocess.Popen(command, cwd=EXAMPLE, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        sending = [sys.executable, "send_orders.py"]
        sent = subprocess.run(sending, cwd=EXAMPLE, env=environment, capture_output=True, text=True, timeout=120)
        assert (sent.returncode, sent.stderr) == (0, "")
        assert sent.stdout == f"sent 5 messages to orders at {bootstrap}\n"

        receipts = sorted(each.value() or b"" for each in read(bootstrap, "receipts", 3))
        assert receipts == [
            b'{"order":1,"paid":9.5,"attempts":1}',
            b'{"order":2,"paid":120.0,"attempts":1}',
            b'{"order":3,"paid":7.0,"attempts":3}',
        ]
        dead = {dict(each.headers() or [])["odradek-reason"] for each in read(bootstrap, "orders.dead", 2)}
        assert dead == {b"rejected", b"undecodable"}

        found = re.search(r"metrics and health on http://(\S+)", log.read_text())
        assert found is not None
        assert page(found[1], "/healthz") == (200, "ok\n")
        status, figures = page(found[1], "/metrics")
        assert status == 200
        assert 'odradek_service_finished_messages_total{ending="handled",topic="orders"} 3.0' in figures
        assert 'odradek_service_finished_messages_total{ending="dead",topic="orders"} 2.0' in figures
        assert page(found[1], "/other")[0] == 404

        service.send_signal(signal.SIGTERM)
        assert service.wait(120) == 0
    finally:
        service.kill()
        service.wait()
    said = log.read_text()
    assert f"service shop, group shop, at {bootstrap}, at least once" in said
    assert re.search(r"orders +charge +Order +16 +key +10 s +1 attempt more, after 2s, orders\.dead", said)
    assert "made topic orders.retry.2s" in said
    assert (
        "rejected: odradek.service.context.Reject: order 4 has nothing to pay, attempt 1; dead, in orders.dead" in said
    )
    assert "stopped: handled 3, failed attempts 4, to retry topics 1, dead 2" in said
    assert "Traceback" not in said


def test_what_a_person_may_do_wrong(bootstrap: str, tmp_path: Path) -> None:
    (tmp_path / "several.py").write_text(
        "from odradek.service import Service\n"
        "app, empty = Service('a'), Service('b')\n"
        "app.handler('no-such-topic')(lambda value: None)\n"
    )
    (tmp_path / "client.properties").write_text("linger.ns=5\n")

    def said(*arguments: str) -> str:
        command = [*ODRADEK, "service", "run", *arguments, "-b", bootstrap]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 1, done
        return done.stderr

    assert said("several:empty") == "odradek: service b has no handlers; @app.handler(topic) makes one.\n"
    assert "Create it with `odradek topics create no-such-topic`" in said("several:app")
    assert "linger.ns is a setting of neither" in said("several:app", "--command-config", "client.properties")
