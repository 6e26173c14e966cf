"""The last and the next run of a sink on this driver, passed between Python processes of the driver in files.

Spark begins a micro-batch in one process and aborts it in another, on a newly created writer. That writer learns the
run from the results of tasks; if a stream is stopped before any task has ended, there are none. All these processes get
the directory in which the driver keeps its blocks. No other driver has it, and it is deleted with the driver: the
number of the run is stored there. Without such a directory nothing is stored."""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

#: Environment variable with the directories of the driver, which Spark sets for its processes.
_DIRECTORIES = "SPARK_LOCAL_DIRS"


class BegunRuns:
    """Runs of the stream with these options. Streams of one driver with different options have different files."""

    def __init__(self, options: Mapping[str, str]) -> None:
        directory = os.environ.get(_DIRECTORIES, "").split(",")[0]
        sorted_options = sorted((name.lower(), value) for name, value in options.items())
        name = f"odradek-run-{hashlib.sha256(repr(sorted_options).encode()).hexdigest()}"
        self._path = Path(directory, name) if directory else None

    def remember(self, run: int) -> None:
        _write(self._path, run)  # if it fails, the transactions of a stopped stream stay open longer

    def last(self) -> int | None:
        return _read(self._path)

    def remember_next(self, run: int) -> None:
        """Store the run that the commit of the last run has begun."""
        _write(self._next_path(), run)  # if it fails, another run is begun

    def take_next(self) -> int | None:
        """Return the run that the last commit has begun, once."""
        path = self._next_path()
        run = _read(path)
        if path is not None:
            try:
                path.unlink()
            except OSError:
                return None  # the file would return the same run again
        return run

    def _next_path(self) -> Path | None:
        return None if self._path is None else self._path.with_name(f"{self._path.name}-next")


def _write(path: Path | None, run: int) -> None:
    if path is not None:
        with suppress(OSError):
            path.write_text(str(run))


def _read(path: Path | None) -> int | None:
    if path is not None:
        with suppress(OSError, ValueError):
            return int(path.read_text())
    return None
