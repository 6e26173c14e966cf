"""Trigger intervals of live mode: how they are written, which one counts, and which are exceeded."""

import pytest

from odradek.common.failures import InputError
from odradek.spark.pipeline.live.triggers import SETTING, VIEW_INTERVAL_MS, LateTriggers, Triggers, parse_interval_ms


@pytest.mark.parametrize(
    ("text", "interval_ms"),
    [
        ("10 seconds", 10_000),
        ("1 second", 1_000),
        ("5s", 5_000),
        ("500ms", 500),
        ("500 milliseconds", 500),
        ("1 minute 30 seconds", 90_000),
        ("1.5 minutes", 90_000),
        ("2 hours", 7_200_000),
        ("INTERVAL 10 SECONDS", 10_000),
        ("interval '10' second", 10_000),
    ],
)
def test_intervals_are_read_as_databricks_and_spark_write_them(text: str, interval_ms: int) -> None:
    assert parse_interval_ms(text) == interval_ms


@pytest.mark.parametrize("text", ["soon", "10", "10 fortnights", "-5 seconds", "10 seconds later"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"pipelines\.trigger\.interval: .* such as '10 seconds'"):
        parse_interval_ms(text)


def test_the_setting_of_a_flow_counts_more_than_the_command_and_that_more_than_the_spec() -> None:
    triggers = Triggers(2_000, {SETTING: "3 seconds"})
    assert triggers.interval_ms({SETTING: "1 second"}, is_streaming=True) == 1_000
    assert triggers.interval_ms({}, is_streaming=True) == 2_000
    assert Triggers(None, {SETTING: "3 seconds"}).interval_ms({}, is_streaming=False) == 3_000


def test_without_an_interval_streams_run_as_soon_as_there_is_data_and_views_every_ten_seconds() -> None:
    triggers = Triggers(None, {})
    assert triggers.interval_ms({}, is_streaming=True) == 0
    assert triggers.interval_ms({}, is_streaming=False) == VIEW_INTERVAL_MS == 10_000


def test_a_trigger_that_cannot_be_kept_is_reported_once_and_then_now_and_then() -> None:
    late = LateTriggers()
    reports = [late.is_worth_reporting("orders", 7_000, 5_000) for _ in range(130)]
    assert [number for number, is_reported in enumerate(reports, 1) if is_reported] == [3, 60, 120]


def test_a_batch_in_time_ends_the_row() -> None:
    late = LateTriggers()
    durations_ms = [7_000, 7_000, 4_000, 7_000, 7_000]
    assert not any(late.is_worth_reporting("orders", duration_ms, 5_000) for duration_ms in durations_ms)


def test_a_flow_without_an_interval_is_never_late() -> None:
    late = LateTriggers()
    assert not any(late.is_worth_reporting("orders", 60_000, 0) for _ in range(10))
