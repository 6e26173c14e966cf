"""What the README shows works as it is shown: a new user's first ten minutes, command by command and line by line.

Only the port and the directory are others, so that nothing on the machine is in the way. What is installed is what the
tests run with; what `pip install` installs is the subject of `test_wheel.py`.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.testing import Cluster
from support import figures
from support.processes.cli import free_port
from support.shell_examples import ANYTHING, Step, steps_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BIN = Path(sys.executable).parent
ODRADEK = str(BIN / "odradek")

_TIMEOUT_S = 120


def blocks(text: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for written, block in found if written == language]


# Ten minutes


#: What the tests run with was made by it.
_SETUP = Step("make setup", [ANYTHING])


def ten_minutes() -> Iterator[Step | tuple[str, str]]:
    """The commands with what they show, and files to save, by name, in their order."""
    section = README[README.index("## Ten minutes") : README.index("## How it is tested")]
    for language, block in re.findall(r"^```(console|python)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        if language == "python":
            yield block.splitlines()[0].removeprefix("# "), block
            continue
        yield from steps_of(block)


def is_as_shown(said: str, shown: list[str]) -> bool:
    """Whatever the order: partitions are read in any."""
    patterns = [re.escape(line).replace(ANYTHING, ".*") for line in sorted(shown)]
    lines = sorted(line.rstrip() for line in said.splitlines())
    return len(lines) == len(patterns) and all(map(re.fullmatch, patterns, lines))


@contextmanager
def running_up(step: Step, project: Path, port: str) -> Iterator[None]:
    with subprocess.Popen(
        [ODRADEK, *step.command.split()[1:], "--port", port], cwd=project, stdout=subprocess.PIPE, text=True
    ) as up:
        assert up.stdout is not None
        try:
            said = ""
            for line in up.stdout:
                said += line
                if line.startswith("ready"):
                    break
            assert is_as_shown(said.replace(port, "9092"), step.shown), said
            yield
        finally:
            up.terminate()
    assert up.returncode == 0


@pytest.mark.slow
def test_the_first_ten_minutes(tmp_path: Path) -> None:
    """Written for port 9092, done on another one."""
    port = free_port(2)
    environment = {**os.environ, "ODRADEK_BOOTSTRAP": f"localhost:{port}", "PATH": f"{BIN}:{os.environ['PATH']}"}
    began_s = time.monotonic()
    steps = list(ten_minutes())
    up = next(step for step in steps if isinstance(step, Step) and step.command == "odradek up")
    with running_up(up, tmp_path, port):
        for step in steps:
            if not isinstance(step, Step):
                (tmp_path / step[0]).write_text(step[1].replace("localhost:9092", f"localhost:{port}"))
            elif step not in (up, _SETUP):
                done = subprocess.run(
                    ["bash", "-c", step.command],
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=_TIMEOUT_S,
                    check=False,
                )
                assert done.returncode == 0 and is_as_shown(done.stdout, step.shown), (step, done.stdout, done.stderr)
                assert not done.stderr, (step, done.stderr)
    commands = [step.command for step in steps if isinstance(step, Step)]
    for needed in ("up", "topics create", "produce", "consume", "groups describe"):
        assert any(f"odradek {needed}" in command for command in commands), needed
    assert any(command.startswith("pytest") for command in commands)
    figures.report("readme: the first ten minutes", steps=len(steps), seconds=round(time.monotonic() - began_s, 1))


def test_the_python_example_on_a_fresh_cluster(tmp_path: Path) -> None:
    """Whoever begins with it has neither the topic nor the group of the commands before it."""
    (example,) = [text for text in blocks(README, "python") if text.startswith("# orders.py")]
    with Cluster() as cluster:
        (tmp_path / "orders.py").write_text(example.replace("localhost:9092", cluster.bootstrap))
        done = subprocess.run(
            [sys.executable, "orders.py"], cwd=tmp_path, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    assert done.stdout.splitlines() == ["written to partition 0 at offset 0", "cleo bought soup"], done.stderr
    assert done.returncode == 0 and not done.stderr


# The rest


def test_the_python_example_of_the_log(tmp_path: Path) -> None:
    (example,) = blocks((ROOT / "docs" / "log.md").read_text(), "python")
    script = example.replace("/tmp/orders-0", str(tmp_path / "orders-0"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0", "0 b'key' b'value' (Header(key='source', value=b'readme'),)"]


def run_each(block: str, words: Mapping[str, str]) -> None:
    for line in block.splitlines():
        command = line
        for written, meant in {".venv/bin/odradek": ODRADEK, **words}.items():
            command = command.replace(written, meant)
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stdout, f"{line}: {done.stderr}"


def test_the_commands_on_files(clean_data: Path) -> None:
    (commands,) = [block for block in blocks(README, "") if "odradek log" in block]
    run_each(
        commands,
        {
            "/path/to/a/kafka/data/directory/topic-0": str(clean_data / "plain-0"),
            "/path/to/a/kafka/data/directory": str(clean_data),
        },
    )


@pytest.mark.parametrize("page", ["README.md", "docs/testing.md", "docs/quickstart.md", "docs/pipeline.md"])
def test_the_links(page: str) -> None:
    text = (ROOT / page).read_text()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links or page != "README.md"
    assert [link for link in links if not leads_somewhere(ROOT / page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    """To a file, or to a heading of one."""
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not heading or heading in headings_of(target))


def headings_of(page: Path) -> set[str]:
    """As links name them: in small letters, joined by dashes."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}
