"""The metrics of a run in Prometheus' text format. Nothing is kept for them: they are read off the state of the run.

Counters begin anew with each `odradek pipeline run`, as Prometheus expects of a process; a restart of Spark's driver
does not reset them. Rows per second are `rate(odradek_pipeline_rows_in_total[1m])`.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from odradek.common.metrics_text import metrics_text
from odradek.spark.pipeline import events
from odradek.spark.pipeline.state import FlowState, RunState

_PREFIX = "odradek_pipeline_"

_Flows = list[tuple[str, FlowState]]


class Metrics:
    def __init__(self, state: Callable[[], RunState]) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._registry.register(_RunCollector(state))

    def text(self) -> bytes:
        """Return the metrics; may be called from any thread."""
        return metrics_text(self._registry)


class _RunCollector(Collector):
    def __init__(self, state: Callable[[], RunState]) -> None:
        self._state = state

    def describe(self) -> Iterable[Metric]:
        """Registering would otherwise collect, from a run that has not begun."""
        return ()

    def collect(self) -> Iterator[Metric]:
        state = self._state()
        flows = sorted(state.flows.copy().items(), key=lambda entry: entry[0])
        yield from _of_run(state)
        yield from _throughput(flows)
        yield from _lag(flows)
        yield from _batches(flows)
        yield from _of_state_stores(flows)
        yield from _troubles(state, flows)


def _of_run(state: RunState) -> Iterator[Metric]:
    is_up = state.state in (events.RUNNING, "waiting") and state.attempt > 0
    yield GaugeMetricFamily(f"{_PREFIX}up", "1 while Spark runs, 0 while it is started or restarted", value=is_up)
    yield CounterMetricFamily(f"{_PREFIX}sessions", "Starts of Spark, the first one included", value=state.attempt)
    yield CounterMetricFamily(f"{_PREFIX}updates", "Updates that completed", value=state.updates_completed)
    yield GaugeMetricFamily(
        f"{_PREFIX}start_time_seconds", "When the run began, since 1970", value=state.started_ms / 1_000
    )


def _throughput(flows: _Flows) -> Iterator[Metric]:
    yield _counter("rows_in", "Rows that batches of the flow have read", flows, lambda flow: flow.rows_in)
    yield _counter(
        "rows_out",
        "Rows that batches of the flow have written; absent where the sink does not count",
        flows,
        lambda flow: flow.rows_out if flow.counts_out else None,
    )
    yield _gauge(
        "rows_in_per_second", "Rows read, mean of the last ten seconds", flows, lambda flow: flow.rows_in_per_s
    )
    yield _gauge(
        "rows_out_per_second",
        "Rows written, mean of the last ten seconds; absent where the sink does not count",
        flows,
        lambda flow: flow.rows_out_per_s if flow.counts_out else None,
    )


def _lag(flows: _Flows) -> Iterator[Metric]:
    yield _gauge(
        "lag_records",
        "Records in the topics of the flow that it has not processed; absent while brokers do not answer",
        flows,
        lambda flow: flow.lag,
    )
    yield _gauge(
        "lag_seconds",
        "How long ago the topics ended where the flow is: about the age of the oldest record it has not processed",
        flows,
        lambda flow: _seconds(flow.lag_ms),
    )
    yield _gauge(
        "watermark_timestamp_seconds",
        "Watermark of the flow, since 1970",
        flows,
        lambda flow: _seconds(flow.watermark_ms),
    )


def _batches(flows: _Flows) -> Iterator[Metric]:
    durations = SummaryMetricFamily(
        f"{_PREFIX}batch_duration_seconds", "Micro-batches, or refreshes of a materialized view", labels=("flow",)
    )
    for name, flow in flows:
        durations.add_metric((name,), flow.batches, flow.duration_total_ms / 1_000)
    yield durations
    yield _gauge(
        "last_batch_duration_seconds", "How long the last batch took", flows, lambda flow: _seconds(flow.duration_ms)
    )
    parts = GaugeMetricFamily(
        f"{_PREFIX}last_batch_part_seconds",
        "How long the parts of the last batch took, by Spark's names",
        labels=("flow", "part"),
    )
    for name, flow in flows:
        for part, part_ms in sorted(flow.parts_ms.copy().items()):
            parts.add_metric((name, part), part_ms / 1_000)
    yield parts
    yield _gauge(
        "last_batch_timestamp_seconds",
        "When the last batch ended, since 1970",
        flows,
        lambda flow: _seconds(flow.last_batch_ms),
    )
    yield _gauge(
        "trigger_exceeded",
        "1 while batches take longer than the trigger interval of the flow",
        flows,
        lambda flow: flow.late_interval_ms is not None,
    )


def _of_state_stores(flows: _Flows) -> Iterator[Metric]:
    yield _gauge("state_rows", "Rows in the state stores of the flow", flows, lambda flow: flow.state_rows)
    yield _gauge("state_bytes", "Memory of the state stores of the flow", flows, lambda flow: flow.state_bytes)


def _troubles(state: RunState, flows: _Flows) -> Iterator[Metric]:
    yield _counter(
        "restarts", "Restarts of the flow alone, after a failure of its own", flows, lambda flow: flow.restarts
    )
    states = GaugeMetricFamily(f"{_PREFIX}flow_state", "1 for the state in which the flow is", labels=("flow", "state"))
    for name, flow in flows:
        states.add_metric((name, flow.state), 1)
    yield states
    dead_letters = GaugeMetricFamily(
        f"{_PREFIX}dead_letters_records", "Records in the topic of dead letters", labels=("topic",)
    )
    for topic, records in sorted(state.dead_letters.copy().items()):
        if records is not None:
            dead_letters.add_metric((topic,), records)
    yield dead_letters


def _gauge(name: str, text: str, flows: _Flows, value: Callable[[FlowState], float | None]) -> Metric:
    family = GaugeMetricFamily(f"{_PREFIX}{name}", text, labels=("flow",))
    for flow_name, flow in flows:
        if (number := value(flow)) is not None:
            family.add_metric((flow_name,), number)
    return family


def _counter(name: str, text: str, flows: _Flows, value: Callable[[FlowState], float | None]) -> Metric:
    family = CounterMetricFamily(f"{_PREFIX}{name}", text, labels=("flow",))
    for flow_name, flow in flows:
        if (number := value(flow)) is not None:
            family.add_metric((flow_name,), number)
    return family


def _seconds(time_ms: int | None) -> float | None:
    return None if time_ms is None else time_ms / 1_000
