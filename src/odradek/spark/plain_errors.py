"""What a person can cause is said in one line. Spark shows the traceback of a Python process that failed, unless the
process is told to hide it; and a process of Spark's ends with the error that it shows."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from odradek.common.failures import ApiError, InputError

_HIDE = "SPARK_HIDE_TRACEBACK"


@contextmanager
def plain_errors() -> Iterator[None]:
    """Also a decorator. For what Spark calls, and whose errors nobody catches."""
    try:
        yield
    except (InputError, ApiError):
        os.environ[_HIDE] = "1"
        raise
