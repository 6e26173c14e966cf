"""Tracebacks are hidden for what a person can cause, and shown for what is our own fault."""

import os

import pytest

from odradek.common.failures import Fault, InputError
from odradek.errors import Unreachable
from odradek.spark.plain_errors import plain_errors


@pytest.mark.parametrize(
    ("error", "hidden"), [(InputError("x"), "1"), (Unreachable("x"), "1"), (Fault("x"), None), (KeyError("x"), None)]
)
def test_hidden(monkeypatch: pytest.MonkeyPatch, error: Exception, hidden: str | None) -> None:
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK")
    with pytest.raises(type(error)), plain_errors():
        raise error
    assert os.environ.get("SPARK_HIDE_TRACEBACK") == hidden
