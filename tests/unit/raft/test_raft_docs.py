"""docs/raft.md shows the code's own table of moves, and the transcripts as they are.

To bring it up to date: ODRADEK_WRITE_TRANSCRIPTS=1 pytest tests/unit/raft/test_raft_docs.py
"""

import os
import re
from pathlib import Path

import pytest

from odradek.raft.states.transitions import MOVES

ROOT = Path(__file__).parents[3]
DOC = ROOT / "docs" / "raft.md"


def moves_table() -> str:
    rows = [f"| {move.origin.name} | {move.target.name} | {move.why} |" for move in MOVES]
    return "\n".join(["| from | to | when |", "| --- | --- | --- |", *rows])


def transcript(name: str, begin: str) -> str:
    """From the command that begins with `begin` on."""
    lines = (ROOT / "tests" / "spec" / "raft" / f"{name}.txt").read_text().splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith(begin))
    return "\n".join(["```", *lines[first:], "```"])


PARTS = {
    "moves": moves_table,
    "first_election": lambda: transcript("first_election", "> voters"),
    "commit": lambda: transcript("commit", "> show fetches"),
    "snapshot_fetch": lambda: transcript("snapshot_fetch", "> show fetches"),
}


@pytest.mark.parametrize("name", PARTS)
def test_the_document_shows_what_is(name: str) -> None:
    text = DOC.read_text()
    current = f"<!-- {name} -->\n{PARTS[name]()}\n<!-- /{name} -->"
    pattern = re.compile(f"<!-- {name} -->\n.*?<!-- /{name} -->", re.DOTALL)
    assert pattern.search(text), f"docs/raft.md has no place for {name}"
    updated = pattern.sub(lambda match: current, text)
    if os.environ.get("ODRADEK_WRITE_TRANSCRIPTS"):
        DOC.write_text(updated)
        text = updated
    assert text == updated
