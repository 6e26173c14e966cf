"""What applications import: every public name is there, and a misspelt one is refused, by type checkers too."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOMS = ("odradek.client", "odradek.client.blocking", "odradek.service", "odradek.testing")


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_there_and_no_other(room: str) -> None:
    module = importlib.import_module(room)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="Konsumer"):
        module.Konsumer  # noqa: B018


def test_a_type_checker_knows_the_public_names(tmp_path: Path) -> None:
    lines = [f"import {room}" for room in ROOMS]
    lines += [f"{room}.{name}" for room in ROOMS for name in (*importlib.import_module(room).__all__, "Konsumer")]
    (tmp_path / "application.py").write_text("\n".join(lines))
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "application.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert len(complaints) == len(ROOMS), checked.stdout + checked.stderr
    assert all('has no attribute "Konsumer"' in line for line in complaints)
