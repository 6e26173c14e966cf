"""Ranges of offsets, and their division into tasks by the rules of Spark's Kafka connector. Pure."""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.spark.source.offset_limits import Offsets


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """Offsets from `start` to `end`, `end` excluded. Because of gaps from compaction and transactions, a range has at
    most as many records as its size."""

    partition: TopicPartition
    start: int
    end: int
    #: ZERO_UUID if unknown.
    topic_id: bytes = ZERO_UUID

    @property
    def size(self) -> int:
        return self.end - self.start


def split_ranges(
    ranges: Iterable[OffsetRange], *, partitions_min: int | None = None, records_max: int | None = None
) -> list[OffsetRange]:
    """Return a range for each task: one for each range that is not empty, more for large ranges.

    `records_max` limits the size of each task. `partitions_min` requests about so many tasks in total: ranges are split
    in proportion to their sizes; ranges that are too small to be split do not count.
    """
    tasks = [offsets for offsets in ranges if offsets.size > 0]
    if records_max is not None:
        tasks = [part for offsets in tasks for part in _split(offsets, -(-offsets.size // records_max))]
    if partitions_min is None or len(tasks) >= partitions_min:
        return tasks
    total = sum(offsets.size for offsets in tasks)
    unsplit = [offsets for offsets in tasks if _part_count(offsets.size, total, partitions_min) == 1]
    unsplit_ranges = set(unsplit)
    split_total = total - sum(offsets.size for offsets in unsplit)
    split_min = max(partitions_min - len(unsplit), 1)
    return [
        part
        for offsets in tasks
        for part in (
            [offsets]
            if offsets in unsplit_ranges
            else _split(offsets, _part_count(offsets.size, split_total, split_min))
        )
    ]


def group_ranges(
    ranges: Sequence[OffsetRange],
    *,
    records_per_task: int,
    partitions_min: int | None = None,
    records_max: int | None = None,
) -> list[tuple[OffsetRange, ...]]:
    """Distribute the result of `split_ranges` over tasks, so that the number of tasks follows the number of records.

    Small ranges are grouped until a task has about `records_per_task` records. There remain at least `partitions_min`
    tasks, if there are as many ranges, and no task has more than `records_max` records. A large range, and each part of
    a partition that was split, has its own task.
    """
    parts = Counter(offsets.partition for offsets in ranges)
    small = [offsets for offsets in ranges if parts[offsets.partition] == 1 and offsets.size < records_per_task]
    tasks = [[offsets] for offsets in ranges if parts[offsets.partition] > 1 or offsets.size >= records_per_task]
    needed = -(-sum(offsets.size for offsets in small) // records_per_task)
    count = max(needed, (partitions_min or 1) - len(tasks), 1)
    tasks += _share(small, min(count, len(small)), records_max)
    return sorted(tuple(sorted(task)) for task in tasks)


def _share(ranges: Iterable[OffsetRange], count: int, records_max: int | None) -> list[list[OffsetRange]]:
    """Assign each range, largest first, to the task with the fewest records so far, or to a new task if it is full."""
    tasks: list[list[OffsetRange]] = [[] for _ in range(count)]
    by_size = [(0, index) for index in range(count)]
    for offsets in sorted(ranges, key=lambda offsets: offsets.size, reverse=True):
        size, index = by_size[0]
        if records_max is not None and size and size + offsets.size > records_max:
            heapq.heappush(by_size, (offsets.size, len(tasks)))
            tasks.append([offsets])
        else:
            heapq.heapreplace(by_size, (size + offsets.size, index))
            tasks[index].append(offsets)
    return tasks


def limit_rate(limit: int, start: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """Return the end of a micro-batch that may read `limit` records.

    Each partition gets a share in proportion to its waiting records, and at least one record. `start` has every
    partition of `latest`."""
    waiting = {partition: end - start[partition] for partition, end in latest.items() if end > start[partition]}
    total = sum(waiting.values())
    if total == 0:
        return dict(latest)
    ends = dict(latest)
    for partition, size in waiting.items():
        share = limit * (size / total)
        record_count = math.ceil(share) if share < 1 else math.floor(share)
        ends[partition] = min(latest[partition], start[partition] + record_count)
    return ends


def records_waiting(start: Offsets, latest: Offsets) -> int:
    return sum(max(0, end - start.get(partition, 0)) for partition, end in latest.items())


def _part_count(size: int, total: int, partitions_min: int) -> int:
    # Rounded half up, as in Java.
    return max(int(size / total * partitions_min + 0.5), 1)


def _split(offsets: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    """Yield so many parts, or one for each record if there are fewer records."""
    start, parts = offsets.start, min(parts, offsets.size)
    for part in range(parts):
        end = start + (offsets.end - start) // (parts - part)
        yield OffsetRange(offsets.partition, start, end, offsets.topic_id)
        start = end
