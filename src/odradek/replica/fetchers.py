"""Who fetches from whom: one fetcher for each broker that leads something this broker follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from odradek.common.ids import TopicPartition
from odradek.replica.fetcher import Fetcher, FetchFrom

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager


def _ignore(_: Fetcher) -> None:
    pass


class Fetchers:
    """A partition is with one fetcher at most."""

    def __init__(self, manager: ReplicaManager) -> None:
        self._manager = manager
        self.by_source: dict[int, Fetcher] = {}
        #: Partitions that are not fetched until the metadata says something new.
        self.failed_partitions: dict[TopicPartition, None] = {}
        #: Told of a fetcher that has something to send, or has become closed: a driver looks at it again.
        self.on_ready: Callable[[Fetcher], None] = _ignore
        self._sources: dict[TopicPartition, int] = {}

    def fetcher_of(self, tp: TopicPartition) -> Fetcher | None:
        source_id = self._sources.get(tp)
        return None if source_id is None else self.by_source[source_id]

    def add(self, source_id: int, wanted: FetchFrom) -> None:
        """Fetch from this broker from now on. Raises `ApiError` where the own log is not to be had."""
        tp = wanted.topic_partition
        self.failed_partitions.pop(tp, None)
        if self._sources.get(tp, source_id) != source_id:
            self.remove((tp,))
        fetcher = self.by_source.get(source_id)
        if fetcher is None:
            fetcher = self.by_source[source_id] = Fetcher(self._manager, source_id)
        self._sources[tp] = source_id
        fetcher.add(wanted)
        self.on_ready(fetcher)

    def remove(self, tps: Iterable[TopicPartition]) -> None:
        """A fetcher without partitions is closed."""
        for tp in tps:
            self.failed_partitions.pop(tp, None)
            source_id = self._sources.pop(tp, None)
            if source_id is None:
                continue
            fetcher = self.by_source[source_id]
            fetcher.remove(tp)
            if not fetcher.states:
                fetcher.is_closed = True
                del self.by_source[source_id]
                self.on_ready(fetcher)

    def failed(self, tp: TopicPartition) -> None:
        self.remove((tp,))
        self.failed_partitions[tp] = None

    def source_changed(self, source_id: int) -> None:
        fetcher = self.by_source.get(source_id)
        if fetcher is not None:
            fetcher.source_changed()
            self.on_ready(fetcher)
