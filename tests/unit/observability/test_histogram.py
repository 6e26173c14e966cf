"""Buckets of a histogram add up, and the last one holds everything."""

import pytest

from odradek.observability.histogram import cumulative_buckets


def test_buckets_are_cumulative() -> None:
    assert cumulative_buckets((0.5, 1.0), (2, 0, 3)) == [("0.5", 2), ("1.0", 2), ("+Inf", 5)]


def test_there_is_one_count_more_than_bounds() -> None:
    with pytest.raises(ValueError, match="shorter"):
        cumulative_buckets((0.5, 1.0), (2, 3))
