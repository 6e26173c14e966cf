"""Histograms in Prometheus' form."""

from collections.abc import Iterable


def cumulative_buckets(bounds: Iterable[float], counts: Iterable[int]) -> list[tuple[str, float]]:
    """Return each upper bound with the number of observations at or below it, the last one without a bound.

    `counts` are the observations of each bucket alone: one more than there are bounds.
    """
    buckets: list[tuple[str, float]] = []
    total = 0
    for bound, count in zip((*map(repr, bounds), "+Inf"), counts, strict=True):
        total += count
        buckets.append((bound, total))
    return buckets
