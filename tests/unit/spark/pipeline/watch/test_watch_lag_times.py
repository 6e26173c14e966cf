"""Lag in records and in time, from samples of where topics end."""

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline.watch.lag_times import Lag, LagTimes

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_a_flow_at_the_end_of_its_topics_has_no_lag() -> None:
    times = LagTimes()
    times.add(1_000, {ZERO: 50, ONE: 0})
    assert times.lag_of({ZERO: 50, ONE: 0}, 90_000) == Lag(0, 0)


def test_a_flow_that_stands_still_is_later_with_every_second() -> None:
    times = LagTimes()
    for second in range(10):
        times.add(second * 1_000, {ZERO: second * 100})
    assert times.lag_of({ZERO: 900}, 9_000) == Lag(0, 0)
    assert times.lag_of({ZERO: 300}, 9_000) == Lag(600, 6_000)
    times.add(20_000, {ZERO: 900})
    assert times.lag_of({ZERO: 300}, 20_000) == Lag(600, 17_000)


def test_between_two_samples_the_end_moves_evenly() -> None:
    times = LagTimes()
    times.add(10_000, {ZERO: 0})
    times.add(12_000, {ZERO: 400})
    assert times.lag_of({ZERO: 100}, 12_000) == Lag(300, 1_500)


def test_a_topic_that_rested_is_late_since_it_grew_and_not_since_it_was_first_seen() -> None:
    times = LagTimes()
    for second in range(100):
        times.add(second * 1_000, {ZERO: 7})
    times.add(100_000, {ZERO: 8})
    assert times.lag_of({ZERO: 7}, 101_000) == Lag(1, 2_000)


def test_the_partition_that_is_furthest_behind_counts() -> None:
    times = LagTimes()
    for second in range(5):
        times.add(second * 1_000, {ZERO: second, ONE: second * 10})
    assert times.lag_of({ZERO: 3, ONE: 10}, 4_000) == Lag(1 + 30, 3_000)


def test_a_backlog_from_before_the_first_sample_is_at_least_so_late() -> None:
    times = LagTimes()
    times.add(1_000, {ZERO: 500})
    times.add(4_000, {ZERO: 600})
    assert times.lag_of({ZERO: 100}, 5_000) == Lag(500, 4_000, is_minimum=True)


def test_what_is_not_known_has_no_lag() -> None:
    times = LagTimes()
    times.add(1_000, {ZERO: 500})
    assert times.lag_of({}, 1_000) is None
    assert times.lag_of({ONE: 0}, 1_000) is None


def test_a_topic_that_was_deleted_and_created_again_begins_anew() -> None:
    times = LagTimes()
    times.add(1_000, {ZERO: 500})
    times.add(2_000, {ZERO: 3})
    assert times.lag_of({ZERO: 1}, 3_000) == Lag(2, 1_000, is_minimum=True)


def test_samples_are_bounded_and_those_that_nobody_needs_are_forgotten() -> None:
    times = LagTimes()
    for second in range(10_000):
        times.add(second * 1_000, {ZERO: second})
    assert len(times._ends[ZERO]) <= 1_000
    lag = times.lag_of({ZERO: 5_000}, 9_999_000)
    assert lag is not None and lag.records == 4_999 and abs(lag.time_ms - 4_999_000) < 20_000
    times.forget_before([{ZERO: 9_000}, {ZERO: 9_990}])
    assert times._ends[ZERO][0].offset <= 9_000 < times._ends[ZERO][1].offset
    assert times.lag_of({ZERO: 9_999}, 9_999_000) == Lag(0, 0)
