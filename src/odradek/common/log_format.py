"""A formatter for logs whose messages hold text from elsewhere: see `odradek.common.printable`."""

import logging
from types import TracebackType

from odradek.common.printable import printable, traceback_lines

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class EscapingFormatter(logging.Formatter):
    """A message is one line without control characters; only a traceback has lines of its own below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  logging's name
        return "" if ei[1] is None else "\n".join(traceback_lines(ei[1]))
