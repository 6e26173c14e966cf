"""Remembers which definitions the tables of a pipeline were checked against.

A driver checks that each table has the columns of its definition before it starts a flow, which takes Spark seconds.
One that takes the place of a driver that died within the same run does not check again what has not changed since.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

from odradek.spark.pipeline.project import Project

_FILE = "checked"


class CheckedDefinitions:
    def __init__(self, project: Project, attempt: int) -> None:
        """`attempt` counts the drivers of a run: the first one always checks."""
        self._path = project.ours / _FILE
        self._digest = digest_of(project)
        self.is_current = attempt > 1 and self._path.exists() and self._path.read_text() == self._digest

    def remember(self) -> None:
        self._path.write_text(self._digest)


def digest_of(project: Project) -> str:
    """Return a digest of everything in the project that says what its tables are like."""
    digest = hashlib.sha256()
    digest.update(json.dumps([dict(project.configuration), version("pyspark"), version("odradek")]).encode())
    modules = [path for path in project.directory.rglob("*.py") if project.ours not in path.parents]
    for path in sorted({project.spec_path, *project.files(), *modules}):
        digest.update(str(path).encode() + b"\0" + _content(path) + b"\0")
    return digest.hexdigest()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
