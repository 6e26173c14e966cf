"""The command as a test calls it: in this process, on one cluster, with what it said; and ports for `odradek up`."""

import json
from typing import Any, NamedTuple

import pytest

from odradek.cli.app import run
from support.processes.ports import free_rows


class Said(NamedTuple):
    status: int
    out: str
    err: str


class Command:
    """`bootstrap` is given to every call."""

    def __init__(self, capsys: pytest.CaptureFixture[str], bootstrap: str) -> None:
        self._capsys = capsys
        self.bootstrap = bootstrap

    def say(self, *arguments: str) -> Said:
        self._capsys.readouterr()
        status = run([*arguments, "--bootstrap", self.bootstrap])
        out, err = self._capsys.readouterr()
        return Said(status, out, err)

    def do(self, *arguments: str) -> str:
        """What must succeed, and without a word on stderr."""
        said = self.say(*arguments)
        assert said.status == 0 and not said.err, (arguments, said)
        return said.out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.do(*arguments, "--format", "json"))


def free_port(count: int) -> str:
    """The first of `count` in a row."""
    return str(free_rows(1, count)[0])
