"""Waits between attempts: Kafka's formula."""

from random import Random

import pytest

from odradek.client.net.backoff import Backoff


class Fixed(Random):
    """Returns a fixed share of the range."""

    def __init__(self, share: float) -> None:
        super().__init__(0)
        self.share = share

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self.share


@pytest.mark.parametrize(
    ("failures", "share", "delay_ms"),
    [
        (0, 0.5, 0),
        (1, 0.5, 100),
        (2, 0.5, 200),
        (4, 0.5, 800),
        (5, 0.5, 1000),
        (10_000, 0.5, 1000),
        (1, 0, 80),
        (1, 1, 120),
        (50, 0, 800),
        (50, 1, 1200),
    ],
)
def test_it_doubles_up_to_its_limit_and_is_spread(failures: int, share: float, delay_ms: float) -> None:
    assert Backoff(100, 1_000).delay_ms(failures, Fixed(share)) == pytest.approx(delay_ms)


def test_an_initial_wait_beyond_the_limit_is_the_limit() -> None:
    assert Backoff(500, 100).delay_ms(1, Fixed(0.5)) == pytest.approx(100)
