"""A service's figures in Prometheus' form. Nothing is kept for them: they are read off its parts when somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from odradek.client.types import TopicPartition
from odradek.observability.histogram import cumulative_buckets
from odradek.service.counters import DURATION_BOUNDS_S, Figures, TopicFigures


class Measured(Protocol):
    """Measurements that a running service provides."""

    @property
    def figures(self) -> Figures: ...

    @property
    def running(self) -> int: ...

    @property
    def in_hand(self) -> int: ...

    @property
    def waiting(self) -> int: ...

    @property
    def abandoned(self) -> int: ...

    @property
    def assigned_partitions(self) -> int: ...

    def lags(self) -> dict[TopicPartition, int]: ...


class Metrics:
    def __init__(self, measured: Measured) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(_ServiceCollector(measured))

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _ServiceCollector(Collector):
    def __init__(self, measured: Measured) -> None:
        self._measured = measured

    def describe(self) -> Iterable[Metric]:
        """Registering would otherwise collect, from parts that are not there yet."""
        return ()

    def collect(self) -> Iterator[Metric]:
        measured = self._measured
        yield from _of_topics(measured.figures.topics)
        for name, text, value in (
            ("running_messages", "Messages whose handlers run", measured.running),
            ("in_hand_messages", "Messages that were read and are not finished", measured.in_hand),
            ("waiting_messages", "Messages of retry topics that are not due yet", measured.waiting),
            (
                "assigned_partitions",
                "Partitions that the group has assigned to the service",
                measured.assigned_partitions,
            ),
            ("abandoned_calls", "Calls in threads that were given up and still run", measured.abandoned),
        ):
            yield GaugeMetricFamily(f"odradek_service_{name}", text, value=value)
        figures = measured.figures
        for name, text, count in (
            ("commits", "Commits of offsets", figures.commits),
            ("failed_commits", "Commits of offsets that failed", figures.failed_commits),
            ("transactions", "Transactions that were committed", figures.transactions),
            ("aborted_transactions", "Transactions that were aborted", figures.aborted_transactions),
        ):
            yield CounterMetricFamily(f"odradek_service_{name}", text, value=count)
        yield _lag(measured.lags())


def _of_topics(topics: dict[str, TopicFigures]) -> Iterator[Metric]:
    received = CounterMetricFamily("odradek_service_received_messages", "Messages that were read", labels=("topic",))
    finished = CounterMetricFamily(
        "odradek_service_finished_messages", "Messages by what became of them", labels=("topic", "ending")
    )
    failed = CounterMetricFamily("odradek_service_failed_attempts", "Attempts that failed", labels=("topic",))
    again = CounterMetricFamily("odradek_service_retries_in_place", "Attempts after the first", labels=("topic",))
    durations = HistogramMetricFamily(
        "odradek_service_attempt_duration_seconds", "How long handlers took", labels=("topic",)
    )
    for topic, figures in topics.items():
        received.add_metric((topic,), figures.received)
        failed.add_metric((topic,), figures.failed_attempts)
        again.add_metric((topic,), figures.retries_in_place)
        durations.add_metric((topic,), cumulative_buckets(DURATION_BOUNDS_S, figures.durations), figures.spent_s)
        for ending, count in figures.endings.items():
            finished.add_metric((topic, ending.value), count)
    yield from (received, finished, failed, again, durations)


def _lag(lags: dict[TopicPartition, int]) -> Metric:
    text = "Records behind the position of the consumer that are still to be read"
    family = GaugeMetricFamily("odradek_service_lag_records", text, labels=("topic", "partition"))
    for partition, lag in lags.items():
        family.add_metric((partition.topic, str(partition.partition)), lag)
    return family
