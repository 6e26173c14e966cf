"""Streams whose Python process was too slow to start are started again; the slow process itself is in tests/spark."""

from collections.abc import Sequence
from typing import Any

import pytest

from odradek.spark import starting
from odradek.spark.starting import start_stream

TOO_LATE = "org.apache.spark.SparkException: Python worker failed to connect back."


class FakeQuery:
    """Goes through these status messages; then it ends with the error, or runs."""

    def __init__(self, *messages: str, error: str | None = None, progress: Sequence[Any] = ()) -> None:
        self._messages = list(messages)
        self._error = error
        self.recentProgress = progress

    @property
    def isActive(self) -> bool:
        return bool(self._messages) or self._error is None

    @property
    def status(self) -> dict[str, Any]:
        return {"message": self._messages.pop(0) if len(self._messages) > 1 or self._error else self._messages[0]}

    def exception(self) -> Exception | None:
        return None if self._error is None else RuntimeError(self._error)


class FakeWriter:
    def __init__(self, *queries: FakeQuery) -> None:
        self.queries = list(queries)

    def start(self) -> FakeQuery:
        return self.queries.pop(0)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "_POLL_S", 0)


def slow() -> FakeQuery:
    return FakeQuery("Initializing StreamExecution", "Initializing sources", error=TOO_LATE)


def test_a_stream_is_started_again_while_its_process_is_too_slow() -> None:
    running = FakeQuery("Initializing StreamExecution", "Initializing sources", "Waiting for data to arrive")
    writer = FakeWriter(slow(), slow(), running, FakeQuery())
    assert start_stream(writer) is running
    assert len(writer.queries) == 1


def test_the_last_attempt_is_left_to_its_query() -> None:
    last = slow()
    assert start_stream(FakeWriter(slow(), last), attempts=2) is last


def test_another_failure_is_not_tried_again() -> None:
    failed = FakeQuery("Initializing sources", error="there is no topic t")
    assert start_stream(FakeWriter(failed)) is failed


def test_a_stream_that_was_quick_is_not_started_twice() -> None:
    done = FakeQuery("Initializing sources", progress=[{}])
    assert start_stream(FakeWriter(done)) is done
