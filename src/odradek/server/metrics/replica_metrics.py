"""Metrics of a broker's replicas: how many there are and in which state, their offsets, and the lag of followers."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from odradek.log.unified_log import UnifiedLog
from odradek.replica.partition import Partition
from odradek.replica.replica_manager import ReplicaManager
from odradek.server.metrics.gauge import gauge

_PARTITION = ("topic", "partition")


def replica_metrics(manager: ReplicaManager) -> Iterator[Metric]:
    partitions = list(manager.partitions.values())
    led = [partition for partition in partitions if partition.is_leader]
    for name, text, count in (
        ("partitions", "Replicas on this broker", len(partitions)),
        ("leader_partitions", "Partitions that this broker leads", len(led)),
        ("offline_partitions", "Replicas whose log directory has failed", len(manager.offline)),
        (
            "under_replicated_partitions",
            "Partitions led here with replicas out of sync",
            _count(led, "is_under_replicated"),
        ),
        (
            "under_min_isr_partitions",
            "Partitions led here below min.insync.replicas",
            _count(led, "is_under_min_isr"),
        ),
    ):
        yield gauge(name, text, count)
    waiting = GaugeMetricFamily("odradek_purgatory_requests", "Requests waiting in a purgatory", labels=("purgatory",))
    waiting.add_metric(("produce",), len(manager.produce_purgatory))
    waiting.add_metric(("fetch",), len(manager.fetch_purgatory))
    waiting.add_metric(("delete_records",), len(manager.delete_purgatory))
    yield waiting
    yield from _log_metrics(partitions)
    yield _in_sync(led)
    yield _lags(led)


def _count(partitions: list[Partition], condition: str) -> int:
    return sum(1 for partition in partitions if getattr(partition, condition))


_LOG_METRICS: tuple[tuple[str, str, Callable[[UnifiedLog], int]], ...] = (
    ("log_size_bytes", "Size of the log on disk", lambda log: log.segments.size_bytes),
    ("log_start_offset", "Log start offset", lambda log: log.offsets.log_start_offset),
    ("log_end_offset", "Log end offset", lambda log: log.offsets.log_end_offset),
    ("high_watermark", "High watermark", lambda log: log.offsets.high_watermark),
)


def _log_metrics(partitions: list[Partition]) -> Iterator[Metric]:
    logs = [(_labels(partition), partition.log) for partition in partitions]
    for name, text, read in _LOG_METRICS:
        family = GaugeMetricFamily(f"odradek_partition_{name}", text, labels=_PARTITION)
        for labels, log in logs:
            if log is not None:
                family.add_metric(labels, read(log))
        yield family


def _in_sync(led: list[Partition]) -> Metric:
    family = GaugeMetricFamily("odradek_partition_isr", "Size of the ISR as the leader knows it", labels=_PARTITION)
    for partition in led:
        family.add_metric(_labels(partition), len(partition.isr_state.isr))
    return family


def _labels(partition: Partition) -> tuple[str, str]:
    topic, partition_index = partition.topic_partition
    return topic, str(partition_index)


def _lags(led: list[Partition]) -> Metric:
    text = "Records between the leader's log end offset and the follower's"
    family = GaugeMetricFamily("odradek_follower_lag_records", text, labels=(*_PARTITION, "follower"))
    for partition in led:
        log = partition.leader_log
        if log is None:
            continue
        for follower in list(partition.followers.values()):
            lag = log.offsets.log_end_offset - max(follower.log_end_offset, 0)
            family.add_metric((*_labels(partition), str(follower.broker_id)), max(lag, 0))
    return family
