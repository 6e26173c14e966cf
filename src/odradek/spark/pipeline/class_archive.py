"""An archive of Spark's classes, from which later JVMs on this machine start in about half the time.

Starting Spark is mostly loading and verifying some 15,000 classes. Class data sharing of the JVM does that once: the
first JVM of a pipeline dumps what it has loaded, and later ones map the file. The archive is valid for one JVM and one
class path, so it lies in the cache of the user beside a Spark home with a path that does not depend on the project. A
JVM that cannot use it ignores it.
"""

import hashlib
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Options that other JVMs than OpenJDK's do not have are ignored there, and so is whatever is said of the archive.
_TOLERANT = "-XX:+IgnoreUnrecognizedVMOptions -Xlog:disable -Xlog:all=error:stderr"


@dataclass(frozen=True, slots=True)
class SparkHome:
    """Spark as PySpark brought it, without its archive of PySpark: Python processes would import from that instead of
    what is installed, and compile it each time, for seconds."""

    directory: Path
    #: None where nothing can be kept from one run to the next.
    archive: Path | None

    @property
    def java_options(self) -> str:
        if self.archive is None:
            return ""
        if self.archive.exists():
            return f'-Xshare:auto "-XX:SharedArchiveFile={self.archive}" {_TOLERANT}'
        return ""


def spark_home(pyspark: Path, fallback: Path, environment: Mapping[str, str]) -> SparkHome:
    """Return the Spark home in the user's cache, or in `fallback` where there is no cache that can be written to."""
    java = _java(environment)
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odradek"
    directory = cache / f"spark-{_identity(pyspark, java)}"
    try:
        _link(directory, pyspark)
    except OSError:
        _link(fallback, pyspark)
        return SparkHome(fallback, None)
    return SparkHome(directory, None if java is None else directory / "classes.jsa")


def _java(environment: Mapping[str, str]) -> Path | None:
    """Return the JVM that Spark's own script starts."""
    home = environment.get("JAVA_HOME")
    name = f"{home}/bin/java" if home else shutil.which("java", path=environment.get("PATH"))
    path = None if name is None else Path(name).resolve()
    return path if path is not None and path.is_file() else None


def _identity(pyspark: Path, java: Path | None) -> str:
    """Return what an archive is valid for: the files of the JVM and of Spark, and where they are."""
    parts = [str(pyspark)]
    if java is not None:
        status = java.stat()
        parts.append(f"{java} {status.st_size} {status.st_mtime_ns}")
    parts += sorted(f"{jar.name} {jar.stat().st_mtime_ns}" for jar in (pyspark / "jars").glob("*.jar"))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _link(directory: Path, pyspark: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "jars"):
        link = directory / name
        if not link.is_symlink() or os.readlink(link) != str(pyspark / name):
            with suppress(FileNotFoundError):
                link.unlink()
            with suppress(FileExistsError):  # by another run at the same moment
                link.symlink_to(pyspark / name)
    if not os.access(directory, os.W_OK):
        raise PermissionError(f"{directory} cannot be written to")
