"""The table of figures at the end of a run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support import figures

TOOL = Path(__file__).parents[3] / "tools" / "report.py"


def table(path: Path) -> str:
    return subprocess.run([sys.executable, str(TOOL), str(path)], capture_output=True, text=True, check=True).stdout


def test_what_tests_report_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "figures.jsonl"
    monkeypatch.setenv("ODRADEK_FIGURES", str(path))
    figures.report("frames", mutated=1_000_000, refused=250.4, mode="whole")
    figures.report("a crash", seeds=12, lost=0)
    lines = table(path).splitlines()
    assert lines[1] == "Figures of this run"
    assert [line.split() for line in lines[2:]] == [
        ["a", "crash", "seeds", "12", "·", "lost", "0"],
        ["frames", "mutated", "1,000,000", "·", "refused", "250", "·", "mode", "whole"],
    ]


def test_no_figures_no_table(tmp_path: Path) -> None:
    assert table(tmp_path / "missing.jsonl") == ""


def test_parts_of_a_test_become_one_row(tmp_path: Path) -> None:
    parts = [
        {"figure": "frames", "mode": "whole", "seed": 1, "mutated": 10},
        {"figure": "frames", "mode": "whole", "seed": 2, "mutated": 20, "lost": 0},
        {"figure": "frames", "mode": "split", "seed": 3, "mutated": 5},
    ]
    path = tmp_path / "figures.jsonl"
    path.write_text("".join(json.dumps(part) + "\n" for part in parts))
    shown = subprocess.run([sys.executable, TOOL, path], capture_output=True, text=True, check=True).stdout
    assert [" ".join(line.split()) for line in shown.splitlines()[2:]] == [
        "frames mode split · seed 3 · mutated 5",
        "frames mode whole · seed 1 to 2 · mutated 30 · lost 0",
    ]
