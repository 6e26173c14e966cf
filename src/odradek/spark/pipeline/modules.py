"""Modules that a definition imports, and packages that its formats need: those that are not installed here."""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

#: By the format that cannot do without it: what it imports, and how to get it.
_PACKAGES = {"avro": ("fastavro", "odradek[avro]"), "protobuf": ("google.protobuf", "odradek[protobuf]")}


def missing_modules(text: str, directory: Path) -> Iterator[tuple[int, str]]:
    """The lines of a definition that would fail, with why. Only what is imported in any case is looked at, and only
    whether the package is there: nothing is run. A definition also finds modules of its project's directory."""
    tree = ast.parse(text)
    for line, package in _imported(tree):
        is_beside = (directory / package).is_dir() or (directory / f"{package}.py").is_file()
        if not is_beside and not _is_there(package):
            yield line, f"there is no module {package}, neither in {directory} nor in the environment of odradek"
    for node in ast.walk(tree):
        called = ast.unparse(node.func).removeprefix("formats.") if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and called in _PACKAGES and not _is_there(_PACKAGES[called][0]):
            yield node.lineno, f"{called} needs {_PACKAGES[called][0]}: pip install '{_PACKAGES[called][1]}'"


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield node.lineno, node.module.partition(".")[0]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
