"""SQL definitions are split into statements by Spark, whose function for that has two names."""

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from odradek.spark.pipeline.live.sql import SetValue, SqlReader


class Statements(list[str]):
    """A sequence of Scala."""

    def size(self) -> int:
        return len(self)

    def apply(self, index: int) -> str:
        return self[index]


class StringUtils:
    """Splits at each semicolon; a method that this version of Spark does not have fails when it is called."""

    def __init__(self, method: str) -> None:
        self._method = method

    def __getattr__(self, name: str) -> Any:
        def call(text: str, is_script: bool) -> Statements:
            if name != self._method:
                raise Py4JError(f"Method {name}([class java.lang.String, class java.lang.Boolean]) does not exist")
            assert not is_script
            return Statements(text.rstrip(";").split(";"))

        return call


class Pair:
    def __init__(self, name: str, value: str) -> None:
        self._pair = (name, SimpleNamespace(isEmpty=lambda: False, get=lambda: value))

    def isEmpty(self) -> bool:
        return False

    def get(self) -> Any:
        return SimpleNamespace(_1=lambda: self._pair[0], _2=lambda: self._pair[1])


class Parser:
    def parsePlan(self, statement: str) -> Any:
        name, _, value = statement.removeprefix("SET ").partition("=")
        plan_class = SimpleNamespace(getSimpleName=lambda: "SetCommand" if value else "Other")
        return SimpleNamespace(getClass=lambda: plan_class, kv=lambda: Pair(name.strip(), value.strip()))


def reader(method: str) -> SqlReader:
    util = SimpleNamespace(**{"StringUtils$": SimpleNamespace(**{"MODULE$": StringUtils(method)})})
    sql = SimpleNamespace(execution=SimpleNamespace(SparkSqlParser=Parser), catalyst=SimpleNamespace(util=util))
    spark = SimpleNamespace(apache=SimpleNamespace(spark=SimpleNamespace(sql=sql)))
    return SqlReader(SimpleNamespace(org=spark))


@pytest.mark.parametrize("method", ["splitSemiColonWithIndex", "splitSemiColon"], ids=["before 4.3", "4.3"])
def test_statements_are_split_by_every_supported_spark(method: str) -> None:
    statements = list(reader(method).read("SET a = 1;SET b = 2;", "tables.sql"))
    assert statements == [SetValue("a", "1"), SetValue("b", "2")]
