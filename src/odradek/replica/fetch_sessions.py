"""Incremental fetch sessions (KIP-227): requests and responses contain only what changed since the previous ones.

A full fetch (epoch 0) requests a session; its response has the id. Each incremental fetch has the next epoch, the
partitions that are new or read at another offset, and those to forget; its response leaves out unchanged partitions. A
fetch with epoch -1 closes its session. A session is bound to topic ids or to names, whichever its first request used.

The cache is bounded. A new session may evict one that has not been used for a while, or a less valuable one: sessions
of consumers before those of followers, small before large. Otherwise the response has no session.

A handler opens a context with the request, fetches its `entries`, and responds with those that `select` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.common.ports import Clock
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.requests import FetchEntry, FetchResult

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_MAX_EPOCH = 2**31 - 1

#: Kafka's time for which a session is safe from eviction.
MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS = 120_000

_TOPIC_IDS_SINCE_VERSION = 13

#: Topic id, or name where the request has no ids, and partition.
SessionKey = tuple[bytes | str, int]

TopicName = Callable[[bytes], str | None]


class SelectedPartition(NamedTuple):
    """A partition that belongs in the response."""

    entry: FetchEntry
    result: FetchResult


def next_epoch(epoch: int) -> int:
    if epoch < INITIAL_EPOCH:
        return FINAL_EPOCH
    return 1 if epoch == _MAX_EPOCH else epoch + 1


def session_key(entry: FetchEntry) -> SessionKey:
    tp = entry.topic_partition
    return (tp.topic if entry.topic_id == ZERO_UUID else entry.topic_id, tp.partition)


class _CachedPartition:
    """A partition of a session: its entry, and the offsets of the last response."""

    __slots__ = ("entry", "high_watermark", "log_start_offset")

    def __init__(self, entry: FetchEntry) -> None:
        self.entry = entry
        self.high_watermark = -1
        self.log_start_offset = -1

    def replace_entry(self, entry: FetchEntry) -> None:
        self.entry = entry

    def update(self, result: FetchResult) -> bool:
        """Apply a result; return whether it belongs in the response."""
        is_changed = (
            result.size_bytes > 0
            or result.high_watermark != self.high_watermark
            or result.log_start_offset != self.log_start_offset
            or result.preferred_read_replica >= 0
            or result.error_code != 0
            or result.diverging_epoch is not None
        )
        # After an error the next response contains the high watermark, whatever it is.
        self.high_watermark = result.high_watermark if result.error_code == 0 else -1
        self.log_start_offset = result.log_start_offset
        return is_changed


class LeaderFetchSession:
    __slots__ = ("created_ms", "epoch", "id", "is_privileged", "last_used_ms", "partitions", "uses_topic_ids")

    def __init__(self, session_id: int, is_privileged: bool, uses_topic_ids: bool, now_ms: int) -> None:
        self.id = session_id
        self.is_privileged = is_privileged
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        #: Epoch of the next request.
        self.epoch = next_epoch(INITIAL_EPOCH)
        #: In the order in which they are read: partitions with records move to the end, so that none is starved.
        self.partitions: dict[SessionKey, _CachedPartition] = {}

    @property
    def eviction_rank(self) -> tuple[bool, int, int]:
        return (self.is_privileged, len(self.partitions), self.id)

    def used(self, now_ms: int) -> None:
        """Advance the epoch after a request."""
        self.last_used_ms = now_ms
        self.epoch = next_epoch(self.epoch)

    def update(self, entries: Iterable[FetchEntry], forgotten: Iterable[SessionKey]) -> None:
        partitions = self.partitions
        for entry in entries:
            key = session_key(entry)
            cached = partitions.get(key)
            if cached is None:
                partitions[key] = _CachedPartition(entry)
            else:
                cached.replace_entry(entry)
        for key in forgotten:
            partitions.pop(key, None)


class FetchContext:
    """One fetch request and its session. `entries` are the partitions to read; with an `error_code` there are none."""

    __slots__ = (
        "_is_follower",
        "_needs_session",
        "_session",
        "_sessions",
        "_uses_topic_ids",
        "entries",
        "error_code",
        "session_id",
    )

    def __init__(
        self,
        sessions: FetchSessions,
        entries: Sequence[FetchEntry],
        *,
        error_code: int = 0,
        session: LeaderFetchSession | None = None,
        needs_session: bool = False,
        is_follower: bool = False,
        uses_topic_ids: bool = False,
    ) -> None:
        self._sessions = sessions
        self._session = session
        self._needs_session = needs_session
        self._is_follower = is_follower
        self._uses_topic_ids = uses_topic_ids
        self.entries = entries
        self.error_code = error_code
        #: For the response; set by `select`.
        self.session_id = NO_SESSION if session is None else session.id

    def select(self, results: Sequence[FetchResult]) -> list[SelectedPartition]:
        """Return the results of `entries` that belong in the response; sets `session_id`."""
        if self._session is not None:
            return self._changed(self._session, results)
        if self._needs_session:
            self.session_id = self._sessions.maybe_create(
                self.entries, results, self._is_follower, self._uses_topic_ids
            )
        return [SelectedPartition(entry, result) for entry, result in zip(self.entries, results, strict=True)]

    def _changed(self, session: LeaderFetchSession, results: Sequence[FetchResult]) -> list[SelectedPartition]:
        selected = []
        partitions = session.partitions
        for entry, result in zip(self.entries, results, strict=True):
            key = session_key(entry)
            cached = partitions.get(key)
            if cached is None or not cached.update(result):
                continue
            selected.append(SelectedPartition(entry, result))
            if result.size_bytes:
                partitions[key] = partitions.pop(key)
        return selected


class FetchSessions:
    def __init__(self, max_sessions: int, clock: Clock, new_session_id: Callable[[], int]) -> None:
        self._max_sessions = max_sessions
        self._clock = clock
        self._new_session_id = new_session_id
        self.sessions: dict[int, LeaderFetchSession] = {}
        self.evictions = 0

    def open(
        self,
        session_id: int,
        session_epoch: int,
        version: int,
        is_follower: bool,
        entries: Sequence[FetchEntry],
        forgotten: Iterable[SessionKey],
        topic_name: TopicName,
    ) -> FetchContext:
        """Open the context of a request. Before version 7 its session id is 0, its epoch -1. `topic_name` resolves
        topic ids, which may have been unknown when the session began."""
        if session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION:
                self.sessions.pop(session_id, None)
            return FetchContext(
                self,
                entries,
                needs_session=session_epoch == INITIAL_EPOCH,
                is_follower=is_follower,
                uses_topic_ids=version >= _TOPIC_IDS_SINCE_VERSION,
            )
        session = self.sessions.get(session_id)
        if session is None:
            return FetchContext(self, (), error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != session_epoch:
            return FetchContext(self, (), error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= _TOPIC_IDS_SINCE_VERSION):
            return FetchContext(self, (), error_code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(entries, forgotten)
        if not session.partitions:
            del self.sessions[session_id]
            return FetchContext(self, entries)
        session.used(self._clock.monotonic_ms())
        return FetchContext(self, self._resolved(session, topic_name), session=session)

    def _resolved(self, session: LeaderFetchSession, topic_name: TopicName) -> list[FetchEntry]:
        entries = []
        for cached in session.partitions.values():
            entry = cached.entry
            if not entry.topic_partition.topic:
                name = topic_name(entry.topic_id)
                if name is not None:
                    entry = entry._replace(topic_partition=TopicPartition(name, entry.topic_partition.partition))
                    cached.replace_entry(entry)
            entries.append(entry)
        return entries

    def maybe_create(
        self, entries: Sequence[FetchEntry], results: Sequence[FetchResult], is_privileged: bool, uses_topic_ids: bool
    ) -> int:
        """Create a session and return its id, or `NO_SESSION` if the cache is full."""
        now_ms = self._clock.monotonic_ms()
        if len(self.sessions) >= self._max_sessions and not self._try_evict(is_privileged, len(entries), now_ms):
            return NO_SESSION
        session_id = self._new_session_id()
        while session_id == NO_SESSION or session_id in self.sessions:
            session_id = self._new_session_id()
        session = LeaderFetchSession(session_id, is_privileged, uses_topic_ids, now_ms)
        session.update(entries, ())
        for entry, result in zip(entries, results, strict=True):
            session.partitions[session_key(entry)].update(result)
        self.sessions[session_id] = session
        return session_id

    def _try_evict(self, is_privileged: bool, size: int, now_ms: int) -> bool:
        """Evict a session if allowed: a search through the whole cache, a thousand sessions, only when it is full."""
        if not self.sessions:
            return False
        victim = min(self.sessions.values(), key=lambda session: (session.last_used_ms, session.id))
        if now_ms - victim.last_used_ms <= MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS:
            evictable = [session for session in self.sessions.values() if _is_evictable(session, is_privileged, now_ms)]
            if not evictable:
                return False
            victim = min(evictable, key=lambda session: session.eviction_rank)
            if (is_privileged, size, 0) < victim.eviction_rank:
                return False
        del self.sessions[victim.id]
        self.evictions += 1
        return True


def _is_evictable(session: LeaderFetchSession, for_privileged: bool, now_ms: int) -> bool:
    is_old = now_ms - session.created_ms > MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS
    return is_old or (for_privileged and not session.is_privileged)
