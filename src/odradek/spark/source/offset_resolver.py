"""Looks up the partitions of a read, and the offsets at which it begins and ends in each of them.

A look-up that fails is repeated `fetchOffset.numRetries` times. If the cluster has responded to this process before, it
is repeated for as long as Kafka's clients wait (`default.api.timeout.ms`): the cluster is expected to come back.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeVar

from odradek.client.direct.leader_connections import Leaders
from odradek.client.direct.offsets import list_offsets
from odradek.client.settings.settings import ConsumerConfig, IsolationLevel, consumer_settings
from odradek.common import list_offsets_timestamps
from odradek.common.failures import InputError
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.errors import Disconnected, NoLeader, RequestTimedOut, UnknownTopic, Unreachable
from odradek.spark.connections import consumer_leaders
from odradek.spark.exactly_once.decisions import TOPIC as DECISIONS
from odradek.spark.source.offset_limits import AllSince, At, Everywhere, Limit, Offsets, Since, Special, StreamOffset
from odradek.spark.source.options import Assign, SourceOptions, SubscribePattern

Result = TypeVar("Result")

#: Ends of the log as values among offsets, and as timestamps in a ListOffsets request.
_END_TIMESTAMPS = {Special.EARLIEST: list_offsets_timestamps.EARLIEST, Special.LATEST: list_offsets_timestamps.LATEST}

#: Pause before the second attempt (retry.backoff.ms).
_FIRST_PAUSE_S = 0.1

#: Errors that may be gone a moment later.
_TRANSIENT = (Unreachable, NoLeader, Disconnected, RequestTimedOut, UnknownTopic)


def is_read_committed(settings: ConsumerConfig) -> bool:
    return settings.isolation_level is IsolationLevel.READ_COMMITTED


@dataclass(frozen=True, slots=True)
class StartingOffsets:
    """Initial offset of a stream. `at_latest` has the partitions that begin at the end of their log. `problem` is the
    reason why a new stream cannot begin here: partitions without an offset in the options are missing in `offsets`."""

    offsets: Offsets
    at_latest: frozenset[TopicPartition] = frozenset()
    problem: str | None = None
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def stream_offset(self) -> StreamOffset:
        return StreamOffset(self.offsets, self.topic_ids)


class OffsetResolver:
    """Look-ups for one read. Every method sends requests, and raises InputError or the error of the cluster."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._settings = consumer_settings(options.settings)
        self._has_responded = False

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Return the partitions that the options select and that exist now, sorted."""
        return self._with_retries(self._partitions)

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the earliest offsets of those partitions that still exist."""
        requested = frozenset(partitions)
        return self._with_retries(
            lambda: self._ends(
                [partition for partition in self._partitions() if partition in requested], Special.EARLIEST
            )
        )

    def latest(self, previous: StreamOffset) -> StreamOffset:
        """Return the ends of all partitions that exist now, with the ids of their topics.

        A leader that was just elected may not know the high watermark yet, and a broker that was just started may not
        know all partitions: if an end is missing or lower than in `previous`, it is looked up again. The logs of a
        topic that was created again stay shorter."""
        pauses_s = self._pauses_s()
        while True:
            latest = self._latest()
            replaced = previous.replaced_topics(latest.topic_ids)
            is_agreed = self._is_agreed({topic: latest.topic_ids[topic] for topic in replaced})
            expected = previous.without(replaced).offsets
            if is_agreed and all(latest.offsets.get(partition, -1) >= offset for partition, offset in expected.items()):
                return latest
            pause_s = next(pauses_s, None)
            if pause_s is None:
                break
            time.sleep(pause_s)
        if not is_agreed:
            raise Unreachable(f"brokers do not agree yet whether {', '.join(replaced)} was created again")
        return latest

    def topic_ids(self, topics: Iterable[str]) -> dict[str, bytes]:
        """Return the ids of topics from the last metadata response. Brokers older than Kafka 2.8 have none."""
        leaders = consumer_leaders(self._settings)
        ids = {topic: leaders.topic_id(topic) for topic in topics}
        return {topic: topic_id for topic, topic_id in ids.items() if topic_id != ZERO_UUID}

    def _latest(self) -> StreamOffset:
        return self._with_retries(lambda: self._with_ids(self._ends(self._partitions(), Special.LATEST)))

    def _with_ids(self, offsets: Offsets) -> StreamOffset:
        return StreamOffset(offsets, self.topic_ids(dict.fromkeys(partition.topic for partition in offsets)))

    def _is_agreed(self, topic_ids: Mapping[str, bytes]) -> bool:
        """Return whether all brokers that respond have these ids.

        The metadata of a broker may be slightly stale, and show a topic that has been deleted since."""
        if not topic_ids:
            return True
        leaders = consumer_leaders(self._settings)
        for address in self._with_retries(leaders.brokers):
            with suppress(Disconnected, RequestTimedOut):
                if leaders.topic_ids_at(address, list(topic_ids)) != topic_ids:
                    return False
        return True

    def resolve(self, limit: Limit, option: str) -> Offsets:
        """Return an offset for each partition of a batch read. Error messages name the option `option`."""
        resolved = self._with_retries(lambda: self._resolve(limit, option))
        if resolved.problem is not None:
            raise InputError(resolved.problem)
        return resolved.offsets

    def starting_offsets(self) -> StartingOffsets:
        """Return the offsets at which a new stream begins."""
        return self._with_retries(lambda: self._resolve(self._options.starting, "startingOffsets"))

    def _partitions(self) -> tuple[TopicPartition, ...]:
        selection, leaders = self._options.selection, consumer_leaders(self._settings)
        if isinstance(selection, SubscribePattern):
            pattern = re.compile(selection.pattern)
            # The pattern may match anywhere in the name, as in the connector. The topic of decisions is left out: a
            # pipeline would read what it writes.
            topics = {
                topic: indexes
                for topic, indexes in leaders.topics().items()
                if pattern.search(topic) and topic != DECISIONS
            }
        elif isinstance(selection, Assign):
            topics = _existing_topics(leaders, tuple(dict.fromkeys(part.topic for part in selection.partitions)))
        else:
            topics = _existing_topics(leaders, selection.topics)
        existing = (TopicPartition(topic, index) for topic, indexes in topics.items() for index in indexes)
        assigned = selection.partitions if isinstance(selection, Assign) else None
        return tuple(sorted(partition for partition in existing if assigned is None or partition in assigned))

    def _resolve(self, limit: Limit, option: str) -> StartingOffsets:
        partitions = self._partitions()
        if isinstance(limit, Everywhere):
            return self._with_ends(dict.fromkeys(partitions, limit.end))
        if isinstance(limit, At):
            problem = mismatch(option, limit.offsets, partitions)
            offsets = {partition: offset for partition, offset in limit.offsets.items() if partition in partitions}
            return self._with_ends(offsets, problem)
        if isinstance(limit, AllSince):
            limit = Since(dict.fromkeys(partitions, limit.timestamp_ms), limit.falls_back)
        return self._since(limit, partitions, mismatch(option, limit.timestamps_ms, partitions))

    def _since(self, limit: Since, partitions: Collection[TopicPartition], problem: str | None) -> StartingOffsets:
        offsets = self._list_offsets({part: ms for part, ms in limit.timestamps_ms.items() if part in partitions})
        if not limit.falls_back:
            without_record = [partition for partition, offset in offsets.items() if offset < 0]
            if without_record and problem is None:
                problem = (
                    f"{without_record[0]} has no record as late as {limit.timestamps_ms[without_record[0]]}; "
                    "startingOffsetsByTimestampStrategy=latest begins at its end"
                )
            offsets = {partition: offset for partition, offset in offsets.items() if offset >= 0}
        return self._with_ends(offsets, problem)

    def _with_ends(self, offsets: Offsets, problem: str | None = None) -> StartingOffsets:
        """Replace the values that stand for an end of the log by offsets."""
        ends = {part: _END_TIMESTAMPS[Special(offset)] for part, offset in offsets.items() if offset < 0}
        at_latest = frozenset(part for part, offset in offsets.items() if offset == Special.LATEST)
        ids = self.topic_ids(dict.fromkeys(partition.topic for partition in offsets))
        return StartingOffsets({**offsets, **self._list_offsets(ends)}, at_latest, problem, ids)

    def _ends(self, partitions: Iterable[TopicPartition], end: Special) -> dict[TopicPartition, int]:
        return self._list_offsets(dict.fromkeys(partitions, _END_TIMESTAMPS[end]))

    def _list_offsets(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return list_offsets(
            consumer_leaders(self._settings),
            timestamps_ms,
            is_read_committed=is_read_committed(self._settings),
            timeout_ms=self._settings.default_api_timeout_ms,
        )

    def _with_retries(self, look_up: Callable[[], Result]) -> Result:
        deadline_s = time.monotonic() + self._settings.default_api_timeout_ms / 1000
        pauses_s = self._pauses_s()
        while True:
            try:
                result = look_up()
            except _TRANSIENT as error:
                pause_s = next(pauses_s, None)
                is_expected_back = (
                    self._has_responded and isinstance(error, Unreachable) and time.monotonic() < deadline_s
                )
                if pause_s is None and not is_expected_back:
                    raise
            else:
                self._has_responded = True
                return result
            time.sleep(self._options.retry_interval_ms / 1000 if pause_s is None else pause_s)

    def _pauses_s(self) -> Iterator[float]:
        """Yield the pauses between attempts.

        They add up to `fetchOffset.numRetries` attempts that are `fetchOffset.retryIntervalMs` apart, but the first
        ones are short: a new leader is elected within a few hundred milliseconds."""
        interval_s = self._options.retry_interval_ms / 1000
        if not interval_s:
            yield from [0.0] * (self._options.retries - 1)
        remaining_s, pause_s = interval_s * (self._options.retries - 1), _FIRST_PAUSE_S
        while remaining_s > 0:
            yield min(pause_s, interval_s, remaining_s)
            remaining_s, pause_s = remaining_s - min(pause_s, interval_s), pause_s * 2


def _existing_topics(leaders: Leaders, names: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """Return the partition indexes of the topics. Raise UnknownTopic if one does not exist."""
    topics = leaders.topics(names)
    missing = [name for name in names if name not in topics]
    if missing:
        matches = get_close_matches(missing[0], leaders.topics(), n=1)
        suggestion = f"; did you mean {matches[0]}?" if matches else ""
        raise UnknownTopic(f"there is no topic {', '.join(missing)}{suggestion}")
    return topics


def mismatch(option: str, named: Offsets, partitions: Collection[TopicPartition]) -> str | None:
    """Return an error message if the option does not name exactly the partitions that are read."""
    missing = [str(partition) for partition in partitions if partition not in named]
    if missing:
        return f"{option} has no entry for {', '.join(missing)}; -2 stands for the earliest, -1 for the latest"
    not_read = [str(partition) for partition in sorted(named) if partition not in partitions]
    return f"{option} names {', '.join(not_read)}, which is not read" if not_read else None
