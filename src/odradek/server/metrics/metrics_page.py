"""The page of a node's metrics in Prometheus format: one module of this package per subject.

Nothing is stored for the metrics: a node counts in plain integers where things happen (`network.request_metrics`), and
everything else is read from its parts during a scrape. A scrape runs in a worker thread, because a broker has several
series for each of its partitions, perhaps ten thousand of them. Values may change meanwhile: those of one scrape can be
a few milliseconds apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from odradek.common.metrics_text import metrics_text
from odradek.server.metrics.gauge import gauge
from odradek.server.metrics.loop_delay import LoopDelay
from odradek.server.metrics.quorum_metrics import quorum_metrics
from odradek.server.metrics.replica_metrics import replica_metrics
from odradek.server.metrics.request_metrics import request_metrics

if TYPE_CHECKING:
    from odradek.server.node import Node


class Metrics:
    def __init__(self, node: Node, delay: LoopDelay) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(_NodeCollector(node, delay))

    def text(self) -> bytes:
        """Return the page; in any thread."""
        return metrics_text(self._registry)


class _NodeCollector(Collector):
    def __init__(self, node: Node, delay: LoopDelay) -> None:
        self._node = node
        self._delay = delay

    def describe(self) -> Iterable[Metric]:
        """Return nothing: registering would otherwise collect metrics of parts that do not exist yet."""
        return ()

    def collect(self) -> Iterator[Metric]:
        node = self._node
        listeners = getattr(node, "listeners", None)
        if listeners is not None:
            yield from request_metrics([listener.endpoint for listener in listeners.all])
        if getattr(node, "quorum", None) is not None:
            is_active = node.controller is not None and node.controller.core.is_active
            metadata_offset = node.quorum.image().offset
            yield from quorum_metrics(node.quorum.raft, metadata_offset, is_active_controller=is_active)
        if node.broker is not None:
            yield gauge(
                "broker_state", "State of the broker as numbered by Kafka; 3 is running", node.broker.driver.state
            )
            manager = getattr(node.broker.replicas, "manager", None)
            if manager is not None:
                yield from replica_metrics(manager)
        yield gauge(
            "event_loop_delay_seconds",
            "Longest delay of the event loop since the last scrape",
            self._delay.take_longest_s(),
        )
