"""Metrics of a broker's replicas: how many there are and in which state, their offsets, and the lag of followers."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from odradek.log.unified_log import UnifiedLog
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.replica.partition import Partition
from odradek.replica.partition_leader import PartitionLeader
from odradek.server.metrics.gauge import gauge

_PARTITION = ("topic", "partition")


def replica_metrics(replicas: BrokerReplicas) -> Iterator[Metric]:
    partitions = list(replicas.partitions.online.values())
    led = [role for role in [partition.role for partition in partitions] if isinstance(role, PartitionLeader)]
    for name, text, count in (
        ("partitions", "Replicas on this broker", len(partitions)),
        ("leader_partitions", "Partitions that this broker leads", len(led)),
        ("offline_partitions", "Replicas whose log directory has failed", len(replicas.partitions.offline)),
        (
            "under_replicated_partitions",
            "Partitions led here with replicas out of sync",
            sum(1 for leader in led if leader.is_under_replicated),
        ),
        (
            "under_min_isr_partitions",
            "Partitions led here below min.insync.replicas",
            sum(1 for leader in led if leader.is_under_min_isr),
        ),
    ):
        yield gauge(name, text, count)
    waiting = GaugeMetricFamily("odradek_purgatory_requests", "Requests waiting in a purgatory", labels=("purgatory",))
    waiting.add_metric(("produce",), len(replicas.purgatories.produce))
    waiting.add_metric(("fetch",), len(replicas.purgatories.fetch))
    waiting.add_metric(("delete_records",), len(replicas.purgatories.delete_records))
    yield waiting
    yield from _log_metrics(partitions)
    yield _in_sync(led)
    yield _lags(led)


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


def _in_sync(led: list[PartitionLeader]) -> Metric:
    family = GaugeMetricFamily("odradek_partition_isr", "Size of the ISR as the leader knows it", labels=_PARTITION)
    for leader in led:
        family.add_metric(_labels(leader), len(leader.isr_state.isr))
    return family


def _labels(partition: Partition | PartitionLeader) -> tuple[str, str]:
    topic, partition_index = partition.topic_partition
    return topic, str(partition_index)


def _lags(led: list[PartitionLeader]) -> Metric:
    text = "Records between the leader's log end offset and the follower's"
    family = GaugeMetricFamily("odradek_follower_lag_records", text, labels=(*_PARTITION, "follower"))
    for leader in led:
        for follower in list(leader.followers.values()):
            lag = leader.log.offsets.log_end_offset - max(follower.log_end_offset, 0)
            family.add_metric((*_labels(leader), str(follower.broker_id)), max(lag, 0))
    return family
