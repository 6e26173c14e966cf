"""The I/O limit says how long to wait, and keeps the average."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.log.cleaner.throttle import CHECK_INTERVAL_MS, Throttle


def test_nothing_is_said_before_the_interval_is_full() -> None:
    throttle = Throttle(bytes_per_second=1000, now_ms=0)
    assert throttle.observe(1_000_000, now_ms=CHECK_INTERVAL_MS) == 0


def test_the_pause_brings_the_average_back_to_the_limit() -> None:
    throttle = Throttle(bytes_per_second=1000, now_ms=0)
    assert throttle.observe(1000, now_ms=400) == 600  # 1000 bytes are due after a second


def test_below_the_limit_there_is_no_pause() -> None:
    throttle = Throttle(bytes_per_second=1000, now_ms=0)
    assert throttle.observe(300, now_ms=400) == 0


def test_no_limit_never_waits() -> None:
    throttle = Throttle(bytes_per_second=float("inf"), now_ms=0)
    assert throttle.observe(10**12, now_ms=1000) == 0


@given(
    rate=st.integers(1_000, 10_000_000),
    moves=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 700)), min_size=1, max_size=50),
)
def test_the_rate_is_kept_over_any_run(rate: int, moves: list[tuple[int, int]]) -> None:
    now_ms = 0
    throttle = Throttle(rate, now_ms)
    total = unjudged = 0
    for moved_bytes, took_ms in moves:
        now_ms += took_ms
        total += moved_bytes
        unjudged += moved_bytes
        judged_at_ms = now_ms
        pause_ms = throttle.observe(moved_bytes, now_ms)
        now_ms += pause_ms
        if throttle._observed_bytes == 0:
            unjudged = 0
            # Half a millisecond is lost to rounding in each pause.
            assert (total - unjudged) * 1000 / rate <= now_ms + len(moves), (judged_at_ms, pause_ms)
