"""What the cluster knows of the topics of a pipeline: whether they exist, where they end, how many records they have.

Requests have short time-outs: a person waits for the response, or a progress report does.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from odradek.client.direct.leader_connections import Leaders
from odradek.client.direct.offsets import list_offsets
from odradek.client.direct.ranges import RangeRequest, read_range
from odradek.client.settings.settings import consumer_settings
from odradek.common import list_offsets_timestamps
from odradek.common.failures import ApiError, InputError
from odradek.common.ids import TopicPartition
from odradek.spark.pipeline.definitions import Definitions, dead_letter_uses
from odradek.spark.pipeline.uses import Kind, Use
from odradek.spark.source.offset_limits import Offsets

_BOOTSTRAP = "kafka.bootstrap.servers"
_PREFIX = "kafka."

#: Of each answer.
_PATIENCE_MS = 5_000

#: Dead letters are few; where they are not, the offsets say it well enough.
_COUNTED_MAX = 100_000


class Cluster:
    """Raises ApiError where it does not answer."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Settings of Kafka's clients. Raises InputError."""
        parsed = consumer_settings(settings)
        self.bootstrap = settings.get("bootstrap.servers", "")
        self._leaders = Leaders(parsed.bootstrap_servers, parsed.client_id or "odradek-pipeline", _PATIENCE_MS)

    def close(self) -> None:
        self._leaders.close()

    def topics(self, names: Iterable[str] | None = None) -> dict[str, tuple[int, ...]]:
        """Partitions by topic; of all topics unless some are named."""
        return self._leaders.topics(None if names is None else list(names))

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._list(partitions, list_offsets_timestamps.LATEST)

    def starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._list(partitions, list_offsets_timestamps.EARLIEST)

    def count(self, partition: TopicPartition, start: int, end: int) -> int:
        """Count the committed records of a range of offsets, by reading it."""
        request = RangeRequest(partition, start, end, is_read_committed=True, timeout_ms=_PATIENCE_MS)
        return sum(len(columns.offset) for columns in read_range(self._leaders, request))

    def _list(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        wanted = dict.fromkeys(partitions, timestamp_ms)
        return list_offsets(self._leaders, wanted, is_read_committed=True, timeout_ms=_PATIENCE_MS)


def client_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Those of the client among the options of a source or sink."""
    return {
        name[len(_PREFIX) :]: value for name, value in options.items() if name.lower().startswith(_PREFIX) and value
    }


class Lags:
    """How far behind the ends of their topics flows are. Which cluster has a topic is told by those who read it."""

    def __init__(self, uses: Iterable[Use]) -> None:
        self._settings: dict[str, dict[str, str]] = {}
        self._others: list[dict[str, str]] = []
        for use in uses:
            if use.kind is Kind.SINK or _BOOTSTRAP not in use.options:
                continue
            settings = client_settings(use.options)
            self._others.append(settings)
            for topic in use.options.get("subscribe", "").split(","):
                self._settings.setdefault(topic.strip(), settings)
        self._clusters: dict[str, Cluster] = {}
        self._silent_until_s = 0.0

    def of(self, done: Offsets) -> int | None:
        """Records between `done` and the ends; None where nobody can tell."""
        ends = self.ends(done) if done else None
        return None if ends is None else sum(max(end - done[partition], 0) for partition, end in ends.items())

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int] | None:
        """Return where the partitions end; None where a cluster does not answer, or none is known."""
        if time.monotonic() < self._silent_until_s:
            return None
        by_topic: dict[str, list[TopicPartition]] = {}
        for partition in partitions:
            by_topic.setdefault(partition.topic, []).append(partition)
        ends: dict[TopicPartition, int] = {}
        try:
            for topic, of_topic in by_topic.items():
                cluster = self._cluster(topic)
                if cluster is None:
                    return None
                ends.update(cluster.ends(of_topic))
        except (ApiError, InputError):
            self._silent_until_s = time.monotonic() + _PATIENCE_MS / 1000
            return None
        return ends

    def close(self) -> None:
        for cluster in self._clusters.values():
            cluster.close()
        self._clusters.clear()

    def _cluster(self, topic: str) -> Cluster | None:
        settings = self._settings.get(topic) or (self._others[0] if self._others else None)
        if settings is None:
            return None
        key = repr(sorted(settings.items()))
        if key not in self._clusters:
            self._clusters[key] = Cluster(settings)
        return self._clusters[key]


@dataclass(slots=True)
class _Counted:
    """The committed records of a partition, between two offsets."""

    start: int
    end: int
    records: int


class RecordCount:
    """Counts the committed records of a topic, and reads only what was added since the last time."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._counted: dict[TopicPartition, _Counted] = {}

    def refresh(self) -> int | None:
        """Return None where there is no such topic. Raises ApiError."""
        numbers = self._cluster.topics([self._topic]).get(self._topic)
        if numbers is None:
            self._counted.clear()
            return None
        partitions = [TopicPartition(self._topic, number) for number in numbers]
        starts, ends = self._cluster.starts(partitions), self._cluster.ends(partitions)
        total = sum(ends[partition] - starts[partition] for partition in partitions)
        if total > _COUNTED_MAX:
            return total
        return sum(self._count(partition, starts[partition], ends[partition]) for partition in partitions)

    def _count(self, partition: TopicPartition, start: int, end: int) -> int:
        counted = self._counted.get(partition)
        if counted is None or counted.start != start or counted.end > end:  # records were deleted, or the topic was
            counted = self._counted[partition] = _Counted(start, start, 0)
        if end > counted.end:
            counted.records += self._cluster.count(partition, counted.end, end)
            counted.end = end
        return counted.records


class DeadLetterCounts:
    """The records of all topics that dead letters of a pipeline go to."""

    def __init__(self, definitions: list[Definitions]) -> None:
        self._settings: dict[str, dict[str, str]] = {}
        for use in dead_letter_uses(definitions):
            self._settings.setdefault(use.options["topic"], client_settings(use.options))
        self._clusters: dict[str, Cluster] = {}
        self._counts: dict[str, RecordCount] = {}
        #: By topic, as they were counted last.
        self.records: dict[str, int | None] = dict.fromkeys(self._settings)

    def refresh(self) -> dict[str, int | None]:
        """Return them by topic; None where the topic does not exist, or its cluster does not answer."""
        silent: set[str] = set()
        for topic, settings in self._settings.items():
            key = repr(sorted(settings.items()))
            self.records[topic] = None
            if key in silent:  # one of them that does not answer is waited for once
                continue
            try:
                self.records[topic] = self._count_of(topic, key).refresh()
            except (ApiError, InputError):
                silent.add(key)
        return dict(self.records)

    def close(self) -> None:
        for cluster in self._clusters.values():
            cluster.close()
        self._clusters.clear()
        self._counts.clear()

    def _count_of(self, topic: str, key: str) -> RecordCount:
        if key not in self._clusters:
            self._clusters[key] = Cluster(self._settings[topic])
        if topic not in self._counts:
            self._counts[topic] = RecordCount(self._clusters[key], topic)
        return self._counts[topic]
