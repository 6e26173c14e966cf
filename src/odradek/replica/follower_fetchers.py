"""The fetchers of this broker: one for each broker that leads a partition which this broker follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from odradek.common.ids import TopicPartition
from odradek.common.ports import Clock
from odradek.replica.cluster_view import ClusterView
from odradek.replica.fetcher import FetchSource, FollowerFetcher
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.purgatory import DelayedOperation, Purgatory
from odradek.replica.replica_failures import ReplicaFailures
from odradek.replica.replication_quota import ReplicationQuota
from odradek.replica.settings import ReplicaSettings


def _no_listener(_: FollowerFetcher) -> None:
    pass


class FollowerFetchers:
    """A partition has one fetcher at most."""

    def __init__(
        self,
        view: ClusterView,
        clock: Clock,
        settings: ReplicaSettings,
        partitions: HostedPartitions,
        fetch_purgatory: Purgatory[DelayedOperation],
        failures: ReplicaFailures,
        quota: ReplicationQuota,
    ) -> None:
        self._view = view
        self._clock = clock
        self._settings = settings
        self._partitions = partitions
        self._fetch_purgatory = fetch_purgatory
        self._failures = failures
        self._quota = quota
        self.by_source: dict[int, FollowerFetcher] = {}
        #: Partitions that are not fetched until their metadata changes.
        self.failed_partitions: dict[TopicPartition, None] = {}
        self._sources: dict[TopicPartition, int] = {}
        self._ready_listener: Callable[[FollowerFetcher], None] = _no_listener
        failures.on_partition_offline(lambda tp: self.remove((tp,)))

    def on_ready(self, listener: Callable[[FollowerFetcher], None]) -> None:
        """Call `listener` with each fetcher that has a request to send, or has been closed."""
        self._ready_listener = listener

    def add(self, source_id: int, source: FetchSource) -> None:
        """Fetch a partition from this broker from now on. Raises `ApiError` if the local log is not available."""
        tp = source.topic_partition
        self.failed_partitions.pop(tp, None)
        if self._sources.get(tp, source_id) != source_id:
            self.remove((tp,))
        fetcher = self.by_source.get(source_id)
        if fetcher is None:
            fetcher = self.by_source[source_id] = self._new_fetcher(source_id)
        self._sources[tp] = source_id
        fetcher.add(source)
        self._ready_listener(fetcher)

    def _new_fetcher(self, source_id: int) -> FollowerFetcher:
        return FollowerFetcher(
            source_id,
            self._view,
            self._clock,
            self._settings,
            self._partitions,
            self._fetch_purgatory,
            self._failures,
            self._quota,
            self.mark_failed,
        )

    def remove(self, tps: Iterable[TopicPartition]) -> None:
        """Stop fetching these partitions; a fetcher without partitions is closed."""
        for tp in tps:
            self.failed_partitions.pop(tp, None)
            source_id = self._sources.pop(tp, None)
            if source_id is None:
                continue
            fetcher = self.by_source[source_id]
            fetcher.remove(tp)
            if not fetcher.states:
                fetcher.close()
                del self.by_source[source_id]
                self._ready_listener(fetcher)

    def mark_failed(self, tp: TopicPartition) -> None:
        """Stop fetching a partition until its metadata changes."""
        self.remove((tp,))
        self.failed_partitions[tp] = None

    def source_changed(self, source_id: int) -> None:
        """Restart the fetch session with a broker that has registered again."""
        fetcher = self.by_source.get(source_id)
        if fetcher is not None:
            fetcher.restart_session()
            self._ready_listener(fetcher)
