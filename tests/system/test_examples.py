"""The client and admin examples run as their docstrings say, each in a process of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.testing import Cluster

EXAMPLES = Path(__file__).parents[2] / "examples"
_TIMEOUT_S = 120


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with Cluster() as cluster:
        yield cluster.bootstrap


def run(bootstrap: str, script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        env={**os.environ, "ODRADEK_BOOTSTRAP": bootstrap},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_producer_consumer_and_admin_script_work_together(bootstrap: str) -> None:
    created = run(bootstrap, "admin/topic_report.py", "orders", "billing")
    assert "topic orders created\nretention.ms = 86400000\n" in created
    assert created.count("no committed offset") == 3

    produced = run(bootstrap, "clients/produce.py", "12")
    assert len(re.findall(r"^orders-\d offset \d+$", produced, re.MULTILINE)) == 12

    consumed = run(bootstrap, "clients/consume.py", "9")
    assert len(re.findall(r"^orders-\d offset \d+: (anna|ben|cleo) \d+$", consumed, re.MULTILINE)) == 9

    reported = run(bootstrap, "admin/topic_report.py", "orders", "billing")
    assert "topic orders exists\n" in reported
    ends = [int(end) for end in re.findall(r"end (\d+)", reported)]
    lags = [int(lag) for lag in re.findall(r"lag (\d+)", reported)]
    assert sum(ends) == 12 and sum(lags) == 3, reported
