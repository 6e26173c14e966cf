"""Fetch the peers that Odradek is measured against, once, into a cache outside the project.

A peer is a program that we did not write: Apache Kafka with its tools, Spark's own Kafka connector, Delta's tables.
Maven resolves it by name; what comes is checked against the peer's `.lock` file (name and SHA-256 of every jar), and
only a complete, checked copy ever gets the final name, by one rename. A lock makes parallel callers wait for one fetch
instead of starting several.

The cache is `~/.cache/odradek/peers`, or `$ODRADEK_PEERS`. As a command: `python tools/peers.py kafka spark-kafka`.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

KAFKA_VERSION = "4.3.1"
SPARK_VERSION = "4.2.0"
DELTA_VERSION = "4.4.0"
JAVA_VERSION = 17


class Artifact(NamedTuple):
    group: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Peer:
    title: str
    directory: str
    lock_file: Path
    #: What is asked for by name.
    artifacts: tuple[Artifact, ...]
    #: Whether what these depend on comes with them.
    is_transitive: bool


KAFKA = Peer(
    title=f"Apache Kafka {KAFKA_VERSION}",
    directory=f"kafka-{KAFKA_VERSION}",
    lock_file=Path(__file__).with_name("peers.lock"),
    artifacts=(
        Artifact("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
        Artifact("org.apache.kafka", "kafka-tools", KAFKA_VERSION),
        Artifact("org.apache.kafka", "kafka-shell", KAFKA_VERSION),
        Artifact("org.apache.logging.log4j", "log4j-core", "2.25.3"),
        Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.3"),
    ),
    is_transitive=True,
)

#: Everything else that it needs is in Spark itself. 4.2.0 of the token provider cannot be had; 4.0.0 does the same.
SPARK_KAFKA = Peer(
    title=f"Spark {SPARK_VERSION}'s Kafka connector",
    directory=f"spark-kafka-{SPARK_VERSION}",
    lock_file=Path(__file__).with_name("peers-spark-kafka.lock"),
    artifacts=(
        Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", SPARK_VERSION),
        Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
        Artifact("org.apache.kafka", "kafka-clients", "3.9.2"),
        Artifact("org.apache.commons", "commons-pool2", "2.12.1"),
    ),
    is_transitive=False,
)

#: Minor versions of Spark for which there is a Delta; its artifact names the one that it is built for.
DELTA_RELEASES = ("4.1", "4.2")


def _delta(release: str) -> Peer:
    """The rest of what it depends on is for catalogs that tables on a disk do not need."""
    suffix = "" if SPARK_VERSION.startswith(f"{release}.") else f"-{release}"
    return Peer(
        title=f"Delta {DELTA_VERSION} for Spark {release}",
        directory=f"delta-{DELTA_VERSION}{suffix}",
        lock_file=Path(__file__).with_name(f"peers-delta{suffix}.lock"),
        artifacts=(
            Artifact("io.delta", f"delta-spark_{release}_2.13", DELTA_VERSION),
            Artifact("io.delta", "delta-storage", DELTA_VERSION),
        ),
        is_transitive=False,
    )


PEERS = {"kafka": KAFKA, "spark-kafka": SPARK_KAFKA, "delta": _delta(".".join(SPARK_VERSION.split(".")[:2]))}

#: 94 jars took 25 s from an empty repository here; a slow line gets fifty times that before we give up.
_FETCH_TIMEOUT_S = 1200

#: A tool of Kafka's runs for a second or two: the cheap collector and the quick compiler start it twice as fast.
_TOOL_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class PeerMissing(Exception):
    """A peer cannot be had. The text is one line and says what to install or what went wrong."""


def cache_directory() -> Path:
    configured = os.environ.get("ODRADEK_PEERS")
    return Path(configured) if configured else Path.home() / ".cache" / "odradek" / "peers"


def kafka_directory() -> Path:
    return peer_directory(KAFKA)


def spark_kafka_jars() -> list[Path]:
    return _jars_of(SPARK_KAFKA)


def delta_jars(release: str = "4.2") -> list[Path]:
    """Jars of the Delta that is built for a minor version of Spark, one of `DELTA_RELEASES`."""
    return _jars_of(_delta(release))


def _jars_of(peer: Peer) -> list[Path]:
    directory = peer_directory(peer)
    return [directory / name for name in _locked_jars(peer)]


def peer_directory(peer: Peer) -> Path:
    """The directory with its jars; fetches them if this is the first time."""
    directory = cache_directory() / peer.directory
    if not _is_complete(peer, directory):
        with _only_one(cache_directory() / "lock"):
            if not _is_complete(peer, directory):
                _fetch(peer, directory)
    return directory


def kafka_classpath() -> str:
    return f"{kafka_directory()}/*"


def java() -> str:
    """The `java` to use: of `JAVA_HOME`, or of the path."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else None
    found = found or shutil.which("java")
    if found is None:
        raise PeerMissing(f"java is missing: install a JDK {JAVA_VERSION} (Debian: default-jdk-headless)")
    if _version_of(found) < JAVA_VERSION:
        raise PeerMissing(f"{found} is too old: Apache Kafka {KAFKA_VERSION} needs Java {JAVA_VERSION} or newer")
    return found


@functools.cache
def _version_of(java: str) -> int:
    """0 of what does not say."""
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    return 0 if version is None else int(version[1])


def java_command(
    main_class: str,
    arguments: Sequence[str] = (),
    *,
    flags: Sequence[str] = ("-Xmx256m", *_TOOL_FLAGS),
    properties: Mapping[str, str] | None = None,
    classes: Path | None = None,
) -> list[str]:
    """The whole command line that runs one of Kafka's main classes, e.g. `org.apache.kafka.tools.DumpLogSegments`, or
    one of a directory with more of them."""
    settings = [f"-D{name}={value}" for name, value in (properties or {}).items()]
    classpath = kafka_classpath() if classes is None else f"{kafka_classpath()}:{classes}"
    return [java(), *flags, *settings, "-cp", classpath, main_class, *arguments]


def _locked_jars(peer: Peer) -> dict[str, str]:
    lines = peer.lock_file.read_text().splitlines()
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: digest for digest, name in pairs}


def _is_complete(peer: Peer, directory: Path) -> bool:
    """By names only: the content was checked before the directory got its name."""
    return directory.is_dir() and _locked_jars(peer).keys() <= set(os.listdir(directory))


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(peer: Peer, directory: Path) -> None:
    java()
    maven = shutil.which("mvn")
    if maven is None:
        raise PeerMissing("mvn is missing: install Maven (Debian: maven), it fetches what the tests compare with")
    _say(f"fetching {peer.title} into {directory} ...")
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=directory.parent) as scratch:
        jars = Path(scratch) / "jars"
        _run_maven(peer, maven, Path(scratch), jars)
        _verify(peer, jars)
        if directory.exists():  # an incomplete one, of another lock or damaged by hand
            directory.rename(Path(scratch) / "old")
        jars.rename(directory)
    _say(f"{len(_locked_jars(peer))} jars, checked")


def _run_maven(peer: Peer, maven: str, scratch: Path, jars: Path) -> None:
    (scratch / "pom.xml").write_text(_pom(peer))
    command = [maven, "--batch-mode", "--quiet", "--file", str(scratch / "pom.xml")]
    command += ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_FETCH_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise PeerMissing(f"Maven did not finish within {_FETCH_TIMEOUT_S} s") from None
    if done.returncode != 0:
        errors = [line for line in done.stdout.splitlines() if "ERROR" in line] or ["no reason given"]
        raise PeerMissing(f"Maven could not fetch {peer.title}: {errors[0]}")


_NOTHING_ELSE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


def _pom(peer: Peer) -> str:
    exclusions = "" if peer.is_transitive else _NOTHING_ELSE
    dependencies = "".join(
        f"<dependency><groupId>{each.group}</groupId><artifactId>{each.name}</artifactId>"
        f"<version>{each.version}</version>{exclusions}</dependency>"
        for each in peer.artifacts
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion>"
        "<groupId>odradek</groupId><artifactId>peers</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def _verify(peer: Peer, jars: Path) -> None:
    for name, digest in _locked_jars(peer).items():
        path = jars / name
        if not path.is_file():
            raise PeerMissing(f"Maven brought no {name}, which {peer.lock_file.name} lists")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise PeerMissing(f"{name} is not the file that {peer.lock_file.name} lists: its SHA-256 differs")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    if not arguments or not set(arguments) <= PEERS.keys():
        _say(f"usage: python tools/peers.py [{'|'.join(PEERS)}] ...")
        return 2
    try:
        for name in arguments:
            print(peer_directory(PEERS[name]))
    except PeerMissing as error:
        _say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
