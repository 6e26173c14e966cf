"""A gauge of a node, with the prefix that all its metrics have."""

from prometheus_client.core import GaugeMetricFamily, Metric


def gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"odradek_{name}", text, value=value)
