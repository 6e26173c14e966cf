"""Lag of a flow behind the ends of its topics, in records and in time. Pure.

The lag in time is how long ago the topics ended where the flow is now: about the age of the oldest record that it has
not processed. It follows from samples of the ends, so that it costs nothing per record, does not depend on the
timestamps that producers set, and grows while a flow stands still. Between two samples the end is taken to have moved
evenly. Where a topic was already longer than the flow's position at the first sample, the lag is at least the time
since then.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from odradek.common.ids import TopicPartition
from odradek.spark.source.offset_limits import Offsets

#: For a partition; with one sample a second, about 17 minutes that a flow is behind. Older ones are thinned out.
_SAMPLES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Lag:
    records: int
    time_ms: int
    #: True where the flow was behind already when the topics were first sampled.
    is_minimum: bool = False


@dataclass(slots=True)
class _End:
    """A partition ended at this offset from one time to another."""

    offset: int
    first_ms: int
    last_ms: int


class LagTimes:
    def __init__(self) -> None:
        self._ends: dict[TopicPartition, list[_End]] = {}

    def add(self, time_ms: int, ends: Offsets) -> None:
        """Add a sample; times never go back."""
        for partition, offset in ends.items():
            samples = self._ends.setdefault(partition, [])
            if samples and offset < samples[-1].offset:  # another topic of the same name
                samples.clear()
            if samples and offset == samples[-1].offset:
                samples[-1].last_ms = time_ms
                continue
            samples.append(_End(offset, time_ms, time_ms))
            if len(samples) > _SAMPLES_MAX:
                del samples[1 : _SAMPLES_MAX // 2 : 2]

    def lag_of(self, position: Offsets, now_ms: int) -> Lag | None:
        """Return None for a flow that reads no topics, or topics that were not sampled."""
        if not position or any(partition not in self._ends for partition in position):
            return None
        records = late_ms = 0
        is_minimum = False
        for partition, offset in position.items():
            samples = self._ends[partition]
            if samples[-1].offset <= offset:
                continue
            records += samples[-1].offset - offset
            is_minimum = is_minimum or samples[0].offset > offset
            late_ms = max(late_ms, now_ms - _time_at(samples, offset))
        return Lag(records, late_ms, is_minimum)

    def forget_before(self, positions: Iterable[Offsets]) -> None:
        """Forget what no flow at these positions needs any more."""
        least: dict[TopicPartition, int] = {}
        for position in positions:
            for partition, offset in position.items():
                least[partition] = min(least.get(partition, offset), offset)
        for partition, offset in least.items():
            samples = self._ends.get(partition, [])
            del samples[: max(_index(samples, offset), 0)]


def _index(samples: list[_End], offset: int) -> int:
    """Return the index of the last sample that is not beyond the offset; -1 if all are."""
    return bisect_right(samples, offset, key=lambda sample: sample.offset) - 1


def _time_at(samples: list[_End], offset: int) -> int:
    """Return when the partition ended at the offset; a later sample is beyond it."""
    index = _index(samples, offset)
    if index < 0:
        return samples[0].first_ms
    previous, following = samples[index], samples[index + 1]
    passed = (offset - previous.offset) / (following.offset - previous.offset)
    return previous.last_ms + round((following.first_ms - previous.last_ms) * passed)


def partitions_of(positions: Iterable[Mapping[TopicPartition, int]]) -> frozenset[TopicPartition]:
    return frozenset(partition for position in positions for partition in position)
