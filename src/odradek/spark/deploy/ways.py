"""Ways to ship the package to executors, with the options of `spark-submit` for each."""

import platform
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from odradek.spark.deploy.distributions import MACHINE_PACKAGES, environment_files, executor_files
from odradek.spark.deploy.environment import ARCHIVE_NAME, DIRECTORY, VERSION, write_environment
from odradek.spark.deploy.zip_package import FINDER_NAME, ZIP_NAME, write_finder, write_zip

PY_FILES = "py-files"
ARCHIVE = "archive"

#: The Python of the executors. Unlike PYSPARK_PYTHON it does not apply to the driver, where the path does not exist.
EXECUTOR_PYTHON = "spark.sql.execution.pyspark.python"


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ship the package."""

    name: str
    files: tuple[Path, ...]
    #: Requirements of every machine, as a sentence.
    machines_need: str
    options: tuple[tuple[str, str], ...]

    def command_line(self) -> str:
        return " ".join(f"{option} {_quoted(value)}" for option, value in self.options)


def write_py_files(directory: Path, more: Iterable[str] = ()) -> Way:
    """Write the zip with the packages `more` in it, and the file that makes Spark find it."""
    archive, finder = directory / ZIP_NAME, directory / FINDER_NAME
    write_zip(archive, executor_files(more))
    write_finder(finder)
    packages = f"{', '.join(MACHINE_PACKAGES[:-1])} and {MACHINE_PACKAGES[-1]}"
    return Way(
        PY_FILES,
        (archive, finder),
        f"Python {VERSION} as python3, with {packages}, on {_system()}.",
        (("--py-files", f"{archive},{finder}"),),
    )


def write_archive(directory: Path, more: Iterable[str] = (), *, interpreter: bool) -> Way:
    """Write the environment with the packages `more` in it."""
    archive = directory / ARCHIVE_NAME
    write_environment(archive, environment_files(more), interpreter=interpreter)
    python = "no Python" if interpreter else f"Python {VERSION}, and no package"
    return Way(
        ARCHIVE,
        (archive,),
        f"{python}; {_system()}.",
        (("--archives", f"{archive}#{DIRECTORY}"), ("--conf", f"{EXECUTOR_PYTHON}=./{DIRECTORY}/bin/python")),
    )


def _quoted(value: str) -> str:
    """Quote a value for a shell, in which a # inside of a word has no meaning."""
    bare = value.replace("#", "")
    return value if shlex.quote(bare) == bare else shlex.quote(value)


def _system() -> str:
    name, version = platform.libc_ver()
    return f"{platform.system()} {platform.machine()} with {name or 'the C library'} {version} or later".replace(
        "  ", " "
    )
