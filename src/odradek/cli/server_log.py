"""Log lines for people (time, node, part, what happened), or for programs: one JSON object a line."""

import json
import logging
import sys
import time

_FORMAT = "%(asctime)s.%(msecs)03d node {node} %(levelname)-8s %(short)s: %(message)s"
_TIME = "%Y-%m-%d %H:%M:%S"


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        record.short = record.name.removeprefix("odradek.")
        return super().format(record)


class _JsonFormatter(logging.Formatter):
    def __init__(self, node_id: int) -> None:
        super().__init__()
        self._node_id = node_id

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time_ms": int(record.created * 1000),
            "node": self._node_id,
            "level": record.levelname,
            "part": record.name.removeprefix("odradek."),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_stderr(node_id: int, *, verbose: bool, utc: bool = False, as_json: bool = False) -> None:
    handler = logging.StreamHandler(sys.stderr)
    formatter = _JsonFormatter(node_id) if as_json else _Formatter(_FORMAT.format(node=node_id), _TIME)
    formatter.converter = time.gmtime if utc else time.localtime
    handler.setFormatter(formatter)
    logger = logging.getLogger("odradek")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False
