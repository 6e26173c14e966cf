"""Optional dependencies that are not installed: one sentence, which names the extra."""

import sys

import pytest

from odradek.cli.app import run
from odradek.common.extras import MissingExtra, require_extra
from odradek.common.failures import InputError


def test_extras_that_are_installed_are_no_problem() -> None:
    for extra in ("arrow", "avro", "service", "spark"):
        require_extra(extra, "this test")


@pytest.mark.parametrize("module", ["pyspark", "yaml", "grpc"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"^register needs PySpark: pip install 'odradek\[spark\]'$") as error:
        require_extra("spark", "register")
    assert isinstance(error.value, InputError)
    assert isinstance(error.value, ImportError)


@pytest.mark.parametrize("verb", ["init", "check", "run", "status"])
@pytest.mark.parametrize("argument", ["project", "--help"])
def test_pipelines_name_the_extra_that_they_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str, argument: str
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert loaded(monkeypatch, verb, argument) == 1
    assert capsys.readouterr().err == f"odradek: odradek pipeline {verb} needs PySpark: pip install 'odradek[spark]'\n"


def test_shells_complete_nothing_where_an_extra_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    for name, value in {"COMP_WORDS": "odradek pipeline run --", "COMP_CWORD": "3"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("_ODRADEK_COMPLETE", "bash_complete")
    assert loaded(monkeypatch, "run") == 1
    assert capsys.readouterr().out == ""


def loaded(monkeypatch: pytest.MonkeyPatch, verb: str, *arguments: str) -> int:
    """Exit status of a verb that no earlier test has loaded."""
    from odradek.cli.commands.pipeline.command import pipeline

    monkeypatch.delitem(pipeline.commands, verb, raising=False)
    return run(["pipeline", verb, *arguments])
