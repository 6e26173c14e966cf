"""Documents that show commands with what they say: the commands are run in one shell, and must say it."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

#: In what is shown: anything, or on a line of its own any lines.
ANYTHING = "…"

_END = "the command is done:"


class Step(NamedTuple):
    command: str
    shown: list[str]


def console_steps(text: str) -> Iterator[Step]:
    """Of all blocks of language console: what follows `$ `, and what is shown below it."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield from steps_of(block)


def steps_of(block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield Step(command, shown)


def is_as_shown(said: str, shown: list[str]) -> bool:
    lines = [r"(?:.*\n)*" if line == ANYTHING else re.escape(line).replace(ANYTHING, ".*") + r" *\n" for line in shown]
    return re.fullmatch("".join(lines), said) is not None


class Shell:
    """A bash that keeps its directory and variables from one command to the next."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash"],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, command: str) -> str:
        """What it said, on both streams; it must succeed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{command}\necho {_END} $?\n")
        self._process.stdin.flush()
        said = ""
        for line in self._process.stdout:
            if line.startswith(_END):
                assert line.split()[-1] == "0", f"{command} ended with {line.split()[-1]}:\n{said}"
                return said
            said += line
        raise AssertionError(f"the shell ended in {command}:\n{said}")

    def close(self) -> None:
        """With whatever it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
