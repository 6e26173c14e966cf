"""The numbers are those that Spark's Kafka connector comes to."""

import pytest

from odradek.common.ids import TopicPartition
from odradek.spark.source.ranges import OffsetRange, group_ranges, limit_rate, records_waiting, split_ranges

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


def sizes(tasks: list[tuple[OffsetRange, ...]]) -> list[list[int]]:
    return [[each.size for each in task] for task in tasks]


def ranges_of(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange(TopicPartition("t", number), 0, size) for number, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("ranges", "limits", "expected"),
    [
        ([], {}, []),
        ([10, 20, 30], {}, [[10, 20, 30]]),
        ([60, 50, 40, 30], {}, [[60, 30], [50, 40]]),
        ([1_000, 1, 1], {}, [[1_000], [1, 1]]),
        ([10, 20, 30], {"partitions_min": 2}, [[10, 20], [30]]),
        ([10, 20, 30], {"partitions_min": 9}, [[10], [20], [30]]),
        ([10, 20, 30], {"records_max": 40}, [[10, 20], [30]]),
        ([30, 30, 30], {"records_max": 30}, [[30], [30], [30]]),
    ],
)
def test_tasks_follow_the_number_of_records(
    ranges: list[int], limits: dict[str, int], expected: list[list[int]]
) -> None:
    assert sizes(group_ranges(ranges_of(*ranges), records_per_task=100, **limits)) == expected


def test_the_parts_of_a_partition_that_was_split_keep_a_task_each() -> None:
    split = split_ranges(ranges_of(90, 5, 5), records_max=30)
    assert sizes(group_ranges(split, records_per_task=100, records_max=30)) == [[30], [30], [30], [5, 5]]
    assert sizes(group_ranges(split, records_per_task=100, partitions_min=5)) == [[30], [30], [30], [5], [5]]


def test_no_partition_is_twice_in_a_task_and_nothing_is_left_out() -> None:
    ranges = ranges_of(*range(1, 60, 7))
    for partitions_min in (None, 3, 30):
        for records_max in (None, 10, 31):
            limits = {"partitions_min": partitions_min, "records_max": records_max}
            split = split_ranges(ranges, **limits)
            tasks = group_ranges(split, records_per_task=50, **limits)
            assert sorted(each for task in tasks for each in task) == sorted(split)
            assert all(len({each.partition for each in task}) == len(task) for task in tasks)
            assert records_max is None or all(sum(each.size for each in task) <= records_max for task in tasks)
            assert len(tasks) >= min(partitions_min or 1, len(split))
