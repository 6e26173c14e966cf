"""Which run of a sink this driver has begun last, and which is next: told from one of its Python processes to another.

Spark begins a micro-batch in one process and aborts it in another, on a writer that it has made anew. From tasks that
came to an end that writer learns which run it was; when a stream is stopped before any did, nobody tells it. Every such
process is told of the directory in which the driver keeps its blocks, which no other driver has, and which is deleted
with it: the number of the run is kept there. Where there is none, nothing is known.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

#: Directories of the driver's own, as Spark's processes are told them.
_DIRECTORIES = "SPARK_LOCAL_DIRS"


class BegunRuns:
    """Of the stream that was given these options. Two of one name in a driver are two: they do not abort each other."""

    def __init__(self, given: Mapping[str, str]) -> None:
        directory = os.environ.get(_DIRECTORIES, "").split(",")[0]
        said = sorted((name.lower(), value) for name, value in given.items())
        name = f"odradek-run-{hashlib.sha256(repr(said).encode()).hexdigest()}"
        self._path = Path(directory, name) if directory else None

    def remember(self, run: int) -> None:
        _write(self._path, run)  # if it fails, the transactions of a stream that is stopped stay open for longer

    def last(self) -> int | None:
        return _read(self._path)

    def remember_next(self, run: int) -> None:
        """The commit of the last run has begun this one."""
        _write(self._next_path(), run)  # if it fails, another run is begun

    def take_next(self) -> int | None:
        """Return the run that the last commit has begun. It is given out once."""
        path = self._next_path()
        run = _read(path)
        if path is not None:
            try:
                path.unlink()
            except OSError:
                return None  # it cannot be taken back, and would be given out again
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
