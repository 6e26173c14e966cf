"""A node's figures in Prometheus form.

Nothing is kept for them: what a node counts it counts in plain integers where it happens (`network.traffic`), and all
else is read off its parts when somebody asks. That is done in a worker thread, since a broker has a few series for
each of its partitions, perhaps ten thousand of them, and the loop has better things to do. What is read may change
meanwhile: figures of one answer can be a few milliseconds apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from odradek.common.metrics_text import metrics_text
from odradek.log.unified_log import UnifiedLog
from odradek.network.endpoint import Endpoint
from odradek.network.traffic import ApiTraffic, bound_s
from odradek.observability.histogram import cumulative_buckets
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.partition import Partition
from odradek.replica.replica_manager import ReplicaManager
from odradek.server.metrics.loop_delay import LoopDelay

if TYPE_CHECKING:
    from odradek.server.node import Node

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

#: From 16 µs to 34 s; the buckets below and above are summed up in these and in +Inf.
_FIRST_BUCKET, _LAST_BUCKET = 4, 25

_PARTITION = ("topic", "partition")


class Metrics:
    def __init__(self, node: Node, delay: LoopDelay) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(_NodeCollector(node, delay))

    def text(self) -> bytes:
        """In any thread."""
        return metrics_text(self._registry)


class _NodeCollector(Collector):
    def __init__(self, node: Node, delay: LoopDelay) -> None:
        self._node = node
        self._delay = delay

    def describe(self) -> Iterable[Metric]:
        """Registering would otherwise collect, from parts that are not there yet."""
        return ()

    def collect(self) -> Iterator[Metric]:
        node = self._node
        listeners = getattr(node, "listeners", None)
        if listeners is not None:
            yield from _traffic([each.endpoint for each in (*listeners.for_controllers, *listeners.for_clients)])
        if getattr(node, "quorum", None) is not None:
            yield from _quorum(node)
        if node.broker is not None:
            yield _gauge(
                "broker_state", "Kafka's number for the broker's state; 3 is running", node.broker.driver.state
            )
            manager = getattr(node.broker.replicas, "manager", None)
            if manager is not None:
                yield from _replicas(manager)
        yield _gauge(
            "event_loop_delay_seconds",
            "The longest time by which the loop was late since the last time it was asked",
            self._delay.take_longest_s(),
        )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"odradek_{name}", text, value=value)


# Requests


def _traffic(endpoints: list[Endpoint]) -> Iterator[Metric]:
    labels = ("listener", "api")
    requests = CounterMetricFamily("odradek_requests", "Requests that were answered", labels=labels)
    errors = CounterMetricFamily("odradek_request_errors", "Error codes in answers", labels=(*labels, "error"))
    durations = HistogramMetricFamily(
        "odradek_request_duration_seconds", "From the beginning of a request to its answer", labels=labels
    )
    received = CounterMetricFamily("odradek_received_bytes", "Bytes that came in", labels=("listener",))
    sent = CounterMetricFamily("odradek_sent_bytes", "Bytes that went out", labels=("listener",))
    connections = GaugeMetricFamily("odradek_connections", "Connections that are open", labels=("listener",))
    for endpoint in endpoints:
        traffic = endpoint.traffic
        received.add_metric((endpoint.name,), traffic.received_bytes)
        sent.add_metric((endpoint.name,), traffic.sent_bytes)
        connections.add_metric((endpoint.name,), len(endpoint.connections))
        for api_key, api in list(traffic.apis.items()):
            names = (endpoint.name, ApiKey(api_key).name)
            requests.add_metric(names, api.requests)
            durations.add_metric(names, _buckets(api), api.spent_ns / 1e9)
            for code, count in list(api.errors.items()):
                errors.add_metric((*names, ErrorCode(code).name), count)
    yield from (requests, errors, durations, received, sent, connections)


def _buckets(api: ApiTraffic) -> list[tuple[str, float]]:
    """Return the buckets from the first to the last that is shown; the ones outside are added to those at the ends."""
    counts = list(api.buckets)
    shown = slice(_FIRST_BUCKET + 1, _LAST_BUCKET + 1)
    counts = [sum(counts[: _FIRST_BUCKET + 1]), *counts[shown], sum(counts[_LAST_BUCKET + 1 :])]
    return cumulative_buckets(map(bound_s, range(_FIRST_BUCKET, _LAST_BUCKET + 1)), counts)


# The quorum


def _quorum(node: Node) -> Iterator[Metric]:
    raft = node.quorum.raft
    leader = raft.leader_and_epoch
    is_active = node.controller is not None and node.controller.core.is_active
    yield _gauge("active_controller", "1 on the controller that decides", int(is_active))
    yield _gauge("raft_epoch", "Epoch of the metadata quorum", leader.epoch)
    yield _gauge("raft_leader_id", "Who leads it, as far as this node knows; -1 for nobody", _id_of(leader.leader_id))
    yield _gauge("raft_high_watermark", "Up to where its log is committed", raft.high_watermark or 0)
    yield _gauge("metadata_offset", "Up to where this node has replayed it", node.quorum.image().offset)


def _id_of(leader_id: int | None) -> int:
    return -1 if leader_id is None else leader_id


# Replicas


def _replicas(manager: ReplicaManager) -> Iterator[Metric]:
    partitions = list(manager.partitions.values())
    led = [each for each in partitions if each.is_leader]
    for name, text, count in (
        ("partitions", "Replicas on this broker", len(partitions)),
        ("leader_partitions", "Those that this broker leads", len(led)),
        ("offline_partitions", "Replicas whose log directory has failed", len(manager.offline)),
        ("under_replicated_partitions", "Led here, with replicas out of sync", _count(led, "is_under_replicated")),
        ("under_min_isr_partitions", "Led here, with too few in sync for acks=all", _count(led, "is_under_min_isr")),
    ):
        yield _gauge(name, text, count)
    waiting = GaugeMetricFamily("odradek_purgatory_requests", "Requests that wait", labels=("purgatory",))
    waiting.add_metric(("produce",), len(manager.produce_purgatory))
    waiting.add_metric(("fetch",), len(manager.fetch_purgatory))
    waiting.add_metric(("delete_records",), len(manager.delete_purgatory))
    yield waiting
    yield from _of_partitions(partitions)
    yield _in_sync(led)
    yield _lags(led)


def _count(partitions: list[Partition], condition: str) -> int:
    return sum(1 for each in partitions if getattr(each, condition))


_OF_LOG: tuple[tuple[str, str, Callable[[UnifiedLog], int]], ...] = (
    ("log_size_bytes", "Size of the log on disk", lambda log: log.segments.size_bytes),
    ("log_start_offset", "The first offset that is served", lambda log: log.offsets.log_start_offset),
    ("log_end_offset", "The next offset", lambda log: log.offsets.log_end_offset),
    ("high_watermark", "Up to where it is committed", lambda log: log.offsets.high_watermark),
)


def _of_partitions(partitions: list[Partition]) -> Iterator[Metric]:
    logs = [(_names(each), each.log) for each in partitions]
    for name, text, read in _OF_LOG:
        family = GaugeMetricFamily(f"odradek_partition_{name}", text, labels=_PARTITION)
        for names, log in logs:
            if log is not None:
                family.add_metric(names, read(log))
        yield family


def _in_sync(led: list[Partition]) -> Metric:
    family = GaugeMetricFamily("odradek_partition_isr", "Replicas in sync, as the leader knows", labels=_PARTITION)
    for partition in led:
        family.add_metric(_names(partition), len(partition.isr_state.isr))
    return family


def _names(partition: Partition) -> tuple[str, str]:
    topic, number = partition.topic_partition
    return topic, str(number)


def _lags(led: list[Partition]) -> Metric:
    text = "Records that a follower does not have yet, as its leader sees it"
    family = GaugeMetricFamily("odradek_follower_lag_records", text, labels=(*_PARTITION, "follower"))
    for partition in led:
        log = partition.leader_log
        if log is None:
            continue
        for follower in list(partition.followers.values()):
            lag = log.offsets.log_end_offset - max(follower.log_end_offset, 0)
            family.add_metric((*_names(partition), str(follower.broker_id)), max(lag, 0))
    return family
