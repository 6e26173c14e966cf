"""Waiting for a condition, and not for seconds.

A test waits for what its next step needs, and not for a line that another process writes just before that. Limits are
for machines that are many times as slow as this one: they only say when a test has failed.
"""

import time
from collections.abc import Callable

_PAUSE_S = 0.02


class Hopeless(AssertionError):
    """It will never be so: what is waited for has ended. Said by a condition, it ends the waiting at once."""


def wait_until(
    condition: Callable[[], object], what: str, timeout_s: float = 120, explain: Callable[[], str] = lambda: ""
) -> None:
    """A condition may fail with an exception meanwhile, as clients do while a node starts; the last one is shown if it
    never comes true, and with it what `explain` says."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        failure: Exception | None = None
        try:
            if condition():
                return
        except Hopeless:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a client says while a node starts
            failure = error
        if time.monotonic() > deadline_s:
            raise AssertionError(f"not in {timeout_s} s: {what}\n{explain()}".rstrip()) from failure
        time.sleep(_PAUSE_S)
