"""Start of a stream on a busy machine, where its Python process may start too late.

Spark runs the source of a stream in its own Python process, which must connect back within 10 seconds (not
configurable), or the query fails. Nothing has been read or written by then, so that another start is safe.
"""

import time
from typing import Any

#: Spark's error for a Python process that did not connect in time.
_TOO_LATE = "Python worker failed to connect back"

#: Prefix of Spark's status messages until the sources of a query are initialized.
_INITIALIZING = "Initializing"

_POLL_S = 0.05


def start_stream(writer: Any, *, attempts: int = 5) -> Any:
    """Start `writer`, a DataStreamWriter, and return its StreamingQuery once its sources are initialized.

    If a Python process of Spark was too slow to start, the stream is started again, up to `attempts` times in all. Any
    other failure is left to the query, as after `writer.start()`."""
    query = writer.start()
    for _ in range(attempts - 1):
        if not _is_too_late(query):
            break
        query = writer.start()
    return query


def _is_too_late(query: Any) -> bool:
    """Wait until the sources are initialized or the query has ended."""
    while query.isActive:
        if query.recentProgress or not str(query.status["message"]).startswith(_INITIALIZING):
            return False
        time.sleep(_POLL_S)
    return _TOO_LATE in str(query.exception() or "")
