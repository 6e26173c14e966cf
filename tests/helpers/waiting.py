"""Waiting for a condition, and not for seconds."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    """A condition may fail with an exception meanwhile; the last one is shown if it never comes true."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        failure: Exception | None = None
        try:
            if condition():
                return
        except Exception as error:  # noqa: BLE001 - whatever a client says while a node starts
            failure = error
        if time.monotonic() > deadline_s:
            raise AssertionError(f"not in {timeout_s} s: {what}") from failure
        time.sleep(0.02)
