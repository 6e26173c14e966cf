"""/metrics of a run, as Prometheus reads it."""

import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from odradek.common.addresses import HostPort
from odradek.common.failures import InputError
from odradek.spark.pipeline import events
from odradek.spark.pipeline.state import RunState
from odradek.spark.pipeline.watch.metrics import Metrics
from odradek.spark.pipeline.watch.metrics_server import MetricsServer, parse_metrics_address
from support.spark.recorded_runs import NOON_MS, Recording, eventful_run

EVENTS = (("flow", "events"),)
COUNTS = (("flow", "counts"),)


def values(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name.removeprefix("odradek_pipeline_"), tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def running(directory: Path) -> Recording:
    run = Recording(directory)
    run.start()
    run.session()
    run.live()
    run.dead_letters(4)
    run.seconds(21, produced=1_000, batch_every=2)
    return run


def test_every_figure_of_a_flow(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.restart("counts", "busy")
    found = values(Metrics(lambda: run.state).text().decode())
    assert found["up", ()] == 1 and found["sessions_total", ()] == 1
    assert found["start_time_seconds", ()] == NOON_MS / 1_000
    assert found["rows_in_total", EVENTS] == 19_000 and found["rows_out_total", EVENTS] == 18_990
    assert 900 < found["rows_in_per_second", EVENTS] < 1_100 and 900 < found["rows_out_per_second", EVENTS] < 1_100
    assert found["lag_records", EVENTS] == 2_000 and found["lag_seconds", EVENTS] == 2.0
    assert found["batch_duration_seconds_count", EVENTS] == 10
    assert found["batch_duration_seconds_sum", EVENTS] == 24.0
    assert found["last_batch_duration_seconds", EVENTS] == 2.4
    assert found["last_batch_part_seconds", (*EVENTS, ("part", "addBatch"))] == 1.9
    assert found["last_batch_timestamp_seconds", EVENTS] == (NOON_MS + 19_000) / 1_000
    assert found["state_rows", COUNTS] == 480 and found["state_bytes", COUNTS] == 65_536
    assert found["watermark_timestamp_seconds", COUNTS] == (NOON_MS + 19_000 - 60_000) / 1_000
    assert found["restarts_total", COUNTS] == 1 and found["restarts_total", EVENTS] == 0
    assert found["flow_state", (*EVENTS, ("state", "running"))] == 1
    assert found["dead_letters_records", (("topic", "orders.dead"),)] == 4
    assert found["trigger_exceeded", EVENTS] == 0


def test_what_is_not_known_is_absent(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.are_brokers_up = False
    run.second()
    found = values(Metrics(lambda: run.state).text().decode())
    assert ("lag_records", EVENTS) not in found and ("lag_seconds", EVENTS) not in found
    assert ("rows_out_total", COUNTS) not in found, "its sink does not count"
    assert ("watermark_timestamp_seconds", EVENTS) not in found
    run.lose_driver()
    assert values(Metrics(lambda: run.state).text().decode())["up", ()] == 0


def test_every_metric_is_documented(tmp_path: Path) -> None:
    run = eventful_run(tmp_path)
    run.tell(events.LateTrigger(time_ms=1, flow="events", interval_ms=1, duration_ms=2))
    text = Metrics(lambda: run.state).text().decode()
    names = {family.name for family in text_string_to_metric_families(text) if family.name.startswith("odradek_")}
    assert len(names) >= 20
    guide = (Path(__file__).parents[5] / "docs" / "pipeline.md").read_text()
    assert not [name for name in names if f"`{name}" not in guide]


def test_a_scrape(tmp_path: Path) -> None:
    run = running(tmp_path)
    with MetricsServer(HostPort("127.0.0.1", 0), lambda: run.state) as server:
        with urllib.request.urlopen(f"http://{server.address}/metrics") as response:
            assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            found = values(response.read().decode())
        assert found["rows_in_total", EVENTS] == 19_000
        assert any(name == "process_cpu_seconds_total" for name, _ in found)
        with urllib.request.urlopen(f"http://{server.address}/healthz") as response:
            assert response.read() == b"ok\n"
        run.lose_driver()
        with pytest.raises(urllib.error.HTTPError) as failed:
            urllib.request.urlopen(f"http://{server.address}/healthz")
        assert failed.value.code == 503 and failed.value.read() == b"retrying: Spark's JVM is gone\n"
        failed.value.close()


def test_an_address_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = HostPort("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(InputError, match=r"--metrics: .*choose another port"):
            MetricsServer(address, RunState).__enter__()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9646", HostPort("127.0.0.1", 9646)),
        ("0.0.0.0:9646", HostPort("0.0.0.0", 9646)),
        ("[::1]:80", HostPort("::1", 80)),
        ("localhost:0", HostPort("localhost", 0)),
    ],
)
def test_addresses(text: str, address: HostPort) -> None:
    assert parse_metrics_address(text) == address


@pytest.mark.parametrize("text", ["", "here", "host:", "70000", "a b:1"])
def test_what_is_not_an_address(text: str) -> None:
    with pytest.raises(InputError, match=r"--metrics: .* is not an address, such as 9646 or 0\.0\.0\.0:9646"):
        parse_metrics_address(text)
