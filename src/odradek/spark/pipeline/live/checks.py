"""Checks of a pipeline for live mode, from the text of its definitions. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from odradek.common.failures import InputError
from odradek.spark.pipeline.live.triggers import SETTING, parse_interval_ms

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_USE = re.compile(r"(?:^|;)\s*(USE\b[^;]*)", re.IGNORECASE)
_SQL_INTERVAL = re.compile(rf"\bSET\s+{re.escape(SETTING)}\s*=\s*([^;]+)", re.IGNORECASE)
_PYTHON_INTERVAL = re.compile(rf"""["']{re.escape(SETTING)}["']\s*:\s*(["'])(.*?)\1""")


@dataclass(frozen=True, slots=True)
class LiveProblem:
    message: str
    line: int
    #: The pipeline runs, as updates; otherwise it does not run at all.
    is_warning: bool


def definition_problems(text: str, *, is_sql: bool) -> Iterator[LiveProblem]:
    """Yield features that live mode cannot run, and malformed trigger intervals."""
    if is_sql:
        text = _COMMENTS.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
        for use in _USE.finditer(text):
            yield unsupported(" ".join(use[1].split()), _line(text, use.start(1)))
        intervals = ((match[1], match.start(1)) for match in _SQL_INTERVAL.finditer(text))
    else:
        intervals = ((match[2], match.start(2)) for match in _PYTHON_INTERVAL.finditer(text))
    for interval, position in intervals:
        problem = _interval_problem(interval.strip())
        if problem is not None:
            yield LiveProblem(problem, _line(text, position), is_warning=False)


def configuration_problem(configuration: Mapping[str, str]) -> str | None:
    return _interval_problem(configuration[SETTING]) if SETTING in configuration else None


def unsupported(feature: str, line: int) -> LiveProblem:
    advice = "run --continuous runs the pipeline as updates instead"
    return LiveProblem(f"live mode cannot run {feature}; {advice}", line, is_warning=True)


def _interval_problem(text: str) -> str | None:
    try:
        parse_interval_ms(text)
    except InputError as error:
        return str(error)
    return None


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
