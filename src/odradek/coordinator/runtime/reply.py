"""An answer that comes later, without an event loop: the pure sibling of a future.

Whoever waits adds a callback with `then`; whoever decides calls `complete` or `fail`, once. Callbacks run at once, in
order, and must not raise.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from odradek.common.failures import ApiError, check

Answer = TypeVar("Answer")


class Reply(Generic[Answer]):
    __slots__ = ("_answer", "_callbacks", "error", "is_done")

    def __init__(self) -> None:
        self.is_done = False
        self.error: ApiError | None = None
        self._answer: Answer | None = None
        self._callbacks: list[Callable[[Reply[Answer]], None]] = []

    @classmethod
    def of(cls, answer: Answer) -> "Reply[Answer]":
        """One that is there already."""
        reply = cls()
        reply.complete(answer)
        return reply

    def answer(self) -> Answer:
        """Raises the ApiError that it failed with."""
        check(self.is_done, "a reply was read before it came")
        if self.error is not None:
            raise self.error
        return self._answer  # type: ignore[return-value]  # the answer may itself be None

    def complete(self, answer: Answer) -> None:
        self._answer = answer
        self._finish()

    def fail(self, error: ApiError) -> None:
        self.error = error
        self._finish()

    def then(self, callback: Callable[["Reply[Answer]"], None]) -> None:
        if self.is_done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def _finish(self) -> None:
        check(not self.is_done, "a reply was given twice")
        self.is_done = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)
