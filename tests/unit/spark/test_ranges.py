"""The numbers are those that Spark's Kafka connector comes to."""

import pytest

from odradek.common.ids import TopicPartition
from odradek.spark.ranges import OffsetRange, limit_rate, records_waiting, split_ranges

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def ends(ranges: list[OffsetRange]) -> list[tuple[int, int, int]]:
    return [(each.partition.partition, each.start, each.end) for each in ranges]


def test_a_task_for_each_range_that_has_anything() -> None:
    ranges = [OffsetRange(T0, 5, 9), OffsetRange(T1, 7, 7), OffsetRange(T2, 9, 3)]
    assert ends(split_ranges(ranges)) == [(0, 5, 9)]


def test_enough_ranges_are_not_split() -> None:
    ranges = [OffsetRange(T0, 0, 100), OffsetRange(T1, 0, 1)]
    assert ends(split_ranges(ranges, partitions_min=2)) == [(0, 0, 100), (1, 0, 1)]


@pytest.mark.parametrize(
    ("sizes", "partitions_min", "expected"),
    [
        ([5], 3, [(0, 0, 1), (0, 1, 3), (0, 3, 5)]),
        ([1, 100], 4, [(0, 0, 1), (1, 0, 33), (1, 33, 66), (1, 66, 100)]),
        ([2], 5, [(0, 0, 1), (0, 1, 2)]),
        ([2], 10**12, [(0, 0, 1), (0, 1, 2)]),
        ([10, 10], 3, [(0, 0, 5), (0, 5, 10), (1, 0, 5), (1, 5, 10)]),
    ],
)
def test_large_ranges_are_split_in_proportion(
    sizes: list[int], partitions_min: int, expected: list[tuple[int, int, int]]
) -> None:
    ranges = [OffsetRange(TopicPartition("t", number), 0, size) for number, size in enumerate(sizes)]
    assert ends(split_ranges(ranges, partitions_min=partitions_min)) == expected


def test_no_task_has_more_records_than_it_may() -> None:
    found = split_ranges([OffsetRange(T0, 10, 21), OffsetRange(T1, 0, 4)], records_max=4)
    assert ends(found) == [(0, 10, 13), (0, 13, 17), (0, 17, 21), (1, 0, 4)]


def test_a_limit_is_shared_in_proportion_to_what_waits_and_starves_nobody() -> None:
    start, latest = {T0: 0, T1: 100, T2: 7}, {T0: 900, T1: 200, T2: 7}
    assert limit_rate(100, start, latest) == {T0: 90, T1: 110, T2: 7}
    assert limit_rate(1, start, latest) == {T0: 1, T1: 101, T2: 7}
    assert limit_rate(5_000, start, latest) == latest
    assert limit_rate(10, latest, latest) == latest


def test_what_waits_is_counted_from_where_the_batch_begins() -> None:
    assert records_waiting({T0: 5, T1: 9}, {T0: 10, T1: 9}) == 5
