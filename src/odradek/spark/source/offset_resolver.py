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
from odradek.common import special_timestamps
from odradek.common.failures import InputError
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.errors import Disconnected, NoLeader, RequestTimedOut, UnknownTopic, Unreachable
from odradek.spark.connections import consumer_leaders
from odradek.spark.exactly_once.decisions import TOPIC as DECISIONS
from odradek.spark.source.offset_limits import AllSince, At, Everywhere, Limit, Offsets, Since, Special, StreamOffset
from odradek.spark.source.options import Assign, SourceOptions, SubscribePattern

Found = TypeVar("Found")

#: Ends of the log as they stand among offsets, and as they are asked for.
_END_TIMESTAMPS = {Special.EARLIEST: special_timestamps.EARLIEST, Special.LATEST: special_timestamps.LATEST}

#: Pause before the second attempt (retry.backoff.ms).
_FIRST_PAUSE_S = 0.1

#: What may be otherwise a moment later.
_PASSING = (Unreachable, NoLeader, Disconnected, RequestTimedOut, UnknownTopic)


def is_read_committed(settings: ConsumerConfig) -> bool:
    return settings.isolation_level is IsolationLevel.READ_COMMITTED


@dataclass(frozen=True, slots=True)
class StartingOffsets:
    """The initial offset of a stream. `at_latest` are the partitions that begin at the end of their log. `problem` says
    why a new stream cannot begin here: partitions for which the options give no offset are left out of `offsets`."""

    offsets: Offsets
    at_latest: frozenset[TopicPartition] = frozenset()
    problem: str | None = None
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def stream_offset(self) -> StreamOffset:
        return StreamOffset(self.offsets, self.topic_ids)


class Places:
    """Of one read. Every method asks the cluster, and raises InputError or what the cluster says."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._settings = consumer_settings(options.settings)
        self._has_answered = False

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Those of the choice that are there now; sorted."""
        return self._patiently(self._partitions)

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Of those of them that are still there."""
        wanted = frozenset(partitions)
        return self._patiently(
            lambda: self._ends([each for each in self._partitions() if each in wanted], Special.EARLIEST)
        )

    def latest(self, known: StreamOffset) -> StreamOffset:
        """Return the ends of all partitions that exist now, with the ids of their topics.

        A leader that was just elected may not know yet how far the log is committed, and a broker that was just started
        which partitions there are: if an end lies before a `known` offset, or is missing, it is looked up again. The
        logs of a topic that was created again are shorter for good."""
        pauses_s = self._pauses_s()
        while True:
            latest = self._latest()
            replaced = known.replaced_topics(latest.topic_ids)
            is_agreed = self._is_agreed({topic: latest.topic_ids[topic] for topic in replaced})
            expected = known.without(replaced).offsets
            if is_agreed and all(latest.offsets.get(partition, -1) >= at for partition, at in expected.items()):
                return latest
            pause_s = next(pauses_s, None)
            if pause_s is None:
                break
            time.sleep(pause_s)
        if not is_agreed:
            raise Unreachable(f"brokers do not agree yet whether {', '.join(replaced)} was created again")
        return latest

    def topic_ids(self, topics: Iterable[str]) -> dict[str, bytes]:
        """Return the ids of topics by the last metadata response. Brokers below Kafka 2.8 have none."""
        leaders = consumer_leaders(self._settings)
        ids = {topic: leaders.topic_id(topic) for topic in topics}
        return {topic: topic_id for topic, topic_id in ids.items() if topic_id != ZERO_UUID}

    def _latest(self) -> StreamOffset:
        return self._patiently(lambda: self._with_ids(self._ends(self._partitions(), Special.LATEST)))

    def _with_ids(self, offsets: Offsets) -> StreamOffset:
        return StreamOffset(offsets, self.topic_ids(dict.fromkeys(partition.topic for partition in offsets)))

    def _is_agreed(self, topic_ids: Mapping[str, bytes]) -> bool:
        """Return whether all brokers that respond have these ids.

        The metadata of a broker may be some moments old, and so show a topic that was deleted since."""
        if not topic_ids:
            return True
        leaders = consumer_leaders(self._settings)
        for address in self._patiently(leaders.brokers):
            with suppress(Disconnected, RequestTimedOut):
                if leaders.topic_ids_at(address, list(topic_ids)) != topic_ids:
                    return False
        return True

    def resolve(self, limit: Limit, option: str) -> Offsets:
        """Return an offset for each partition of a batch read. `option` is the one that sets the limit."""
        resolved = self._patiently(lambda: self._resolve(limit, option))
        if resolved.problem is not None:
            raise InputError(resolved.problem)
        return resolved.offsets

    def starting_offsets(self) -> StartingOffsets:
        """Return the offsets at which a new stream begins."""
        return self._patiently(lambda: self._resolve(self._options.starting, "startingOffsets"))

    def _partitions(self) -> tuple[TopicPartition, ...]:
        choice, leaders = self._options.choice, consumer_leaders(self._settings)
        if isinstance(choice, SubscribePattern):
            pattern = re.compile(choice.pattern)
            # Anywhere in the name, as the connector has it, and none that is internal: a pipeline would feed on itself.
            known = leaders.topics().items()
            topics = {name: found for name, found in known if pattern.search(name) and name != DECISIONS}
        elif isinstance(choice, Assign):
            topics = _all_there(leaders, tuple(dict.fromkeys(each.topic for each in choice.partitions)))
        else:
            topics = _all_there(leaders, choice.topics)
        there = (TopicPartition(topic, each) for topic, partitions in topics.items() for each in partitions)
        wanted = choice.partitions if isinstance(choice, Assign) else None
        return tuple(sorted(each for each in there if wanted is None or each in wanted))

    def _resolve(self, limit: Limit, option: str) -> StartingOffsets:
        partitions = self._partitions()
        if isinstance(limit, Everywhere):
            return self._with_ends(dict.fromkeys(partitions, limit.which))
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
            late = [partition for partition, offset in offsets.items() if offset < 0]
            if late and problem is None:
                problem = (
                    f"{late[0]} has no record as late as {limit.timestamps_ms[late[0]]}; "
                    "startingOffsetsByTimestampStrategy=latest begins at its end"
                )
            offsets = {partition: offset for partition, offset in offsets.items() if offset >= 0}
        return self._with_ends(offsets, problem)

    def _with_ends(self, offsets: Offsets, problem: str | None = None) -> StartingOffsets:
        """Replace what stands for an end of the log by its offset."""
        ends = {part: _END_TIMESTAMPS[Special(offset)] for part, offset in offsets.items() if offset < 0}
        at_latest = frozenset(part for part, offset in offsets.items() if offset == Special.LATEST)
        ids = self.topic_ids(dict.fromkeys(partition.topic for partition in offsets))
        return StartingOffsets({**offsets, **self._list_offsets(ends)}, at_latest, problem, ids)

    def _ends(self, partitions: Iterable[TopicPartition], which: Special) -> dict[TopicPartition, int]:
        return self._list_offsets(dict.fromkeys(partitions, _END_TIMESTAMPS[which]))

    def _list_offsets(self, timestamps_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return list_offsets(
            consumer_leaders(self._settings),
            timestamps_ms,
            is_read_committed=is_read_committed(self._settings),
            timeout_ms=self._settings.default_api_timeout_ms,
        )

    def _patiently(self, ask: Callable[[], Found]) -> Found:
        deadline_s = time.monotonic() + self._settings.default_api_timeout_ms / 1000
        pauses_s = self._pauses_s()
        while True:
            try:
                found = ask()
            except _PASSING as error:
                pause_s = next(pauses_s, None)
                waits = self._has_answered and isinstance(error, Unreachable) and time.monotonic() < deadline_s
                if pause_s is None and not waits:
                    raise
            else:
                self._has_answered = True
                return found
            time.sleep(self._options.retry_interval_ms / 1000 if pause_s is None else pause_s)

    def _pauses_s(self) -> Iterator[float]:
        """Yield the pauses before further attempts: as long in all as `fetchOffset.numRetries` attempts that are
        `fetchOffset.retryIntervalMs` apart, but the first ones short. A new leader is there within a few hundred
        milliseconds, and a stream need not wait longer than a producer does."""
        interval_s = self._options.retry_interval_ms / 1000
        if not interval_s:
            yield from [0.0] * (self._options.retries - 1)
        left_s, pause_s = interval_s * (self._options.retries - 1), _FIRST_PAUSE_S
        while left_s > 0:
            yield min(pause_s, interval_s, left_s)
            left_s, pause_s = left_s - min(pause_s, interval_s), pause_s * 2


def _all_there(leaders: Leaders, names: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    found = leaders.topics(names)
    missing = [name for name in names if name not in found]
    if missing:
        near = get_close_matches(missing[0], leaders.topics(), n=1)
        raise UnknownTopic(f"there is no topic {', '.join(missing)}{f'; did you mean {near[0]}?' if near else ''}")
    return found


def mismatch(option: str, named: Offsets, partitions: Collection[TopicPartition]) -> str | None:
    """Return what is wrong if the option does not name exactly the partitions that are read."""
    missing = [str(partition) for partition in partitions if partition not in named]
    if missing:
        return f"{option} says nothing of {', '.join(missing)}; -2 stands for the earliest, -1 for the latest"
    strange = [str(partition) for partition in sorted(named) if partition not in partitions]
    return f"{option} names {', '.join(strange)}, which is not read" if strange else None
