"""Counters of a service: plain integers. `metrics` puts them into Prometheus' form. Pure."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from enum import Enum

#: Upper bounds of the buckets of durations, in seconds; the last one has none.
DURATION_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Ending(Enum):
    """Result of a message that is finished in the topic it was read from."""

    HANDLED = "handled"
    #: The `Done` store knew it, or it is another group's.
    SKIPPED = "skipped"
    #: To the next retry topic.
    MOVED = "moved"
    DEAD = "dead"
    #: It would be dead, and its handler has no dead letters.
    DROPPED = "dropped"


@dataclass(slots=True)
class TopicFigures:
    """Counters of a handler's topic; its retry topics are included."""

    received: int = 0
    failed_attempts: int = 0
    retries_in_place: int = 0
    endings: dict[Ending, int] = field(default_factory=lambda: dict.fromkeys(Ending, 0))
    #: How many attempts took at most so long, by the bounds above.
    durations: list[int] = field(default_factory=lambda: [0] * (len(DURATION_BOUNDS_S) + 1))
    spent_s: float = 0

    def add_attempt(self, duration_s: float) -> None:
        self.durations[bisect_left(DURATION_BOUNDS_S, duration_s)] += 1
        self.spent_s += duration_s

    def end(self, ending: Ending) -> None:
        self.endings[ending] += 1


@dataclass(slots=True)
class Figures:
    topics: dict[str, TopicFigures] = field(default_factory=dict)
    commits: int = 0
    failed_commits: int = 0
    transactions: int = 0
    aborted_transactions: int = 0

    def of(self, topic: str) -> TopicFigures:
        counters = self.topics.get(topic)
        if counters is None:
            counters = self.topics[topic] = TopicFigures()
        return counters

    def count(self, ending: Ending) -> int:
        return sum(topic.endings[ending] for topic in self.topics.values())

    @property
    def received(self) -> int:
        return sum(topic.received for topic in self.topics.values())

    @property
    def failed_attempts(self) -> int:
        return sum(topic.failed_attempts for topic in self.topics.values())
