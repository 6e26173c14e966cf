"""Who touches whose state, as counts that may only go down.

Two things are counted in each package: reading a private name of another object (`log._segments`), and in the cores an
assignment to an attribute of another object (`log.end_offset = 3`), the building of messages included. The table has
the counts as they are; whoever removes some lowers the number.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import figures

SOURCE = Path(__file__).parents[3] / "src" / "odradek"

CORES = (
    *("raft", "metadata", "metadata_log", "broker", "controller", "coordinator", "replica", "log", "records"),
    "protocol",
)

#: Package -> accesses to private names of other objects.
PRIVATE_ACCESSES: dict[str, int] = {
    "api": 2,
    "client": 2,
    "inspection": 1,
    "spark": 1,
    "testing": 2,
}

#: Core -> assignments to attributes of other objects.
FOREIGN_ASSIGNMENTS: dict[str, int] = {
    "coordinator": 43,
    "log": 31,
    "protocol": 1,
}

_OWN = ("self", "cls", "super()")

#: Names of others that have an underscore and are meant to be used, or have no other way: os._exit, named tuples,
#: fields of Scala's tuples, and what PySpark's own modules use of each other.
_OF_LIBRARIES = ("_exit", "_replace", "_asdict", "_fields", "_1", "_2", "_jsc", "_jvm", "_plan")


def private_accesses(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr in _OF_LIBRARIES:
            continue
        is_private = node.attr.startswith("_") and not node.attr.startswith("__")
        if is_private and ast.unparse(node.value) not in _OWN:
            yield node.lineno


def foreign_assignments(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        is_changed = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
        if is_changed and ast.unparse(node.value) not in _OWN:
            yield node.lineno


def files(package: str) -> list[Path]:
    generated = SOURCE / "protocol" / "messages"
    return [path for path in sorted((SOURCE / package).rglob("*.py")) if generated not in path.parents]


def packages() -> list[str]:
    return sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def test_private_accesses_become_fewer() -> None:
    found = Counter(
        {p: sum(len(list(private_accesses(ast.parse(path.read_text())))) for path in files(p)) for p in packages()}
    )
    figures.report("architecture: private accesses", **found)
    more = {package: count for package, count in found.items() if count > PRIVATE_ACCESSES.get(package, 0)}
    assert not more, "ask the object to do the work instead"


def test_foreign_assignments_in_cores_become_fewer() -> None:
    found = Counter(
        {p: sum(len(list(foreign_assignments(ast.parse(path.read_text())))) for path in files(p)) for p in CORES}
    )
    figures.report("architecture: foreign assignments", **found)
    more = {package: count for package, count in found.items() if count > FOREIGN_ASSIGNMENTS.get(package, 0)}
    assert not more, "an object's fields are assigned by itself"


@pytest.mark.parametrize(
    ("source", "private", "assigned"),
    [
        ("log._segments", 1, 0),
        ("self._segments", 0, 0),
        ("self._log._segments", 1, 0),
        ("type(log).__name__", 0, 0),
        ("os._exit(1)", 0, 0),
        ("log.end_offset = 3", 0, 1),
        ("log.end_offset += 3", 0, 1),
        ("self.end_offset = 3", 0, 0),
        ("self.log.end_offset, other = 3, 4", 0, 1),
        ("del log.end_offset", 0, 1),
    ],
)
def test_the_guard_itself(source: str, private: int, assigned: int) -> None:
    tree = ast.parse(source)
    assert (len(list(private_accesses(tree))), len(list(foreign_assignments(tree)))) == (private, assigned)
