"""Schemas in DDL, looked at without Spark: whether each field has a type that there is. Pure.

What stands behind a type (NOT NULL, COMMENT …) and what is in its brackets, unless these are types again, is left to
Spark, which alone knows all of it.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches

#: Of Spark 4.2.
_TYPES = (
    *("boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float", "real", "double"),
    *("decimal", "dec", "numeric", "string", "char", "character", "varchar", "binary", "variant", "void", "interval"),
    *("date", "time", "timestamp", "timestamp_ntz", "timestamp_ltz", "geometry", "geography", "array", "map", "struct"),
)

_FIELD = re.compile(r"(`[^`]*`|[^\s:`]+)\s*:?\s*(.*)", re.DOTALL)
_TYPE = re.compile(r"(\w+)\s*(.*)", re.DOTALL)
_OPENING, _CLOSING = "(<", ")>"
#: Names and comments: brackets and commas mean nothing in them.
_QUOTED = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_MARKS = re.compile(r"[,<>()]")


def ddl_problem(text: str) -> str | None:
    """What is wrong with a schema such as `id BIGINT NOT NULL, tags ARRAY<STRING>`; None if nothing is seen."""
    plain = _QUOTED.sub(lambda quoted: _MARKS.sub(" ", quoted[0]), text).strip()
    if re.match(r"struct\s*<", plain, re.IGNORECASE):
        return _type_problem(plain, "the schema")
    return _fields_problem(plain) if plain else None


def _fields_problem(text: str) -> str | None:
    for field in _parts(text):
        found = _FIELD.fullmatch(field)
        if found is None:
            return "a field is empty; right is such as id BIGINT NOT NULL, name STRING"
        problem = _type_problem(found[2], f"field {found[1]}")
        if problem is not None:
            return problem
    return None


def _type_problem(text: str, where: str) -> str | None:
    found = _TYPE.fullmatch(text.strip())
    if found is None:
        return f"{where} has no type; right is such as id BIGINT NOT NULL, name STRING"
    name, rest = found[1].lower(), found[2]
    if name not in _TYPES:
        near = get_close_matches(name, _TYPES, n=1)
        return f"{where}: {found[1]} is no type{f'; did you mean {near[0].upper()}?' if near else ' of Spark'}"
    if name not in ("array", "map", "struct") or not rest.startswith("<"):
        return None
    inner = _in_brackets(rest)
    if name == "struct":
        return _fields_problem(inner) if inner.strip() else None
    return next((problem for part in _parts(inner) if (problem := _type_problem(part, where))), None)


def _in_brackets(text: str) -> str:
    """Of what begins with a bracket, up to the one that closes it."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0:
            return text[1:index]
    return text[1:]


def _parts(text: str) -> Iterator[str]:
    """Between the commas that are in no brackets."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()
