"""Test the package with every supported version of Spark, and write the table of docs/spark.md.

For each version: a virtual environment with the package as a wheel, its extra `spark`, that version of PySpark, and
otherwise the versions of requirements/dev.lock; in it the tests of `PARTS`; one row of the table. The environments are
kept in the cache (`~/.cache/odradek/spark-versions`, or `--directory`) until `--clean` removes them.

As a command: `python tools/spark_versions.py [--directory DIR] [--clean] [VERSION ...]`. Without versions all of
`VERSIONS` are tested. The rows of the versions that were tested are replaced in the table of docs/spark.md.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import peers

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "spark.md"
BEGIN, END = "<!-- spark-versions -->", "<!-- /spark-versions -->"

#: The last release of each supported minor version, and the release that the lock files have.
VERSIONS = ("4.1.4", "4.2.0", "4.2.1", "4.3.0")

#: What a column of the table means, and the tests behind it. A test is run by its node id.
_TESTS = "tests/spark/test_spark_versions.py"
PARTS: Mapping[str, tuple[str, ...]] = {
    "source": (f"{_TESTS}::test_batch_reads", f"{_TESTS}::test_stream_reads", f"{_TESTS}::test_stream_read_limits"),
    "sink": (f"{_TESTS}::test_writes",),
    "exactly once": (f"{_TESTS}::test_exactly_once",),
    "formats": ("tests/spark/test_spark_formats.py::test_avro_with_a_registry",),
    "pipeline": (f"{_TESTS}::test_pipeline",),
    "live mode": (f"{_TESTS}::test_live_pipeline",),
    "Delta": (f"{_TESTS}::test_delta",),
}

#: Beside the package and its extras: what these tests import.
_TEST_PACKAGES = ("pytest", "pytest-timeout", "hypothesis", "confluent-kafka", "kafka-python", "aiokafka", "kio")
_EXTRAS = "spark,arrow,avro,protobuf"

#: PySpark's own choices: Py4J is released for it, and the package itself is what is tested.
_FREE = ("pyspark", "py4j", "odradek")

#: A version of PySpark is 450 MB.
_INSTALL_TIMEOUT_S = 1800
_TEST_TIMEOUT_S = 1800


class VersionsFailed(Exception):
    """A step could not be done. The text is what to tell the user."""


@dataclass(frozen=True, slots=True)
class Result:
    version: str
    #: By part: "passed", "failed", or "-" with the reason where a test was not applicable.
    outcomes: dict[str, str]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Test the package with several versions of Spark.")
    parser.add_argument("versions", nargs="*", metavar="VERSION", help=f"default: {' '.join(VERSIONS)}")
    parser.add_argument("--directory", type=Path, default=peers.cache_directory().parent / "spark-versions")
    parser.add_argument("--clean", action="store_true", help="remove each environment after its tests")
    given = parser.parse_args(arguments)
    try:
        results = test_versions(given.versions or VERSIONS, given.directory, is_clean=given.clean)
    except VersionsFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(render(results))
    return 0 if all("failed" not in result.outcomes.values() for result in results) else 1


def test_versions(versions: Sequence[str], directory: Path, *, is_clean: bool) -> list[Result]:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=directory) as scratch:
        wheel = build_wheel(Path(scratch))
        results = []
        for version in versions:
            environment = directory / f"spark-{version}"
            _say(f"Spark {version}: installing into {environment}")
            python = install(version, wheel, environment)
            _say(f"Spark {version}: testing")
            results.append(Result(version, run_tests(python, Path(scratch) / f"{version}.xml")))
            write_rows(DOCUMENT, results[-1:])
            _say(f"Spark {version}: {', '.join(f'{part} {text}' for part, text in results[-1].outcomes.items())}")
            if is_clean:
                shutil.rmtree(environment)
    return results


def build_wheel(target: Path) -> Path:
    _run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(target), str(ROOT)])
    (wheel,) = target.glob("*.whl")
    return wheel


def install(version: str, wheel: Path, environment: Path) -> Path:
    """Return the interpreter of an environment with this version. One that exists gets the new wheel."""
    python = environment / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(environment)])
    constraints = wheel.with_name("constraints.txt")
    constraints.write_text("\n".join(locked_versions((ROOT / "requirements" / "dev.lock").read_text())))
    wanted = [f"pyspark[pipelines]=={version}", f"odradek[{_EXTRAS}] @ {wheel.as_uri()}", *_TEST_PACKAGES]
    _run([str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraints), *wanted])
    _run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel)])
    return python


def locked_versions(lock: str) -> list[str]:
    """Return `name==version` of a lock file's packages, with their markers and without their hashes, and without what a
    version of Spark decides."""
    pinned = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?(==[^\\\n]+)", lock, re.MULTILINE)
    return [f"{name}{version.strip()}" for name, version in pinned if name.lower() not in _FREE]


def run_tests(python: Path, report: Path) -> dict[str, str]:
    """Run the tests of all parts in one process and return the outcome of each part."""
    tests = [test for part in PARTS.values() for test in part]
    # Warnings are errors with the locked versions; what another version of Spark warns of is not ours to change.
    options = [
        "-q",
        "-W",
        "default",
        "--disable-warnings",
        "-p",
        "no:xdist",
        f"--junit-xml={report}",
        "-o",
        "junit_family=xunit1",
    ]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
    environment["PATH"] = f"{python.parent}{os.pathsep}{environment['PATH']}"
    subprocess.run(
        [str(python), "-m", "pytest", *options, *tests],
        cwd=ROOT,
        env=environment,
        stdout=sys.stderr,
        timeout=_TEST_TIMEOUT_S,
        check=False,
    )
    if not report.exists():
        raise VersionsFailed(f"{python}: pytest has written no report; its output is above")
    return outcomes(report.read_text())


def outcomes(report: str) -> dict[str, str]:
    """Return the outcome of each part from pytest's report in JUnit's format."""
    cases = [(_node_id(case), case) for case in ElementTree.fromstring(report).iter("testcase")]
    found = {}
    for part, tests in PARTS.items():
        own = [case for name, case in cases if any(_is_part(name, test) for test in tests)]
        is_failed = not own or any(case.find("failure") is not None or case.find("error") is not None for case in own)
        notes = [prop.get("value", "") for case in own for prop in case.iter("property") if prop.get("name") == "note"]
        found[part] = "failed" if is_failed else notes[0] if notes else "passed"
    return found


def _node_id(case: ElementTree.Element) -> str:
    return f"{case.get('file')}::{case.get('name')}"


def _is_part(name: str, test: str) -> bool:
    return name == test or name.startswith((f"{test}[", f"{test}::"))


def render(results: Sequence[Result]) -> str:
    """Return the Markdown table."""
    columns = ["Spark", *PARTS]
    return "\n".join(map(_line, [columns, ["---"] * len(columns), *map(_cells, results)]))


def _cells(result: Result) -> list[str]:
    return [result.version, *result.outcomes.values()]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_rows(document: Path, results: Sequence[Result]) -> None:
    """Replace the rows of these versions in the table of the document, and keep the others."""
    text = document.read_text()
    pattern = re.compile(f"(?<={BEGIN}\n).*?(?={END})", re.DOTALL)
    found = pattern.search(text)
    if found is None:
        raise VersionsFailed(f"{document} has no {BEGIN} … {END}")
    rows = {line.split("|")[1].strip(): line for line in found[0].splitlines()[2:]}
    rows |= {result.version: _line(_cells(result)) for result in results}
    table = "\n".join([render([]), *(rows[version] for version in sorted(rows, key=_release))])
    document.write_text(pattern.sub(lambda _: f"{table}\n", text))


def _release(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise VersionsFailed(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
