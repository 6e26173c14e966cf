"""Files of installed packages that a process of Spark needs.

Packages are located by their metadata. Odradek itself may be installed in any way, also as a working copy: its files
are those beside the running module."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from odradek.common.failures import InputError

#: Extras that executors may need; those that are not installed are left out.
_EXTRAS = ("spark", "avro", "protobuf")

#: PySpark needs these for Arrow wherever it runs, so that machines that run Python data sources have them.
MACHINE_PACKAGES = ("numpy", "pandas", "pyarrow")

#: Part of Spark, and of the same version as Spark.
_SPARK_PACKAGES = ("pyspark", "py4j")

#: Used only by the command line and by nodes.
_NOT_FOR_EXECUTORS = ("click", "prometheus-client", "rich", "uvloop", "google-re2", "xxhash")

#: Directories that no job uses: tests, headers, and Spark itself, which is on the machines.
_LEFT_OUT = re.compile(
    r"^(?:numpy|pandas|pyarrow|pyspark)/(?:.*/)?tests/|^pyarrow/(?:include|src)/|^numpy/_core/include/"
    r"|^pyspark/(?:bin|data|examples|jars|licenses|python|sbin|testing)/"
)

_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[([^\]]*)\])?")
_EXTRA_MARKER = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


@dataclass(frozen=True, slots=True)
class PackagedFile:
    #: Path below the directory on Python's path.
    name: str
    source: Path


@dataclass(frozen=True, slots=True)
class Requirement:
    name: str
    #: Extras of the package that is required.
    extras: tuple[str, ...]
    #: The extra that requires it; None if it is always required.
    needed_by: str | None


def parse_requirement(text: str) -> Requirement:
    """Parse a line of a package's metadata. Versions and platforms do not matter: only installed packages are taken."""
    head, _, marker = text.partition(";")
    match = _REQUIREMENT.match(head.strip())
    if match is None:
        raise InputError(f"unreadable requirement {text!r} in the metadata of an installed package")
    extra = _EXTRA_MARKER.search(marker)
    extras = tuple(name.strip() for name in (match[2] or "").split(",") if name.strip())
    return Requirement(_normalize(match[1]), extras, None if extra is None else extra[1])


def environment_files(more: Iterable[str] = ()) -> list[PackagedFile]:
    """Return Odradek with everything that it and PySpark need, but Spark's jars, and the packages `more` with what
    they need. Raise InputError if one of these is not installed."""
    names = _closure([("odradek", _EXTRAS), *((name, ()) for name in more)], left_out=())
    return _files(names)


def executor_files(more: Iterable[str] = ()) -> list[PackagedFile]:
    """Return Odradek with what a task of its data source needs beyond PySpark and what PySpark needs for Arrow."""
    left_out = (*MACHINE_PACKAGES, *_SPARK_PACKAGES, *_NOT_FOR_EXECUTORS)
    needed = _closure([("odradek", ("avro", "protobuf")), *((name, ()) for name in more)], left_out)
    return _files(needed)


def _files(names: Iterable[str]) -> list[PackagedFile]:
    files = {file.name: file for name in names for file in _files_of(name)}
    return [files[name] for name in sorted(files)]


def _closure(roots: Iterable[tuple[str, tuple[str, ...]]], left_out: tuple[str, ...]) -> list[str]:
    """Return the installed packages that the roots need, with the roots."""
    waiting = [(_normalize(name), extras, True) for name, extras in roots]
    visited: set[tuple[str, tuple[str, ...]]] = set()
    names: set[str] = set()
    while waiting:
        name, extras, is_root = waiting.pop()
        if (name, extras) in visited or (name in left_out and not is_root):
            continue
        visited.add((name, extras))
        installed = _installed(name)
        if installed is None:
            if is_root:
                raise InputError(f"the package {name} is not installed in this environment")
            continue
        names.add(name)
        for requirement in map(parse_requirement, installed.requires or ()):
            if requirement.needed_by is None or requirement.needed_by in extras:
                waiting.append((requirement.name, requirement.extras, False))
    return sorted(names)


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _files_of(name: str) -> Iterator[PackagedFile]:
    if name == "odradek":
        for package in ("odradek", "pyspark_odradek"):
            yield from _tree(package)
        return
    installed = distribution(name)
    for file in installed.files or ():
        if file.parts[0] in ("..", "/") or file.suffix == ".pth" or _LEFT_OUT.match(file.as_posix()):
            continue
        source = Path(str(installed.locate_file(file)))
        if source.is_file():
            yield PackagedFile(file.as_posix(), source)


def _tree(package: str) -> Iterator[PackagedFile]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise InputError(f"the package {package} is not installed in this environment")
    directory = Path(spec.origin).parent
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield PackagedFile(f"{package}/{path.relative_to(directory).as_posix()}", path)


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
