"""Move modules of the package to other names, and rewrite every reference to them.

    python tools/move_modules.py MAP

MAP is a text file with one move per line; names are relative to `odradek`, paths to the project's directory:

    log.append log.log_appender                          a module
    tests/unit/log/test_flush.py tests/unit/log/test_log_flusher.py
    package log.segments One segment and its indexes.    the docstring of a new package

A unit test that mirrors a moved module moves with it. Rewritten are imports, dotted names in strings, paths of files,
and `Path(__file__).parents[n]` of a file whose depth changes. Names that are put together at run time are not found:
search for the last part of the old name afterwards. Run `make format` when it is done.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Stands inside a name that is final, so that it is not rewritten a second time.
_FINAL = "\0"

_DOTTED = re.compile(r"(?<![\w.])odradek((?:\.\w+)+)")
_PARENTS = re.compile(r"Path\(__file__\)(\.resolve\(\))?\.parents\[(\d+)\]")
_FILE = re.compile(r"(?<![\w/.-])((?:src/)?odradek/)?(\w+(?:/\w+)+)(\.py)?(?![\w/])")


@dataclass
class Moves:
    #: Old name of a module -> new name, both without `odradek.`.
    modules: dict[str, str] = field(default_factory=dict)
    #: Old path of any other file -> new path.
    files: dict[str, str] = field(default_factory=dict)
    #: New package -> docstring.
    packages: dict[str, str] = field(default_factory=dict)


def read_moves(text: str) -> Moves:
    moves = Moves()
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "package":
            moves.packages[words[1]] = line.split(maxsplit=2)[2]
        elif "/" in words[0]:
            moves.files[words[0]] = words[1]
        else:
            moves.modules[words[0]] = words[1]
    for old, new in moves.modules.items():
        test = _test_path(old)
        if (ROOT / test).exists():
            moves.files.setdefault(test, _test_path(new))
    return moves


def _source_path(module: str) -> str:
    return f"src/odradek/{module.replace('.', '/')}.py"


def _test_path(module: str) -> str:
    package, _, name = module.rpartition(".")
    return f"tests/unit/{package.replace('.', '/')}/test_{name}.py"


def move_files(moves: Moves) -> None:
    pairs = {_source_path(old): _source_path(new) for old, new in moves.modules.items()} | moves.files
    for old, new in pairs.items():
        if old == new:
            continue
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", old, new], cwd=ROOT, check=True)
        path = ROOT / new
        deeper = new.count("/") - old.count("/")
        if deeper and path.suffix == ".py":
            path.write_text(_deepened(path.read_text(), deeper))
    for package, docstring in moves.packages.items():
        path = ROOT / "src" / "odradek" / package.replace(".", "/") / "__init__.py"
        path.write_text(f'"""{docstring}"""\n')
        subprocess.run(["git", "add", str(path)], cwd=ROOT, check=True)


def _deepened(text: str, levels: int) -> str:
    return _PARENTS.sub(lambda found: f"Path(__file__){found[1] or ''}.parents[{int(found[2]) + levels}]", text)


class Rewriter:
    def __init__(self, moves: Moves) -> None:
        self._moves = moves
        self._paths = {old.replace(".", "/"): new.replace(".", "/") for old, new in moves.modules.items()}

    def rewritten(self, text: str, *, is_python: bool) -> str:
        if is_python:
            text = self._with_module_imports(text)
        text = _DOTTED.sub(self._dotted, text)
        text = _FILE.sub(lambda found: self._file(found, text, is_python), text)
        for old, new in self._moves.files.items():
            text = text.replace(old, new)
        return text.replace(_FINAL, "")

    def _dotted(self, found: re.Match[str]) -> str:
        parts = found[1][1:].split(".")
        for count in range(len(parts), 0, -1):
            new = self._moves.modules.get(".".join(parts[:count]))
            if new is not None:
                return ".".join(("odradek", new, *parts[count:]))
        return found[0]

    def _file(self, found: re.Match[str], text: str, is_python: bool) -> str:
        prefix, name, suffix = found[1] or "", found[2], found[3] or ""
        is_quoted = text[found.start() - 1 : found.start()] == "`" == text[found.end() : found.end() + 1]
        if name not in self._paths or (is_python and not (prefix or suffix or is_quoted)):
            return found[0]
        return f"{prefix}{self._paths[name]}{suffix}"

    def _with_module_imports(self, text: str) -> str:
        """Rewrite `from odradek.log import append`, and what the file then does with `append`."""
        tree = ast.parse(text)
        taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        taken |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        taken |= {node.asname or node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}
        taken |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        edits: list[tuple[int, int, int, int, str]] = []
        renamed: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "odradek":
                edits += self._import_edits(node, taken, renamed)
        edits += [
            (node.lineno, node.col_offset, node.lineno, node.col_offset + len(node.id), renamed[node.id])
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and node.id in renamed
        ]
        return _edited(text, edits)

    def _import_edits(
        self, node: ast.ImportFrom, taken: set[str], renamed: dict[str, str]
    ) -> Iterator[tuple[int, int, int, int, str]]:
        package = ".".join((node.module or "").split(".")[1:])
        moved = [each for each in node.names if f"{package}.{each.name}" in self._moves.modules]
        if not moved:
            return
        lines = []
        kept = [each for each in node.names if each not in moved]
        if kept:
            names = ", ".join(each.name + (f" as {each.asname}" if each.asname else "") for each in kept)
            lines.append(f"from {node.module} import {names}")
        for each in moved:
            target, _, leaf = self._moves.modules[f"{package}.{each.name}"].rpartition(".")
            alias = each.asname
            if alias is None and leaf != each.name:
                if leaf in taken:
                    alias = each.name
                else:
                    renamed[each.name] = leaf
                    taken.add(leaf)
            suffix = f" as {alias}" if alias and alias != leaf else ""
            lines.append(f"from odradek{_FINAL}.{target} import {leaf}{suffix}")
        text = ("\n" + " " * node.col_offset).join(lines)
        yield node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0, text


def _edited(text: str, edits: list[tuple[int, int, int, int, str]]) -> str:
    data = text.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for first_line, first, last_line, last, new in sorted(edits, reverse=True):
        start, end = starts[first_line - 1] + first, starts[last_line - 1] + last
        data = data[:start] + new.encode() + data[end:]
    return data.decode()


def rewrite_references(moves: Moves) -> None:
    rewriter = Rewriter(moves)
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if path.suffix not in (".py", ".md", ".toml", ".sh", ".in", ".yml", ".txt") and path.name != "Makefile":
            continue
        text = path.read_text()
        changed = rewriter.rewritten(text, is_python=path.suffix == ".py")
        if changed != text:
            path.write_text(changed)


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit(__doc__)
    moves = read_moves(Path(arguments[0]).read_text())
    missing = [old for old in moves.modules if not (ROOT / _source_path(old)).exists()]
    if missing:
        sys.exit(f"no such modules: {', '.join(missing)}")
    move_files(moves)
    rewrite_references(moves)


if __name__ == "__main__":
    main(sys.argv[1:])
