"""Backoff before the next attempt: longer after each failure, and random so that clients do not retry together.

Pure: the randomness comes in. Kafka's formula: the first wait is `initial_ms`, each further one twice the one before,
none beyond `max_ms`, and each is spread by 20 % to both sides.
"""

from dataclasses import dataclass

from odradek.common.randomness import Randomness

_FACTOR = 2.0

#: Attempts that lost the same node together do not come back together.
_JITTER = 0.2

#: Beyond this the power is larger than any limit that has 63 bits.
_EXPONENT_MAX = 62


@dataclass(frozen=True, slots=True)
class Backoff:
    """retry.backoff.ms and retry.backoff.max.ms, or those of reconnecting."""

    initial_ms: int
    max_ms: int

    def delay_ms(self, failures: int, randomness: Randomness) -> float:
        """Before the next attempt, after so many that failed; the first failure is 1."""
        if failures <= 0:
            return 0.0
        doubled_ms: float = self.initial_ms * _FACTOR ** min(failures - 1, _EXPONENT_MAX)
        return min(doubled_ms, self.max_ms) * randomness.uniform(1 - _JITTER, 1 + _JITTER)
