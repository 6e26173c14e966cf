"""Metrics in Prometheus' text format, of a registry whose collectors read what another thread changes."""

from prometheus_client import CollectorRegistry, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

#: A collector that reads a dictionary while it grows fails and is asked again; it is not that unlucky so often.
_TRIES = 5


def metrics_text(registry: CollectorRegistry) -> bytes:
    """Return the text. From any thread."""
    for attempt in range(_TRIES):
        try:
            return generate_latest(registry)
        except RuntimeError:
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("not reached")
