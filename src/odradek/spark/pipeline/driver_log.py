"""The log of Spark's driver: what it and its JVM print, and why a driver could not start."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from odradek.spark.pipeline.project import Project

#: A longer log is renamed at the start of a run, and replaces the one that was renamed before.
_LOG_BYTES_MAX = 20 * 1024 * 1024

#: How much of the end of the log is searched for why a driver could not start.
_LOG_TAIL_BYTES = 64 * 1024

_TRACEBACK = "Traceback (most recent call last):"

#: PySpark's text for a JVM that ended while it started; the JVM itself printed the reason before.
_GATEWAY_EXITED = "JAVA_GATEWAY_EXITED"
_JVM_REASON = re.compile(
    r'^(?:Exception in thread "main" (?:[\w.$]+: )?|Error: |Error occurred during |Unrecognized )(.+)$', re.MULTILINE
)


@contextmanager
def open_log(project: Project) -> Iterator[IO[bytes]]:
    if project.log.exists() and project.log.stat().st_size > _LOG_BYTES_MAX:
        os.replace(project.log, project.log.with_suffix(".log.1"))
    with project.log.open("ab") as log:
        yield log


def log_size(log: IO[bytes] | None) -> int:
    return 0 if log is None else os.fstat(log.fileno()).st_size


def start_failure(project: Project, start: int) -> str:
    """Return why a driver ended, by what it has printed after byte `start` of the log; empty if it does not say."""
    with project.log.open("rb") as log:
        log.seek(max(start, log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
        return failure_in(log.read().decode(errors="replace"))


def failure_in(printed: str) -> str:
    """Return the last traceback, or for a JVM that could not start its own reason."""
    position = printed.rfind(_TRACEBACK)
    text = printed[position:] if position >= 0 else ""
    if _GATEWAY_EXITED in text:
        reasons = _JVM_REASON.findall(printed)
        if reasons:
            return f"Spark's JVM could not start: {reasons[-1].strip()}"
    return text
