"""docs/pipeline.md works as it is written: from nothing to a running pipeline, command by command, and what they show.

Only the ports are others, so that nothing on the machine is in the way; and what pip would download is there
already: the new environment sees what the tests' own has, and gets the package itself by pip.
"""

import os
import re
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

from support import figures
from support.processes.cli import free_port
from support.processes.process_tree import kill_tree
from support.shell_examples import Shell, Step, console_steps, is_as_shown
from support.spark.pipelines import FLAGS, quick_settings
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

ROOT = Path(__file__).parents[2]
STEPS = list(console_steps((ROOT / "docs" / "pipeline.md").read_text()))

#: In the guide.
METRICS_PORT = "9646"
METRICS_PATH = "/metrics"

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


def output_of(step: Step, directory: Path) -> Path:
    """A file with what a command says in a terminal of its own."""
    return directory / f"{'-'.join(word for word in step.command.split()[1:3])}.txt"


@contextmanager
def in_another_terminal(
    step: Step, directory: Path, given: Mapping[str, str], until: str, *more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Once it has said so; at the end Ctrl-C is pressed there, and it must end well."""
    said = output_of(step, directory)
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


def rows_of(flow: str, output: str) -> int:
    """Rows that a flow has read: the event that was replayed and the one that was produced, in one batch or in two."""
    batches = re.findall(rf"flow {flow} batch (\d+): (\d+) rows? in", output)
    return sum(int(rows) for rows in dict(batches).values())


def test_every_command(tmp_path: Path) -> None:
    began_s = time.monotonic()
    port = free_port(3)
    metrics_port = str(int(port) + 2)
    steps = [step._replace(command=step.command.replace(METRICS_PORT, metrics_port)) for step in STEPS]
    project, given = checkout(tmp_path), environment(port)
    up = next(step for step in steps if step.command == "odradek up")
    continuous = next(step for step in steps if "--continuous" in step.command)
    first, last = steps.index(up), steps.index(continuous)
    shell = Shell(project, given)

    def do(step: Step) -> None:
        if "--watch" in step.command:
            with in_another_terminal(step, project, given, "dead_letters"):
                return
        said = shell.run(step.command).replace(port, "9092")
        if METRICS_PATH in step.command:  # a value appears with the first sample after a flow has started
            wait_until(lambda: is_as_shown(shell.run(step.command), step.shown), step.command, WAIT_S)
            return
        assert is_as_shown(said, step.shown), f"{step.command} said\n{said}"
        if " -m venv " in step.command:
            see_what_the_tests_have(project / step.command.split()[-1])

    try:
        for step in steps[:first]:
            do(step)
        with in_another_terminal(up, project, given, "Ctrl-C stops it", "--port", port):
            said = output_of(up, project).read_text().replace(port, "9092")
            assert is_as_shown(said, up.shown), said
            for step in steps[first + 1 : last]:
                do(step)
            with in_another_terminal(continuous, project, given, "all flows run"):
                told = output_of(continuous, project)
                for step in steps[last + 1 :]:
                    do(step)
                    if "odradek produce" in step.command:
                        wait_until(lambda: rows_of("events", told.read_text()) >= 2, "both events are taken", WAIT_S)
    finally:
        shell.close()
    figures.report("pipeline guide", commands=len(steps), seconds=round(time.monotonic() - began_s, 1))
