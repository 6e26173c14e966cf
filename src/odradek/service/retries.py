"""Policy for a failed message: retry in place, retry later, dead letter. Pure.

A message has `1 + in_place + len(topics)` attempts. The first ones are made where it was read, one after the other with
a back-off, and meanwhile only messages of the same key wait. Then it moves through the retry topics, one attempt in
each, and waits in each until its delay is over; messages of its key that come after it overtake it there. What fails in
the last place is dead. A message that cannot be read, or that its handler rejects, is dead at once: nothing would be
different the next time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from odradek.common.failures import InputError

_DELAY = re.compile(r"([1-9][0-9]{0,8})(ms|s|m|h|d)")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

#: More attempts than this in one place keep messages of the same key waiting for what will not change.
_IN_PLACE_MAX = 100

#: A topic each; more than a few are a mistake.
_TOPICS_MAX = 20


def parse_delay_ms(text: str) -> int:
    """Parse `10s`, `1m`, `500ms`, `2h`, `1d`."""
    match = _DELAY.fullmatch(text)
    if match is None:
        raise InputError(f'"{text}" is no delay of a retry topic. Right would be 500ms, 10s, 1m, 2h or 1d.')
    return int(match[1]) * _UNIT_MS[match[2]]


@dataclass(frozen=True, slots=True)
class Retries:
    """Retries of a message: `in_place` times where it was read, the first after `backoff_ms`, then once
    by way of each retry topic, which are named by their delays: `topics=["10s", "1m"]`."""

    #: Attempts after the first one, where the message was read.
    in_place: int = 2
    #: Before the first of them; it doubles from one to the next.
    backoff_ms: float = 100
    backoff_max_ms: float = 10_000
    #: By how much of itself a back-off may differ either way, so that many that failed together do not return together.
    jitter: float = 0.2
    #: Delays, one for each retry topic, in the order in which a message moves through them.
    topics: Sequence[str] = ()

    def __post_init__(self) -> None:
        for delay in self.topics:
            parse_delay_ms(delay)
        for name, value, highest in (
            ("in_place", self.in_place, _IN_PLACE_MAX),
            ("jitter", self.jitter, 1),
            ("len(topics)", len(self.topics), _TOPICS_MAX),
        ):
            if not 0 <= value <= highest:
                raise InputError(f"Retries: {name} is {value}; right is a number from 0 to {highest}.")
        if len(set(self.topics)) != len(self.topics):
            raise InputError(f"Retries: a delay stands twice in {list(self.topics)}; each makes a topic of its own.")
        if not 0 <= self.backoff_ms <= self.backoff_max_ms:
            raise InputError("Retries: backoff_ms must be from 0 to backoff_max_ms.")

    def backoff_after_ms(self, attempt: int, draw: float) -> float:
        """Before the attempt that follows `attempt`, counted from 1; `draw` is random, from 0 to 1."""
        plain = min(self.backoff_ms * 2.0 ** min(attempt - 1, 64), self.backoff_max_ms)
        return plain * (1 + self.jitter * (2 * draw - 1))


NO_RETRIES: Final = Retries(in_place=0)


@dataclass(frozen=True, slots=True)
class AgainHere:
    delay_ms: float


@dataclass(frozen=True, slots=True)
class AgainLater:
    """In the retry topic of this delay."""

    delay: str
    delay_ms: int


@dataclass(frozen=True, slots=True)
class Dead:
    pass


Verdict = AgainHere | AgainLater | Dead


def verdict(retries: Retries, stage: int, attempt: int, *, is_final: bool, draw: float) -> Verdict:
    """After the `attempt`-th attempt at this stage, counted from 1, has failed: stage 0 is the topic itself, stage n
    the n-th retry topic. `is_final`: another attempt would not help. `draw` is random, from 0 to 1."""
    if is_final:
        return Dead()
    if stage == 0 and attempt <= retries.in_place:
        return AgainHere(retries.backoff_after_ms(attempt, draw))
    if stage < len(retries.topics):
        delay = retries.topics[stage]
        return AgainLater(delay, parse_delay_ms(delay))
    return Dead()
