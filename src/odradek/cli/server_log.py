"""Log lines for people: time, node, part, what happened."""

import logging
import sys
import time

_FORMAT = "%(asctime)s.%(msecs)03d node {node} %(levelname)-8s %(short)s: %(message)s"
_TIME = "%Y-%m-%d %H:%M:%S"


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        record.short = record.name.removeprefix("odradek.")
        return super().format(record)


def log_to_stderr(node_id: int, *, verbose: bool, utc: bool = False) -> None:
    handler = logging.StreamHandler(sys.stderr)
    formatter = _Formatter(_FORMAT.format(node=node_id), _TIME)
    formatter.converter = time.gmtime if utc else time.localtime
    handler.setFormatter(formatter)
    logger = logging.getLogger("odradek")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False
