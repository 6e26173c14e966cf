"""Types that there are not are found without Spark, and nothing is said of schemas that Spark takes."""

import pytest

from odradek.spark.ddl import ddl_problem

#: Spark's own parser took all of these.
RIGHT = (
    "id BIGINT NOT NULL, name STRING",
    "id: bigint, price decimal(10,2) COMMENT 'in EUR, <net>'",
    "`a b` INT, `x,y` STRING",
    "struct<a: int, b: array<struct<c: map<string, decimal(3, 1)>, d: timestamp_ntz>>>",
    "a STRUCT<b: INT NOT NULL COMMENT 'x', c: STRUCT<>>, d VOID",
    "a ARRAY < INT >, b INTERVAL DAY TO SECOND, c VARIANT, d TIME(3), e CHAR(3)",
    "a STRING COLLATE UTF8_LCASE",
    "type STRING,\n  time TIMESTAMP\n",
    "",
)


@pytest.mark.parametrize("text", RIGHT)
def test_right(text: str) -> None:
    assert ddl_problem(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id STRNG", "field id: unknown type STRNG. Did you mean STRING?"),
        ("id BIGINT, a ARRAY<STRUCT<b: INT, c: xyzzy>>", "field c: unknown type xyzzy"),
        ("a MAP<STRING, nt>", "field a: unknown type nt. Did you mean INT?"),
        ("id, name STRING", "field id has no type; expected for example id BIGINT NOT NULL, name STRING"),
        ("id BIGINT,", "a field is empty; expected for example id BIGINT NOT NULL, name STRING"),
    ],
)
def test_wrong(text: str, said: str) -> None:
    assert ddl_problem(text) == said
