"""Transcripts: what the nodes of a quorum do, as text beside this file. A change of behaviour shows as a diff.

To accept one: ODRADEK_WRITE_TRANSCRIPTS=1 pytest tests/spec/raft
"""

import os
from pathlib import Path

import pytest

from spec.raft.transcripts import Transcript

TRANSCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    """Lines that begin with `#` say what the transcript shows."""
    lines = path.read_text().splitlines()
    heading = [line for line in lines if line.startswith("#")]
    commands = [line.removeprefix("> ") for line in lines if line.startswith("> ")]
    happened = "\n".join(heading) + "\n" + Transcript(path.stem).run(commands)
    if os.environ.get("ODRADEK_WRITE_TRANSCRIPTS"):
        path.write_text(happened)
    assert happened == path.read_text()


def test_all_of_them_are_there() -> None:
    assert {path.stem for path in TRANSCRIPTS} == {
        "add_and_remove_voter",
        "commit",
        "first_election",
        "leader_cut_off",
        "pre_vote",
        "resignation",
        "snapshot_fetch",
        "no_split_vote",
    }
