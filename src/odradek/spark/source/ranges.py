"""How a batch is cut into tasks: ranges of offsets, split and limited as Spark's Kafka connector does it. Pure."""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.spark.source.offset_limits import Offsets


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """From `start` up to, and without, `end`. Compaction and transactions leave holes: a range has at most as many
    records as its size."""

    partition: TopicPartition
    start: int
    end: int
    #: ZERO_UUID if it is not known.
    topic_id: bytes = ZERO_UUID

    @property
    def size(self) -> int:
        return self.end - self.start


def split_ranges(
    ranges: Iterable[OffsetRange], *, partitions_min: int | None = None, records_max: int | None = None
) -> list[OffsetRange]:
    """One task for each range that has anything; more for the large ones.

    `records_max` bounds each task. `partitions_min` asks for about as many tasks in all: ranges are split in proportion
    to their sizes, those that are too small to be split do not count.
    """
    found = [each for each in ranges if each.size > 0]
    if records_max is not None:
        found = [part for each in found for part in _cut(each, -(-each.size // records_max))]
    if partitions_min is None or len(found) >= partitions_min:
        return found
    total = sum(each.size for each in found)
    whole = [each for each in found if _parts(each.size, total, partitions_min) == 1]
    kept = set(whole)
    split_total = total - sum(each.size for each in whole)
    split_min = max(partitions_min - len(whole), 1)
    return [
        part
        for each in found
        for part in ([each] if each in kept else _cut(each, _parts(each.size, split_total, split_min)))
    ]


def group_ranges(
    ranges: Sequence[OffsetRange],
    *,
    records_wanted: int,
    partitions_min: int | None = None,
    records_max: int | None = None,
) -> list[tuple[OffsetRange, ...]]:
    """Share the result of `split_ranges` among tasks, so that their number follows the number of records.

    Small ranges are put together until a task has about `records_wanted` records. That leaves at least `partitions_min`
    tasks, if there were as many ranges, and tasks of at most `records_max` records. Large ranges, and the parts of a
    partition that was split, have a task each.
    """
    parts = Counter(each.partition for each in ranges)
    small = [each for each in ranges if parts[each.partition] == 1 and each.size < records_wanted]
    tasks = [[each] for each in ranges if parts[each.partition] > 1 or each.size >= records_wanted]
    count = max(-(-sum(each.size for each in small) // records_wanted), (partitions_min or 1) - len(tasks), 1)
    tasks += _share(small, min(count, len(small)), records_max)
    return sorted(tuple(sorted(task)) for task in tasks)


def _share(ranges: Iterable[OffsetRange], count: int, records_max: int | None) -> list[list[OffsetRange]]:
    """Largest first, each range goes to the task that has the fewest records so far; to a new one if that is full."""
    tasks: list[list[OffsetRange]] = [[] for _ in range(count)]
    by_size = [(0, number) for number in range(count)]
    for each in sorted(ranges, key=lambda each: each.size, reverse=True):
        size, number = by_size[0]
        if records_max is not None and size and size + each.size > records_max:
            heapq.heappush(by_size, (each.size, len(tasks)))
            tasks.append([each])
        else:
            heapq.heapreplace(by_size, (size + each.size, number))
            tasks[number].append(each)
    return tasks


def limit_rate(limit: int, start: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """How far a micro-batch goes that may take `limit` records: each partition its share, in proportion to what waits
    there, and the small ones at least one. `start` has every partition of `latest`."""
    waiting = {partition: end - start[partition] for partition, end in latest.items() if end > start[partition]}
    total = sum(waiting.values())
    if total == 0:
        return dict(latest)
    found = dict(latest)
    for partition, size in waiting.items():
        share = limit * (size / total)
        taken = math.ceil(share) if share < 1 else math.floor(share)
        found[partition] = min(latest[partition], start[partition] + taken)
    return found


def records_waiting(start: Offsets, latest: Offsets) -> int:
    return sum(max(0, end - start.get(partition, 0)) for partition, end in latest.items())


def _parts(size: int, total: int, partitions_min: int) -> int:
    # Half goes up, as in Java.
    return max(int(size / total * partitions_min + 0.5), 1)


def _cut(whole: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    """Into as many, or into single records if it has fewer."""
    start, parts = whole.start, min(parts, whole.size)
    for part in range(parts):
        end = start + (whole.end - start) // (parts - part)
        yield OffsetRange(whole.partition, start, end, whole.topic_id)
        start = end
