"""The cores are pure: no clock, randomness, sockets, threads or files of their own, and no order out of a set.

Read from the source. What a set hides behind a function or another module is not seen; the simulator, which runs
every seed twice with different string hashes, sees that.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "odradek"

CORES = (
    "raft",
    "metadata",
    "metadata_log",
    "broker",
    "controller",
    "coordinator",
    "replica",
    "log",
    "records",
    "protocol",
)

IMPURE_MODULES = frozenset(
    [
        "asyncio",
        "concurrent",
        "ctypes",
        "fcntl",
        "glob",
        "mmap",
        "multiprocessing",
        "queue",
        "random",
        "sched",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "socketserver",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "uvloop",
        "_thread",
    ]
)

#: Calls that reach for the outside although their module is allowed.
IMPURE_CALLS = frozenset(
    [
        "open",
        "input",
        "print",
        "datetime.now",
        "datetime.utcnow",
        "datetime.today",
        "date.today",
        "uuid.uuid1",
        "uuid.uuid4",
        "uuid1",
        "uuid4",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "np.random.default_rng",
    ]
)

#: Of `os` only what computes on path strings.
ALLOWED_OS = frozenset({"os.path.join", "os.path.basename", "os.path.dirname", "os.path.normpath", "os.fspath"})

#: Calls whose result depends on the order of what they are given.
ORDERED_CALLS = frozenset({"list", "tuple", "enumerate", "iter", "next", "dict", "zip", "map", "reversed"})


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return "?"


def impurities(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if not node.level else []
        else:
            if isinstance(node, ast.Call):
                called = dotted(node.func)
                if called in IMPURE_CALLS or (called.startswith("os.") and called not in ALLOWED_OS):
                    yield f"line {node.lineno}: calls {called}"
            continue
        yield from (f"line {node.lineno}: imports {name}" for name in names if name.split(".")[0] in IMPURE_MODULES)


def is_set_type(annotation: ast.expr) -> bool:
    base = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return dotted(base).split(".")[-1] in {"set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"}


class SetOrder(ast.NodeVisitor):
    """Finds iteration over what the source shows to be a set: literals, calls, annotated or assigned names."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._names: list[dict[str, bool]] = [{}]

    def is_set(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Set | ast.SetComp):
            return True
        if isinstance(node, ast.Call):
            return dotted(node.func) in {"set", "frozenset"}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
            return self.is_set(node.left) or self.is_set(node.right)
        if isinstance(node, ast.Name | ast.Attribute):
            name = dotted(node)
            return next((scope[name] for scope in reversed(self._names) if name in scope), False)
        return False

    def _iterates(self, node: ast.expr) -> None:
        if self.is_set(node):
            self.found.append(f"line {node.lineno}: iterates the set {ast.unparse(node)}")

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self._names.append({a.arg: is_set_type(a.annotation) if a.annotation else False for a in arguments})
        self.generic_visit(node)
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        attributes = {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.AnnAssign):
                name = dotted(inner.target)
                attributes[name if name.startswith("self.") else f"self.{name}"] = is_set_type(inner.annotation)
            elif isinstance(inner, ast.Assign) and dotted(inner.targets[0]).startswith("self."):
                attributes.setdefault(dotted(inner.targets[0]), self.is_set(inner.value))
        self._names.append(attributes)
        self.generic_visit(node)
        self._names.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._names[-1][target.id] = self.is_set(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self._names[-1][node.target.id] = is_set_type(node.annotation)

    def visit_For(self, node: ast.For) -> None:
        self._iterates(node.iter)
        self.generic_visit(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        """A set made from a set has no order to lose."""
        self.visit(node.elt)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._iterates(node.iter)
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self._iterates(node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = dotted(node.func)
        if called in ORDERED_CALLS or called.endswith((".join", ".extend")):
            for argument in node.args:
                self._iterates(argument)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "pop" and not node.args:
            self._iterates(node.func.value)
        self.generic_visit(node)


def set_orders(tree: ast.AST) -> list[str]:
    visitor = SetOrder()
    visitor.visit(tree)
    return visitor.found


def core_files() -> list[Path]:
    """Of the cores, and of the clients what says of itself that it is pure."""
    cores = [path for core in CORES for path in (SOURCE / core).rglob("*.py")]
    return sorted(cores + [path for path in (SOURCE / "client").rglob("*.py") if says_it_is_pure(path)])


def says_it_is_pure(path: Path) -> bool:
    return re.search(r"\b[Pp]ure\b", ast.get_docstring(ast.parse(path.read_text())) or "") is not None


def test_cores_reach_for_nothing_outside() -> None:
    found = [
        f"{path.relative_to(SOURCE)} {said}"
        for path in core_files()
        for said in impurities(ast.parse(path.read_text()))
    ]
    assert not found, "\n".join(found)


def test_cores_take_no_order_from_a_set() -> None:
    found = [
        f"{path.relative_to(SOURCE)} {said}"
        for path in core_files()
        for said in set_orders(ast.parse(path.read_text()))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from asyncio import Queue",
        "import numpy\ndef f():\n    from random import choice",
        "from datetime import datetime\nnow = datetime.now()",
        "import os\nkey = os.urandom(16)",
        "import uuid\nkey = uuid.uuid4()",
        "data = open('x').read()",
    ],
)
def test_impurities_are_seen(source: str) -> None:
    assert list(impurities(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "for x in {1, 2}: pass",
        "for x in set(y): pass",
        "a = [x for x in {y for y in z}]",
        "def f():\n    seen = set()\n    return [x for x in seen]",
        "def f(seen: frozenset[str]):\n    return list(seen)",
        "class A:\n    isr: set[int]\n    def f(self):\n        yield from (x for x in self.isr)",
        "class A:\n    def __init__(self):\n        self.a = set()\n    def f(self):\n        for x in self.a: pass",
        "def f(a: set[int], b):\n    for x in a - b: pass",
        "def f(a: set[int]):\n    return a.pop()",
    ],
)
def test_iterated_sets_are_seen(source: str) -> None:
    assert set_orders(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "for x in sorted({1, 2}): pass",
        "def f(a: set[int]):\n    return 3 in a and len(a)",
        "def f(a: set[int]):\n    return {x + 1 for x in a}",
        "def f():\n    seen = set()\n    seen = sorted(seen)\n    for x in seen: pass",
        "for x in [1, 2]: pass",
    ],
)
def test_other_uses_of_sets_are_allowed(source: str) -> None:
    assert not set_orders(ast.parse(source))
