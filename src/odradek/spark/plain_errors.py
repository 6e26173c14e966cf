"""Hides the traceback of errors that a user can cause. Spark shows the traceback of a failed Python process, unless an
environment variable hides it; a process of Spark ends with the error that it shows."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from odradek.common.failures import ApiError, InputError

_HIDE = "SPARK_HIDE_TRACEBACK"


@contextmanager
def plain_errors() -> Iterator[None]:
    """Hide tracebacks in functions that Spark calls; also a decorator."""
    try:
        yield
    except (InputError, ApiError):
        os.environ[_HIDE] = "1"
        raise
