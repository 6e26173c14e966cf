"""The quickstart works as it is written: its commands, one after the other, in one shell.

Only ports and directories are others, so that nothing on the machine is in the way. Between two blocks the test does
what a reader does: it waits until the nodes say that they are ready.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.processes.ports import free_rows
from support.waiting import wait_until

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "quickstart.md").read_text()
CONFIG = "config"

#: How ports begin in the text, and how what takes their place ends.
_WRITTEN = {"9092": "2", "9093": "3", "910": "", "920": ""}

WAIT_S = 90
END = "the block is done"


class Quickstart:
    """A bash in a project of its own, which ends at the first command that fails."""

    def __init__(self, root: Path) -> None:
        self.data = root / "data"
        ports = _ports()
        # up takes the ports of the first node, and the next one for its controller
        up = f"odradek up --port {ports['localhost:9092'].rpartition(':')[2]}"
        self._words = {"/tmp/odradek": str(self.data), "odradek up": up, **ports}
        (root / CONFIG).mkdir()
        for path in (ROOT / CONFIG).iterdir():
            (root / CONFIG / path.name).write_text(self.substituted(path.read_text()))
        (root / ".venv").symlink_to(Path(sys.prefix))
        self._process = subprocess.Popen(
            ["bash", "-e"],
            cwd=root,
            env={**os.environ, "ODRADEK_BOOTSTRAP": self.substituted("localhost:9092")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def substituted(self, text: str) -> str:
        return re.sub("|".join(self._words), lambda found: self._words[found[0]], text)

    def run(self, block: str) -> str:
        """What it said."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{self.substituted(block)}\necho {END}\n")
        self._process.stdin.flush()
        said = ""
        for line in self._process.stdout:
            if line.strip() == END:
                return said
            said += line
        raise AssertionError(f"it ended with {self._process.wait()} in\n{block}\n{said}{self._logs()}")

    def wait_until_ready(self, block: str) -> None:
        """All that the block has started."""
        logs = {name.replace("$i", i) for name in re.findall(r"([^/\s]+\.log) ", block) for i in "123"}
        wait_until(
            lambda: all(re.search(r"\bready\b", self._logs().get(log, "")) for log in logs),
            f"{sorted(logs)} say ready",
            WAIT_S,
            lambda: str(self._logs()),
        )

    def close(self) -> None:
        """With whatever it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def _logs(self) -> Mapping[str, str]:
        return {path.name: path.read_text() for path in self.data.glob("*.log")}


@pytest.fixture
def quickstart(tmp_path: Path) -> Iterator[Quickstart]:
    made = Quickstart(tmp_path)
    yield made
    made.close()


def _ports() -> dict[str, str]:
    """Free ones for those of the text, where 910$i and 920$i are ports, too; they end in 1, 2 and 3."""
    starts = [first // 10 for first in free_rows(len(_WRITTEN), 4)]
    return {
        f"localhost:{written}": f"localhost:{start}{last}"
        for (written, last), start in zip(_WRITTEN.items(), starts, strict=True)
    }


@pytest.mark.slow
def test_every_command_of_the_quickstart(quickstart: Quickstart) -> None:
    said = ""
    blocks = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for block in blocks:
        said += quickstart.run(block)
        quickstart.wait_until_ready(block)
    assert len(blocks) > 10
    assert "hello\n" in said and re.search(
        r"^greetings/\d at \d: fr says bonjour \(source=quickstart\)$", said, re.MULTILINE
    )
    assert said.count("latency p99 (ms)") == 2, "of what was produced, and from end to end"
    assert '"name": "orders"' in said, "cat shows the topic"
    assert said.count("observer") >= 3 and said.count("payments/") == 1
    assert "Traceback" not in said
    assert not quickstart.data.exists(), "the last command removes everything"
