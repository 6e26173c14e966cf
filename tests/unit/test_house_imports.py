"""The rooms of the house and the arrows between them: who may import whom.

The table is ARCHITECTURE's. Imports are read from the source, so that those inside functions count too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "odradek"

_BELOW_SERVER = (
    *(
        "network",
        "observability",
        "broker",
        "api",
        "client",
        "security",
        "coordinator",
        "replica",
        "controller",
        "metadata_log",
        "metadata",
        "raft",
    ),
    *("log", "records", "protocol", "common", "zookeeper", "console"),
)

#: Room -> what it may import. A dotted name allows only that module of the other room.
ALLOWED: dict[str, tuple[str, ...]] = {
    "common": (),
    "protocol": ("common",),
    "records": ("protocol.primitives", "common"),
    "log": ("records", "common"),
    "raft": ("records", "protocol", "common"),
    "metadata": ("protocol", "common"),
    "metadata_log": ("log", "raft", "metadata", "records", "protocol", "common"),
    "broker": ("metadata", "protocol", "common"),
    "controller": ("metadata", "raft", "protocol", "common"),
    "replica": ("log", "metadata", "records", "protocol", "common"),
    "coordinator": ("records", "metadata", "protocol", "common"),
    "security": ("metadata", "protocol", "common"),
    "client": ("protocol", "records", "security", "common"),
    "api": ("protocol", "security", "replica", "coordinator", "controller", "metadata", "common"),
    "network": ("api", "security", "protocol", "common"),
    "server": _BELOW_SERVER,
    "observability": ("common",),
    # Of the client the value that a fetched metadata log is.
    "inspection": (
        "log",
        "metadata_log",
        "raft",
        "metadata",
        "records",
        "protocol",
        "common",
        "client.net.metadata_log_fetch",
    ),
    "service": ("client", "observability", "records", "protocol", "common"),
    "testing": ("server", "network", "client", "metadata", "protocol", "common"),
    "console": ("client", "common"),
    "spark": ("client", "observability", "records", "protocol", "common"),
    "zookeeper": ("metadata", "raft", "protocol", "common"),
    "sim": tuple(room for room in _BELOW_SERVER if room != "network"),
    "cli": (*_BELOW_SERVER, "inspection", "server", "testing", "service", "spark", "sim"),
}


def imported_modules(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import below `odradek`; `package` resolves the relative ones."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.startswith("odradek."))


def violations(room: str, tree: ast.AST, package: str) -> Iterator[str]:
    for line, name in imported_modules(tree, package):
        inside = name.removeprefix("odradek.")
        if inside == "__version__" or inside.split(".")[0] == room:
            continue
        if not any(inside == allowed or inside.startswith(allowed + ".") for allowed in ALLOWED[room]):
            yield f"line {line}: {room} imports {name}"


def python_files(room: str) -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py"))


def rooms() -> list[str]:
    return sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__")


@pytest.mark.parametrize("room", rooms())
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    assert room in ALLOWED, f"{room} is no room of the house: add it to the table and to docs/architecture.md"
    found = []
    for path in python_files(room):
        package = ".".join(("odradek", *path.relative_to(SOURCE).parent.parts))
        found += [
            f"{path.relative_to(SOURCE)} {said}" for said in violations(room, ast.parse(path.read_text()), package)
        ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("room", "source", "refused"),
    [
        ("log", "from odradek.records.batch import Batch", False),
        ("log", "from odradek.log.segments.segment import Segment", False),
        ("log", "from odradek.protocol.codec import encode", True),
        ("log", "def f():\n    import odradek.server.node", True),
        ("records", "from odradek.protocol.primitives import varint", False),
        ("records", "from odradek.protocol import primitives", False),
        ("records", "from odradek.protocol import codec", True),
        ("protocol", "from ..records import batch", True),
        ("protocol", "from .codec import encode", False),
        ("sim", "import odradek.network", True),
    ],
)
def test_the_guard_itself(room: str, source: str, refused: bool) -> None:
    assert bool(list(violations(room, ast.parse(source), f"odradek.{room}"))) is refused
