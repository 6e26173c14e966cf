"""Log lines as text (time, node, logger, message) or as JSON objects.

Messages contain names and client ids of foreign origin. They are escaped, so that a message is one line without control
characters; only a traceback has further lines.
"""

import logging
import sys
import time
from collections.abc import Callable
from typing import TextIO

from odradek.common.log_format import EscapingFormatter
from odradek.common.printable import dump_json, printable

_FORMAT = "%(asctime)s.%(msecs)03d {node}%(levelname)-8s %(short)s: %(message)s"
_TIME = "%Y-%m-%d %H:%M:%S"

#: Loggers that are shown: those of Odradek, and asyncio's, which reports unexpected errors of tasks.
_LOGGERS = ("odradek", "asyncio")


class _Formatter(EscapingFormatter):
    def format(self, record: logging.LogRecord) -> str:
        record.short = printable(record.name.removeprefix("odradek."))
        return super().format(record)


class _JsonFormatter(EscapingFormatter):
    def __init__(self, node_id: int | None) -> None:
        super().__init__()
        self._node = {} if node_id is None else {"node": node_id}

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time_ms": int(record.created * 1000),
            **self._node,
            "level": record.levelname,
            "part": record.name.removeprefix("odradek."),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return dump_json(line)


class _Handler(logging.StreamHandler[TextIO]):
    def __init__(self, before_line: Callable[[], None]) -> None:
        super().__init__(sys.stderr)
        self._before_line = before_line

    def emit(self, record: logging.LogRecord) -> None:
        self._before_line()
        super().emit(record)


def log_to_stderr(
    node_id: int | None,
    *,
    verbose: bool,
    utc: bool = False,
    as_json: bool = False,
    before_line: Callable[[], None] = lambda: None,
) -> None:
    """Write log lines to stderr. The node id is None outside of a node. `before_line` is called before each line."""
    handler = _Handler(before_line)
    node = "" if node_id is None else f"node {node_id} "
    formatter = _JsonFormatter(node_id) if as_json else _Formatter(_FORMAT.format(node=node), _TIME)
    formatter.converter = time.gmtime if utc else time.localtime
    handler.setFormatter(formatter)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False
    logging.getLogger("odradek").setLevel(logging.DEBUG if verbose else logging.INFO)
