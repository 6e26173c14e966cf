"""Rows per second, over the time that passes."""

from odradek.spark.pipeline.watch.rates import Rate, Rates


def test_a_steady_stream() -> None:
    rates = Rates(0)
    for second in range(1, 60):
        rates.add(second * 1_000, 100, 50)
    assert rates.at(59_000, is_idle=False) == Rate(100.0, 50.0)


def test_batches_that_take_longer_than_the_window_do_not_look_like_standstill() -> None:
    rates = Rates(0)
    rates.add(30_000, 3_000, 0)
    rates.add(60_000, 3_000, 0)
    assert rates.at(60_000, is_idle=False).rows_in_per_s == 100.0
    assert rates.at(75_000, is_idle=False).rows_in_per_s == 100.0
    assert rates.at(120_000, is_idle=False).rows_in_per_s == 50.0, "it takes longer than the one before"
    assert rates.at(75_000, is_idle=True).rows_in_per_s == 0.0


def test_a_batch_that_is_under_way_does_not_lower_the_rate() -> None:
    rates = Rates(0)
    for second in range(2, 60, 2):
        rates.add(second * 1_000, 200, 0)
    assert rates.at(58_500, is_idle=False) == rates.at(59_900, is_idle=False) == Rate(100.0, 0.0)


def test_before_the_first_batch_there_is_none() -> None:
    assert Rates(5_000).at(5_000, is_idle=False) == Rate(0.0, 0.0)
