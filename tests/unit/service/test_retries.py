"""What becomes of a message that has failed."""

import pytest

from odradek.common.failures import InputError
from odradek.service.retries import AgainHere, AgainLater, Dead, Retries, Verdict, parse_delay_ms, verdict


@pytest.mark.parametrize(
    ("text", "delay_ms"), [("500ms", 500), ("10s", 10_000), ("1m", 60_000), ("2h", 7_200_000), ("1d", 86_400_000)]
)
def test_delays(text: str, delay_ms: int) -> None:
    assert parse_delay_ms(text) == delay_ms


@pytest.mark.parametrize("text", ["", "10", "s", "0s", "-1s", "1.5s", "10 s", "1w", "01s"])
def test_what_is_no_delay(text: str) -> None:
    with pytest.raises(InputError, match="10s"):
        parse_delay_ms(text)


def test_a_message_moves_through_all_its_attempts() -> None:
    retries = Retries(in_place=2, backoff_ms=100, jitter=0, topics=["10s", "1m"])
    seen: list[Verdict] = []
    for stage, attempt in ((0, 1), (0, 2), (0, 3), (1, 1), (2, 1)):
        seen.append(verdict(retries, stage, attempt, is_final=False, draw=0.5))
    assert seen == [AgainHere(100), AgainHere(200), AgainLater("10s", 10_000), AgainLater("1m", 60_000), Dead()]


def test_what_no_attempt_would_help_is_dead_at_once() -> None:
    assert verdict(Retries(in_place=5, topics=["1s"]), 0, 1, is_final=True, draw=0) == Dead()


def test_a_backoff_doubles_up_to_its_limit_and_is_spread() -> None:
    retries = Retries(backoff_ms=100, backoff_max_ms=1_000, jitter=0.2)
    assert [retries.backoff_after_ms(attempt, 0.5) for attempt in (1, 2, 3, 4, 5, 99)] == [
        *(100, 200, 400, 800),
        *(1_000, 1_000),
    ]
    assert retries.backoff_after_ms(1, 0) == pytest.approx(80)
    assert retries.backoff_after_ms(1, 1) == pytest.approx(120)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"in_place": -1}, "in_place"),
        ({"in_place": 101}, "in_place"),
        ({"jitter": 1.5}, "jitter"),
        ({"backoff_ms": 20, "backoff_max_ms": 10}, "backoff_ms"),
        ({"topics": ["1s", "1s"]}, "twice"),
        ({"topics": ["soon"]}, "soon"),
    ],
)
def test_what_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Retries(**arguments)  # type: ignore[arg-type]
