"""JVMs that start quickly, since the tests start hundreds of them.

Reading, checking and laying out its classes takes Apache Kafka half of the processor time of a start. With class data
sharing that is done once: an archive of all classes that it may need lies beside its jars in the peers' cache, and
every process maps it. A JVM does not take an archive of other jars or of another JVM, and then starts as it always did.

Sources of ours are compiled once, too, and not at every start.
"""

import fcntl
import functools
import hashlib
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from support.peers import downloads as peers

#: The jars whose classes nodes, clients and tools load by the hundreds.
_ARCHIVED_JARS = ("kafka", "scala-library", "log4j", "jackson-core", "jackson-databind", "caffeine")

#: Nothing takes more than half a minute of processor time.
_TIMEOUT_S = 600


def quick_flags(heap_mb: int = 256) -> tuple[str, ...]:
    """Small, with the cheap collector and the quick compiler. What the JVM thinks of the archive is of no interest."""
    small = (f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return (*small, "-Xshare:auto", f"-XX:SharedArchiveFile={_class_archive()}", "-Xlog:disable")


def compiled(source: Path) -> Path:
    """The directory with the classes of a Java file that uses Kafka's."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    return made_once(f"{source.stem}-{digest}", functools.partial(_compile, source))


def run(source: Path, *arguments: str) -> str:
    """What a Java file that uses Kafka's classes printed."""
    return output_of(peers.java_command(source.stem, arguments, flags=quick_flags(), classes=compiled(source)))


def output_of(command: Sequence[str]) -> str:
    """A failure is an AssertionError with the end of what it said."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@functools.cache
def _class_archive() -> Path:
    """Another one for another JVM and for other jars: an archive knows their times."""
    times = [os.stat(path).st_mtime_ns for path in (java_home(), peers.kafka_directory())]
    identity = f"{java_home()} {times} {_ARCHIVED_JARS}"
    return made_once(f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa", _dump)


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A file or directory of the cache, made by the first of all processes that need it."""
    cache: Path = peers.cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / name
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                with tempfile.TemporaryDirectory(prefix="making-", dir=cache) as scratch:
                    make(Path(scratch) / name)
                    (Path(scratch) / name).rename(path)
    return path


def _dump(path: Path) -> None:
    names = path.with_name("names")
    names.write_text("".join(f"{name}\n" for name in [*_class_names_of_java(), *_class_names_of_kafka()]))
    flags = ("-Xshare:dump", "-XX:+UseSerialGC", f"-XX:SharedClassListFile={names}", f"-XX:SharedArchiveFile={path}")
    output_of(peers.java_command("-version", flags=flags))


def _class_names_of_java() -> list[str]:
    """What the archive that comes with the JVM was made of, for ours stands in its place."""
    return (java_home() / "lib" / "classlist").read_text().splitlines()


def _class_names_of_kafka() -> list[str]:
    jars = [jar for jar in sorted(peers.kafka_directory().glob("*.jar")) if jar.name.startswith(_ARCHIVED_JARS)]
    return [name for jar in jars for name in _class_names_of(jar)]


def _class_names_of(jar: Path) -> list[str]:
    with zipfile.ZipFile(jar) as archive:
        files = [name for name in archive.namelist() if not name.startswith(("META-INF/", "module-info"))]
    return [name.removesuffix(".class") for name in files if name.endswith(".class")]


def java_home() -> Path:
    return Path(os.path.realpath(peers.java())).parents[1]


def _compile(source: Path, directory: Path) -> None:
    javac = java_home() / "bin" / "javac"
    output_of([str(javac), "-d", str(directory), "-cp", peers.kafka_classpath(), str(source)])
