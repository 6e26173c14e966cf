"""Log lines of a node: for people, and for programs."""

import json
import logging
import subprocess
import sys

_SCRIPT = """
import logging
from odradek.cli.commands.server_log import log_to_stderr
log_to_stderr(7, verbose=False, utc=True, as_json={as_json})
logging.getLogger("odradek.raft").info("became %s", "Leader")
try:
    raise KeyError("x")
except KeyError:
    logging.getLogger("odradek.node").error("broken", exc_info=True)
"""


def lines(as_json: bool) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(as_json=as_json)], capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()


def test_lines_for_people() -> None:
    first, *_ = lines(as_json=False)
    assert first.endswith("node 7 INFO     raft: became Leader")


def test_lines_for_programs() -> None:
    first, second = (json.loads(line) for line in lines(as_json=True))
    time_ms = first.pop("time_ms")
    assert time_ms > 0
    assert first == {"node": 7, "level": logging.getLevelName(logging.INFO), "part": "raft", "message": "became Leader"}
    assert second["message"] == "broken" and "KeyError" in second["traceback"]


def test_what_clients_send_stays_in_one_line_and_cannot_command_a_terminal() -> None:
    script = _SCRIPT.format(as_json=False).replace(
        '"Leader"', 'chr(10) + "a" + chr(0) + chr(27) + "[31m" + chr(0x202E)'
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[0].endswith(r"raft: became \na\x00\x1b[31m\u202e")
