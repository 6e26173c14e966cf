"""Fetches that wait at the leader for more of the log or a higher high watermark.

There are as many as replicas that fetch, so a list is enough.
"""

from dataclasses import dataclass

from odradek.protocol.messages.fetch_request import FetchPartition
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.raft.events import Request
from odradek.raft.values import NEVER_MS, ReplicaKey


@dataclass(frozen=True, slots=True)
class WaitingFetch:
    request: Request
    key: ReplicaKey
    partition: FetchPartition
    max_bytes: int
    deadline_ms: int
    #: The response if nothing is appended or committed until the deadline.
    empty_response: FetchResponse


class WaitingFetches:
    def __init__(self) -> None:
        self._fetches: list[WaitingFetch] = []

    def __len__(self) -> int:
        return len(self._fetches)

    def add(self, fetch: WaitingFetch) -> None:
        self._fetches.append(fetch)

    @property
    def deadline_ms(self) -> int:
        return min(fetch.deadline_ms for fetch in self._fetches) if self._fetches else NEVER_MS

    def take_expired(self, now_ms: int) -> list[WaitingFetch]:
        """Remove and return the fetches whose deadline has passed."""
        expired = [fetch for fetch in self._fetches if fetch.deadline_ms <= now_ms]
        if expired:
            self._fetches = [fetch for fetch in self._fetches if fetch.deadline_ms > now_ms]
        return expired

    def take_before(self, end_offset: int) -> list[WaitingFetch]:
        """Remove and return the fetches from an offset before `end_offset`."""
        taken = [fetch for fetch in self._fetches if fetch.partition.fetch_offset < end_offset]
        self._fetches = [fetch for fetch in self._fetches if fetch.partition.fetch_offset >= end_offset]
        return taken

    def take_all(self) -> list[WaitingFetch]:
        """Remove and return all fetches."""
        taken, self._fetches = self._fetches, []
        return taken
