"""What Spark says of flows, in its own words."""

import threading

import pytest

from odradek.spark.pipeline.driver import ends_within, flow_state


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Flow spark_catalog.default.orders is QUEUED.", ("spark_catalog.default.orders", "queued")),
        ("Flow totals is PLANNING.", ("totals", "starting")),
        ("Flow orders is RUNNING.", ("orders", "running")),
        ("Flow orders has COMPLETED.", ("orders", "completed")),
        ("Flow 'a.b.orders' has FAILED.\nError: [SOME] thing is WRONG", ("a.b.orders", "failed")),
        ("Flow 'orders' SKIPPED due to upstream failure(s).", ("orders", "skipped")),
        ("Flow 'orders' is EXCLUDED.", ("orders", "skipped")),
        ("Flow 'orders' has STOPPED.", ("orders", "stopped")),
        ("Failed to resolve flow: 'orders'.\nError: what", ("orders", "failed")),
        ("Failed to resolve flow due to upstream failure: 'copies'.\nError: what", None),
        ("Run is COMPLETED.", None),
        ("Run is RUNNING.", None),
    ],
)
def test_states_of_flows(message: str, found: tuple[str, str] | None) -> None:
    assert flow_state(message) == found


def test_a_call_that_deadlocks_keeps_nobody() -> None:
    lock = threading.Lock()
    with lock:
        assert not ends_within(0.05, lock.acquire)
    assert ends_within(60, lambda: None)
