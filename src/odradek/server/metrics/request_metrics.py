"""Metrics of the listeners: requests, their errors and durations, bytes, connections."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from odradek.network.endpoint import Endpoint
from odradek.network.request_metrics import ApiMetrics, bound_s
from odradek.observability.histogram import cumulative_buckets
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode

#: From 16 µs to 34 s; shorter durations count in the first of these buckets, longer ones in +Inf.
_FIRST_BUCKET, _LAST_BUCKET = 4, 25


def request_metrics(endpoints: list[Endpoint]) -> Iterator[Metric]:
    labels = ("listener", "api")
    requests = CounterMetricFamily("odradek_requests", "Requests that were handled", labels=labels)
    errors = CounterMetricFamily("odradek_request_errors", "Error codes in responses", labels=(*labels, "error"))
    durations = HistogramMetricFamily(
        "odradek_request_duration_seconds", "Time from the start of a request to its response", labels=labels
    )
    received = CounterMetricFamily("odradek_received_bytes", "Bytes received", labels=("listener",))
    sent = CounterMetricFamily("odradek_sent_bytes", "Bytes sent", labels=("listener",))
    connections = GaugeMetricFamily("odradek_connections", "Open connections", labels=("listener",))
    for endpoint in endpoints:
        metrics = endpoint.metrics
        received.add_metric((endpoint.name,), metrics.received_bytes)
        sent.add_metric((endpoint.name,), metrics.sent_bytes)
        connections.add_metric((endpoint.name,), len(endpoint.connections))
        for api_key, api in list(metrics.apis.items()):
            names = (endpoint.name, ApiKey(api_key).name)
            requests.add_metric(names, api.requests)
            durations.add_metric(names, _buckets(api), api.spent_ns / 1e9)
            for code, count in list(api.errors.items()):
                errors.add_metric((*names, ErrorCode(code).name), count)
    yield from (requests, errors, durations, received, sent, connections)


def _buckets(api: ApiMetrics) -> list[tuple[str, float]]:
    """Return the buckets from the first to the last that is shown; those outside are added to the ones at the ends."""
    counts = list(api.buckets)
    inner = counts[_FIRST_BUCKET + 1 : _LAST_BUCKET + 1]
    shown = [sum(counts[: _FIRST_BUCKET + 1]), *inner, sum(counts[_LAST_BUCKET + 1 :])]
    return cumulative_buckets(map(bound_s, range(_FIRST_BUCKET, _LAST_BUCKET + 1)), shown)
