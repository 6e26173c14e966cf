"""Tests wait for conditions and not for seconds: no pause stands directly before what it is to make true.

Before an assertion that something has not happened a pause does no harm: a slow machine cannot make it fail.
"""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

TESTS = Path(__file__).parents[2]


def is_pause(statement: ast.stmt) -> bool:
    """`time.sleep(…)` or `await asyncio.sleep(…)`; `sleep(0)` only lets others run."""
    if not isinstance(statement, ast.Expr):
        return False
    call = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
    if not isinstance(call, ast.Call) or ast.unparse(call.func) not in ("time.sleep", "asyncio.sleep", "sleep"):
        return False
    return ast.unparse(call.args[0]) != "0"


def says_what_has_happened(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Assert):
        return False
    return not (isinstance(statement.test, ast.UnaryOp) and isinstance(statement.test.op, ast.Not))


def paused_assertions(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        for statements in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(statements, list):
                for before, after in pairwise(statements):
                    if is_pause(before) and says_what_has_happened(after):
                        yield after.lineno


def test_a_pause_before_an_assertion_is_found() -> None:
    source = "async def test():\n    await asyncio.sleep(0.1)\n    assert {}\n"
    assert list(paused_assertions(ast.parse(source.format("done")))) == [3]
    assert list(paused_assertions(ast.parse(source.format("not done")))) == []
    assert list(paused_assertions(ast.parse(source.format("done").replace("0.1", "0")))) == []


def test_no_test_waits_for_seconds_where_it_could_wait_for_a_condition() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in paused_assertions(ast.parse(path.read_text()))
    ]
    assert found == [], "wait for the condition (support.waiting, or `until`), and then assert"
