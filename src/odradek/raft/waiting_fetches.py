"""Fetches that wait at the leader for something new: more of the log, or a higher high watermark.

There are as many as replicas that fetch, so a list is enough.
"""

from dataclasses import dataclass

from odradek.protocol.messages.fetch_request import FetchPartition
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.raft.events import Request
from odradek.raft.values import NEVER_MS, ReplicaKey


@dataclass(frozen=True, slots=True)
class ParkedFetch:
    request: Request
    key: ReplicaKey
    partition: FetchPartition
    max_bytes: int
    deadline_ms: int
    #: What to answer if nothing comes.
    nothing_new: FetchResponse


class ParkedFetches:
    def __init__(self) -> None:
        self._waiting: list[ParkedFetch] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def park(self, fetch: ParkedFetch) -> None:
        self._waiting.append(fetch)

    @property
    def deadline_ms(self) -> int:
        return min((fetch.deadline_ms for fetch in self._waiting), default=NEVER_MS)

    def take_expired(self, now_ms: int) -> list[ParkedFetch]:
        expired = [fetch for fetch in self._waiting if fetch.deadline_ms <= now_ms]
        if expired:
            self._waiting = [fetch for fetch in self._waiting if fetch.deadline_ms > now_ms]
        return expired

    def take_before(self, end_offset: int) -> list[ParkedFetch]:
        """Those for which the log now has more."""
        taken = [fetch for fetch in self._waiting if fetch.partition.fetch_offset < end_offset]
        self._waiting = [fetch for fetch in self._waiting if fetch.partition.fetch_offset >= end_offset]
        return taken

    def take_all(self) -> list[ParkedFetch]:
        taken, self._waiting = self._waiting, []
        return taken
