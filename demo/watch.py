"""Looks each second how far the pipeline is behind the topics, by the consumer group that mirrors its offsets."""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from odradek.client import KafkaError, OffsetSpec, TopicPartition, blocking

_EACH_S = 1.0
#: With a broker down an answer may take its time; the next look is not held up for long.
_TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True)
class Sample:
    time_ms: int
    #: Records in the topics, and those of them that the pipeline has not read.
    records: int
    lag: int


class LagWatch:
    """Of a group that has read these topics, each of so many partitions, from their beginning."""

    def __init__(self, bootstrap: str, group: str, topics: Iterable[str], partitions: int) -> None:
        self._admin = blocking.Admin(bootstrap_servers=bootstrap)
        self._group = group
        self._places = [TopicPartition(topic, number) for topic in topics for number in range(partitions)]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lag", daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> Self:
        self._admin.start()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._admin.close()

    def _run(self) -> None:
        while not self._ended.wait(_EACH_S):
            with suppress(KafkaError, TimeoutError):  # a broker is down; the next look will tell
                self.samples.append(self.look())

    def look(self) -> Sample:
        ends = self._admin.list_offsets(dict.fromkeys(self._places, OffsetSpec.LATEST), timeout_ms=_TIMEOUT_MS)
        done = self._admin.list_consumer_group_offsets([self._group], timeout_ms=_TIMEOUT_MS)[self._group]
        records = sum(ends[place].offset or 0 for place in self._places)
        lag = records - sum(done[place].offset for place in self._places if place in done)
        return Sample(time.time_ns() // 1_000_000, records, max(lag, 0))
