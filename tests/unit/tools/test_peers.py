"""Fetching peers: what is missing is said in one line, and only a complete, checked copy gets the final name."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[3] / "tools" / "peers.py"

JAVA = "#!/bin/sh\necho 'openjdk version \"%d.0.1\"' >&2\n"

#: A Maven that copies what `$JARS` holds to where it is told, and keeps what it was asked for.
MAVEN = """#!/bin/sh
echo called >> "$CALLS"
for argument in "$@"; do case "$argument" in */pom.xml) cp "$argument" "$CALLS.pom";; esac; done
for argument in "$@"; do case "$argument" in -DoutputDirectory=*) target="${argument#-DoutputDirectory=}";; esac; done
cp -r "$JARS" "$target"
"""


def program(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with nothing but a shell; the tests add programs to `bin`."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "cp"):
        found = next(path for path in (Path("/bin") / name, Path("/usr/bin") / name) if path.exists())
        (tmp_path / "bin" / name).symlink_to(found)
    (tmp_path / "jars").mkdir()
    return tmp_path


def environment(machine: Path) -> dict[str, str]:
    return {
        "PATH": str(machine / "bin"),
        "ODRADEK_PEERS": str(machine / "peers"),
        "JARS": str(machine / "jars"),
        "CALLS": str(machine / "calls"),
    }


def command(machine: Path, lock: str, *peers: str) -> list[str]:
    """The tool with locks of our own in the place of the real ones."""
    (machine / "tools").mkdir(exist_ok=True)
    (machine / "tools" / "peers.py").write_bytes(TOOL.read_bytes())
    for name in ("peers.lock", "peers-spark-kafka.lock", "peers-delta.lock"):
        (machine / "tools" / name).write_text(lock)
    return [sys.executable, str(machine / "tools" / "peers.py"), *peers]


def fetch(machine: Path, lock: str = "", *peers: str) -> subprocess.CompletedProcess[str]:
    arguments = command(machine, lock, *(peers or ("kafka",)))
    return subprocess.run(arguments, env=environment(machine), capture_output=True, text=True, check=False)


def locked(machine: Path, content: bytes = b"a jar") -> str:
    (machine / "jars" / "one.jar").write_bytes(b"a jar")
    return f"# a comment\n{hashlib.sha256(content).hexdigest()}  one.jar\n"


def test_without_java(machine: Path) -> None:
    done = fetch(machine)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "java is missing: install a JDK 17 (Debian: default-jdk-headless)\n"


def test_with_an_old_java(machine: Path) -> None:
    program(machine / "bin", "java", JAVA % 11)
    assert "too old" in fetch(machine).stderr


def test_without_maven(machine: Path) -> None:
    program(machine / "bin", "java", JAVA % 17)
    done = fetch(machine)
    assert done.returncode == 1
    assert done.stderr.startswith("mvn is missing: install Maven")
    assert done.stderr.count("\n") == 1


def test_a_complete_copy_is_kept_and_not_fetched_again(machine: Path) -> None:
    program(machine / "bin", "java", JAVA % 17)
    program(machine / "bin", "mvn", MAVEN)
    for _ in range(2):
        done = fetch(machine, locked(machine))
        assert done.returncode == 0, done.stderr
        directory = Path(done.stdout.strip())
        assert (directory / "one.jar").read_bytes() == b"a jar"
    assert (machine / "calls").read_text() == "called\n"
    assert sorted(os.listdir(machine / "peers")) == ["kafka-4.3.1", "lock"]


def test_several_peers_each_in_a_place_of_its_own(machine: Path) -> None:
    program(machine / "bin", "java", JAVA % 17)
    program(machine / "bin", "mvn", MAVEN)
    done = fetch(machine, locked(machine), "kafka", "spark-kafka")
    assert done.returncode == 0, done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == ["kafka-4.3.1", "spark-kafka-4.2.0"]
    asked = (machine / "calls.pom").read_text()
    assert asked.count("<dependency>") == asked.count("<exclusion>") == 4, "the connector, and nothing it depends on"


def test_a_peer_that_there_is_not(machine: Path) -> None:
    done = fetch(machine, "", "kafka", "flink")
    assert (done.returncode, done.stderr) == (2, "usage: python tools/peers.py [kafka|spark-kafka|delta] ...\n")


def test_side_by_side_only_one_fetches(machine: Path) -> None:
    program(machine / "bin", "java", JAVA % 17)
    program(machine / "bin", "mvn", MAVEN)
    arguments = command(machine, locked(machine), "kafka")
    started = [
        subprocess.Popen(arguments, env=environment(machine), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [process.wait() for process in started] == [0] * 4
    assert (machine / "calls").read_text() == "called\n"


def test_another_content_is_refused_and_leaves_nothing(machine: Path) -> None:
    program(machine / "bin", "java", JAVA % 17)
    program(machine / "bin", "mvn", MAVEN)
    done = fetch(machine, locked(machine, content=b"another jar"))
    assert done.returncode == 1
    assert "one.jar is not the file that peers.lock lists" in done.stderr
    assert os.listdir(machine / "peers") == ["lock"]


def test_a_missing_jar_is_named(machine: Path) -> None:
    program(machine / "bin", "java", JAVA % 17)
    program(machine / "bin", "mvn", MAVEN)
    done = fetch(machine, f"{locked(machine)}{'0' * 64}  two.jar\n")
    assert done.returncode == 1
    assert "Maven brought no two.jar" in done.stderr


def test_mavens_own_failure_is_one_line(machine: Path) -> None:
    program(machine / "bin", "java", JAVA % 17)
    program(machine / "bin", "mvn", "#!/bin/sh\necho '[ERROR] no route'\necho '[ERROR] more'\nexit 1\n")
    done = fetch(machine, locked(machine))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "Maven could not fetch Apache Kafka 4.3.1: [ERROR] no route"
