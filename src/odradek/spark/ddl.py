"""Checks of schemas in DDL without Spark: each field must have an existing type. Pure.

The rest is left to Spark: what follows a type (NOT NULL, COMMENT …), and parameters in brackets that are not types.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches

#: Types of Spark 4.2.
_TYPES = (
    *("boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float", "real", "double"),
    *("decimal", "dec", "numeric", "string", "char", "character", "varchar", "binary", "variant", "void", "interval"),
    *("date", "time", "timestamp", "timestamp_ntz", "timestamp_ltz", "geometry", "geography", "array", "map", "struct"),
)

_EXAMPLE = "expected for example id BIGINT NOT NULL, name STRING"

_FIELD = re.compile(r"(`[^`]*`|[^\s:`]+)\s*:?\s*(.*)", re.DOTALL)
_TYPE = re.compile(r"(\w+)\s*(.*)", re.DOTALL)
_OPENING, _CLOSING = "(<", ")>"
#: Names and comments, in which brackets and commas have no meaning.
_QUOTED = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_MARKS = re.compile(r"[,<>()]")


def ddl_problem(text: str) -> str | None:
    """Return the problem of a schema such as `id BIGINT NOT NULL, tags ARRAY<STRING>`, or None if none is found."""
    plain = _QUOTED.sub(lambda quoted: _MARKS.sub(" ", quoted[0]), text).strip()
    if re.match(r"struct\s*<", plain, re.IGNORECASE):
        return _type_problem(plain, "the schema")
    return _fields_problem(plain) if plain else None


def _fields_problem(text: str) -> str | None:
    for field in _parts(text):
        match = _FIELD.fullmatch(field)
        if match is None:
            return f"a field is empty; {_EXAMPLE}"
        problem = _type_problem(match[2], f"field {match[1]}")
        if problem is not None:
            return problem
    return None


def _type_problem(text: str, location: str) -> str | None:
    match = _TYPE.fullmatch(text.strip())
    if match is None:
        return f"{location} has no type; {_EXAMPLE}"
    name, rest = match[1].lower(), match[2]
    if name not in _TYPES:
        matches = get_close_matches(name, _TYPES, n=1)
        return f"{location}: unknown type {match[1]}{f'. Did you mean {matches[0].upper()}?' if matches else ''}"
    if name not in ("array", "map", "struct") or not rest.startswith("<"):
        return None
    inner = _in_brackets(rest)
    if name == "struct":
        return _fields_problem(inner) if inner.strip() else None
    return next((problem for part in _parts(inner) if (problem := _type_problem(part, location))), None)


def _in_brackets(text: str) -> str:
    """Return the text between an opening bracket at the start and its closing bracket."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0:
            return text[1:index]
    return text[1:]


def _parts(text: str) -> Iterator[str]:
    """Yield the parts between commas outside of brackets."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()
