"""docs/pipeline.md works as it is written: from nothing to a running pipeline, command by command, and what they show.

Only the port is another one, so that nothing on the machine is in the way; and what pip would download is there
already: the new environment sees what the tests' own has, and gets the package itself by pip.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers import figures
from helpers.cli import free_port
from helpers.pipelines import FLAGS, quick_settings
from helpers.processes import kill_tree
from helpers.shown import Shell, Step, console_steps, is_as_shown
from helpers.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

ROOT = Path(__file__).parents[2]
STEPS = list(console_steps((ROOT / "docs" / "pipeline.md").read_text()))

WAIT_S = 300


def environment(port: str) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ODRADEK_BOOTSTRAP": f"localhost:{port}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": quick_settings()[FLAGS],
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say it in a variable
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def checkout(directory: Path) -> Path:
    """A copy: what is built leaves its files beside the source."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
    shutil.copytree(ROOT / "src", directory / "src", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, directory)
    return directory


def see_what_the_tests_have(virtual_environment: Path) -> None:
    """Also in place of its own setuptools, for which pip would download a newer one."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = virtual_environment / "lib" / version / "site-packages"
    for path in (*packages.glob("setuptools*"), packages / "_distutils_hack"):
        shutil.rmtree(path)
    (packages / "distutils-precedence.pth").unlink()
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")


@contextmanager
def in_another_terminal(
    step: Step, directory: Path, given: Mapping[str, str], until: str, *more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Once it has said so; at the end Ctrl-C is pressed there, and it must end well."""
    said = directory / f"{step.command.split()[1]}.txt"
    with said.open("wb") as stream:
        process = subprocess.Popen(
            [str(directory / "env" / "bin" / "odradek"), *step.command.split()[1:], *more],
            cwd=directory,
            env=given,
            stdout=stream,
            stderr=stream,
        )
    try:
        wait_until(
            lambda: until in said.read_text() or process.poll() is not None, f"{until!r}", WAIT_S, said.read_text
        )
        yield process
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 0, said.read_text()
    finally:
        kill_tree(process.pid)
        process.wait(WAIT_S)


def test_every_command(tmp_path: Path) -> None:
    began_s = time.monotonic()
    port = free_port(2)
    project, given = checkout(tmp_path), environment(port)
    up = next(step for step in STEPS if step.command == "odradek up")
    continuous = next(step for step in STEPS if "--continuous" in step.command)
    first, last = STEPS.index(up), STEPS.index(continuous)
    shell = Shell(project, given)

    def do(step: Step) -> None:
        said = shell.run(step.command).replace(port, "9092")
        assert is_as_shown(said, step.shown), f"{step.command} said\n{said}"
        if " -m venv " in step.command:
            see_what_the_tests_have(project / step.command.split()[-1])

    try:
        for step in STEPS[:first]:
            do(step)
        with in_another_terminal(up, project, given, "Ctrl-C stops it", "--port", port):
            said = (project / "up.txt").read_text().replace(port, "9092")
            assert is_as_shown(said, up.shown), said
            for step in STEPS[first + 1 : last]:
                do(step)
            with in_another_terminal(continuous, project, given, "all flows run"):
                for step in STEPS[last + 1 :]:
                    do(step)
                told = project / "pipeline.txt"
                wait_until(lambda: "flow events batch 2: 1 row in" in told.read_text(), "it is taken", WAIT_S)
    finally:
        shell.close()
    figures.report("pipeline guide", commands=len(STEPS), seconds=round(time.monotonic() - began_s, 1))
