"""Sampler of the ends of a pipeline's topics, every second, and of its dead letters, every few seconds.

In two threads, since counting dead letters may take long; what they find goes into a queue of the runner. While brokers
do not answer, samples without ends are delivered: the runner knows then that lag is not known.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline.definitions import read_definitions, uses_of
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.topics import DeadLetterCounts, Lags
from odradek.spark.source.offset_limits import Offsets

_INTERVAL_S = 1.0
_DEAD_LETTERS_INTERVAL_S = 5.0

#: For a thread that waits for an answer.
_STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class EndSample:
    time_ms: int
    #: None where brokers do not answer.
    ends: Offsets | None


@dataclass(frozen=True, slots=True)
class DeadLetterSample:
    #: By topic; None where the topic does not exist, or its cluster does not answer.
    records: dict[str, int | None]


class Sampler:
    """`deliver` is called in other threads. Use it as a context."""

    def __init__(self, project: Project, deliver: Callable[[EndSample | DeadLetterSample], None]) -> None:
        """`project` has the settings of the run: they may say where the brokers are."""
        self._deliver = deliver
        definitions = read_definitions(project)
        self._lags = Lags(uses_of(definitions))
        self._dead_letters = DeadLetterCounts(definitions)
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for name, work in (("topic ends", self._sample_ends), ("dead letters", self._sample_dead_letters))
        ]

    def __enter__(self) -> "Sampler":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(_STOP_TIMEOUT_S)

    def watch(self, partitions: frozenset[TopicPartition]) -> None:
        """Sample the ends of these partitions from now on."""
        self._partitions = partitions

    def _sample_ends(self) -> None:
        while not self._stopping.wait(_INTERVAL_S):
            partitions = self._partitions
            ends = self._lags.ends(partitions) if partitions else {}
            self._deliver(EndSample(time.time_ns() // 1_000_000, ends))
        self._lags.close()

    def _sample_dead_letters(self) -> None:
        while not self._stopping.wait(_DEAD_LETTERS_INTERVAL_S if self._dead_letters.records else 0.0):
            self._deliver(DeadLetterSample(self._dead_letters.refresh()))
            if not self._dead_letters.records:
                break
        self._dead_letters.close()
