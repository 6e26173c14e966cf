"""The demo, shorter than `make demo` and with fewer events: both kills, every event accounted for, nothing left."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.figures import report
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

ROOT = Path(__file__).parents[2]
SECONDS, RATE = 15, 200


def start(directory: Path) -> "subprocess.Popen[str]":
    """With all its files in the directory, so that what it leaves can be told."""
    options = [f"--seconds={SECONDS}", f"--rate={RATE}", f"--report={directory / 'out' / 'report.html'}"]
    with (directory / "said").open("w") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "demo.run", *options],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(directory)},
            stdout=said,
            stderr=subprocess.STDOUT,
            text=True,
        )


def left_over(directory: Path) -> list[str]:
    """Processes that have the directory among their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text()
        except OSError:
            continue  # it has ended meanwhile
        if str(directory) in command and process.name != str(os.getpid()):
            found.append(command.replace("\0", " "))
    return found


@pytest.mark.timeout(1_800)  # Spark starts twice, which is long where many tests share few cores
def test_every_event_is_accounted_for_under_both_kills(tmp_path: Path) -> None:
    status = start(tmp_path).wait()
    said = (tmp_path / "said").read_text()
    assert status == 0, said
    assert "killed with -9; it led orders-0" in said and "driver and its JVM killed with -9" in said
    assert "none lost, none doubled" in said
    page = (tmp_path / "out" / "report.html").read_text()
    assert "broker killed" in page and "Spark driver killed" in page and "<svg" in page
    assert {path.name for path in tmp_path.iterdir()} == {"said", "out"}
    wait_until(lambda: not left_over(tmp_path), "nothing is left running", timeout_s=60)
    produced = sum(int(each.replace(",", "")) for each in re.findall(r"([\d,]+) produced = ", said))
    assert produced > SECONDS * RATE / 2
    report("pipeline on Spark, broker and driver killed", events=produced, lost=0, doubled=0)


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    process = start(tmp_path)
    wait_until(lambda: "Spark starts" in (tmp_path / "said").read_text(), "the demo has begun", timeout_s=120)
    wait_until(lambda: any("java" in each for each in left_over(tmp_path)), "Spark is starting", timeout_s=120)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130, (tmp_path / "said").read_text()
    wait_until(lambda: not left_over(tmp_path), "nothing is left running", timeout_s=60)
    assert {path.name for path in tmp_path.iterdir()} == {"said"}
