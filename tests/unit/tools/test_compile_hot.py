"""When the hot modules stay plain Python: where they cannot be compiled, and nowhere else."""

import sysconfig
from pathlib import Path

import pytest

from tools import compile_hot


@pytest.fixture(autouse=True)
def able_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a compiler and with headers, whatever this one has."""
    compiler = tmp_path / "cc"
    compiler.touch(0o755)
    (tmp_path / "Python.h").touch()
    monkeypatch.setenv("CC", f"{compiler} -pipe")
    monkeypatch.delenv("ODRADEK_PURE_PYTHON", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))


def test_with_a_compiler_and_headers_they_are_compiled() -> None:
    assert compile_hot.reason_not_to_compile() is None


def test_without_a_compiler_they_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent/cc -pipe")
    assert compile_hot.reason_not_to_compile() == "there is no C compiler (/nonexistent/cc)"


def test_without_headers_they_are_not(tmp_path: Path) -> None:
    (tmp_path / "Python.h").unlink()
    assert compile_hot.reason_not_to_compile() == f"Python's headers are missing ({tmp_path}/Python.h)"


def test_whoever_wants_plain_python_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_PURE_PYTHON", "1")
    assert compile_hot.reason_not_to_compile() == "ODRADEK_PURE_PYTHON is 1"
