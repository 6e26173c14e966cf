"""What the cluster knows of the topics of a pipeline: whether they are there, and where they end.

Asked with short patience: a person waits for it, or a progress report does.
"""

import time
from collections.abc import Iterable, Mapping

from odradek.client.direct.leaders import Leaders
from odradek.client.direct.offsets import list_offsets
from odradek.client.direct.ranges import RangeRequest, read_range
from odradek.client.settings import consumer_settings
from odradek.common import special_timestamps
from odradek.common.failures import ApiError, InputError
from odradek.common.ids import TopicPartition
from odradek.spark.limits import Offsets
from odradek.spark.pipeline.uses import Kind, Use

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
        return self._list(partitions, special_timestamps.LATEST)

    def count(self, topic: str) -> int | None:
        """Records of a topic that were committed; None where there is no such topic."""
        found = self.topics([topic]).get(topic)
        if found is None:
            return None
        partitions = [TopicPartition(topic, each) for each in found]
        starts, ends = self._list(partitions, special_timestamps.EARLIEST), self.ends(partitions)
        total = sum(ends[each] - starts[each] for each in partitions)
        if total > _COUNTED_MAX:
            return total
        return sum(self._records(each, starts[each], ends[each]) for each in partitions if ends[each] > starts[each])

    def _records(self, partition: TopicPartition, start: int, end: int) -> int:
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
        if not done or time.monotonic() < self._silent_until_s:
            return None
        by_topic: dict[str, list[TopicPartition]] = {}
        for partition in done:
            by_topic.setdefault(partition.topic, []).append(partition)
        lag = 0
        try:
            for topic, partitions in by_topic.items():
                cluster = self._cluster(topic)
                if cluster is None:
                    return None
                lag += sum(max(end - done[each], 0) for each, end in cluster.ends(partitions).items())
        except (ApiError, InputError):
            self._silent_until_s = time.monotonic() + _PATIENCE_MS / 1000
            return None
        return lag

    def _cluster(self, topic: str) -> Cluster | None:
        settings = self._settings.get(topic) or (self._others[0] if self._others else None)
        if settings is None:
            return None
        key = repr(sorted(settings.items()))
        if key not in self._clusters:
            self._clusters[key] = Cluster(settings)
        return self._clusters[key]
