"""The client's members of groups, driven by hand: a clock, and answers to what they send."""

from collections.abc import Callable
from random import Random
from typing import Any

from odradek.client.group.core import MemberConfig, MemberCore, Request, Step
from odradek.client.net.backoff import Backoff
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.protocol.message import Message

CONFIG = MemberConfig(
    group_id="g",
    group_instance_id=None,
    rack_id=None,
    session_timeout_ms=10_000,
    heartbeat_interval_ms=1_000,
    max_poll_interval_ms=60_000,
    request_timeout_ms=5_000,
    backoff=Backoff(100, 1_000),
)

RANDOM = Random(0)


def partitions(*numbers: int, topic: str = "t") -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for number in numbers)


class Played:
    """A member whose every request is answered by the test."""

    def __init__(self, core: MemberCore) -> None:
        self.core = core
        self.now_ms = 0.0
        self.sent: list[Request] = []

    def turn(self, after_ms: float = 0) -> list[Message]:
        """What it sends now."""
        self.now_ms += after_ms
        new = self.core.poll(self.now_ms)
        self.sent += new
        return [request.message for request in new]

    def answer(self, response: Message, kind: type[Message] | None = None) -> None:
        """To the last request (of this kind)."""
        self.core.on_response(self._last(kind), response, self.now_ms)

    def fail(self, error: ApiError, kind: type[Message] | None = None) -> None:
        self.core.on_failure(self._last(kind), error, self.now_ms)

    def _last(self, kind: type[Message] | None) -> Request:
        return next(each for each in reversed(self.sent) if kind is None or isinstance(each.message, kind))

    def step(self) -> Step | None:
        """Polls, and carries out what is due."""
        self.core.polled(self.now_ms)
        step = self.core.step()
        if step is not None:
            self.core.done(step)
        return step


def counted(calls: list[None]) -> Callable[[], Any]:
    return lambda: calls.append(None)
