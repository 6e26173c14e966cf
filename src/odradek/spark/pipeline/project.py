"""A project: its spec file as it stands, and where its things are.

The spec is that of Spark Declarative Pipelines; what Spark would refuse is refused here, all of it at once, with the
field and what would be right. One thing is added: a storage that is no URI is a directory of the project.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml  # type: ignore[import-untyped]

from odradek.common.failures import InputError

SPEC_NAMES = ("spark-pipeline.yml", "spark-pipeline.yaml")

_FIELDS = ("name", "storage", "catalog", "database", "schema", "configuration", "libraries")
_REQUIRED = ("name", "storage")
#: What stands otherwise in a URI.
_NO_PATH = re.compile(r"[\s%#?\"<>\\^`{|}\[\]]")
_SUFFIXES = (".py", ".sql")

#: What is ours in the storage, or beside the spec where the storage is no local directory.
_OURS, _OURS_BESIDE = "odradek", ".odradek"

#: Spark's own names.
_CATALOG, _DATABASE = "spark_catalog", "default"

_LIBRARIES_EXAMPLE = "expected a list such as [{glob: {include: transformations/**}}]"


@dataclass(frozen=True, slots=True)
class Project:
    spec_path: Path
    name: str
    #: A URI.
    storage: str
    catalog: str | None
    database: str | None
    configuration: Mapping[str, str]
    #: Globs, as Spark takes them.
    libraries: tuple[str, ...]

    def with_settings(self, settings: Mapping[str, str]) -> "Project":
        """These count more than what the spec says."""
        return replace(self, configuration={**self.configuration, **settings})

    @property
    def catalog_name(self) -> str:
        """The catalog of tables that are named without one."""
        return self.catalog or _CATALOG

    @property
    def database_name(self) -> str:
        return self.database or _DATABASE

    @property
    def directory(self) -> Path:
        return self.spec_path.parent

    @property
    def local_storage(self) -> Path | None:
        """Directory of the storage; None where it is not local, such as s3a://…"""
        scheme, _, path = self.storage.partition(":")
        return Path(f"/{path.lstrip('/')}") if scheme == "file" else None

    @property
    def ours(self) -> Path:
        """Directory of the log, the state and the catalog of tables."""
        storage = self.local_storage
        return self.directory / _OURS_BESIDE if storage is None else storage / _OURS

    @property
    def log(self) -> Path:
        return self.ours / "spark.log"

    @property
    def state(self) -> Path:
        return self.ours / "state.json"

    def files(self) -> list[Path]:
        """The definitions, each once, in the order in which Spark reads them."""
        paths = (path for glob in self.libraries for path in _matching(self.directory, glob))
        return list(dict.fromkeys(paths))


def find_spec(name: str | None) -> Path:
    """`place` is a project's directory or its spec; without one it is looked for from the current directory upwards."""
    if name is None:
        here = Path.cwd()
        for directory in (here, *here.parents):
            spec = _spec_in(directory)
            if spec is not None:
                return spec
        raise InputError(
            f"no {SPEC_NAMES[0]} in {here} or above it; name the project, or create one with odradek pipeline init"
        )
    path = Path(name)
    if path.is_file():
        return path.resolve()
    if not path.is_dir():
        raise InputError(f"{name}: no such directory; odradek pipeline init {name} creates a project")
    spec = _spec_in(path)
    if spec is None:
        raise InputError(f"{name}: the directory has no {SPEC_NAMES[0]}")
    return spec


def read_project(name: str | None) -> Project:
    """Raises InputError with one line for each thing that is wrong."""
    path = find_spec(name)
    spec = _load(path)
    problems = list(_problems(spec))
    storage = "" if problems else _storage_uri(path.parent, spec["storage"])
    problems += path_problems(storage)
    if problems:
        raise InputError("\n".join(f"{path.name}: {problem}" for problem in problems))
    return Project(
        spec_path=path,
        name=spec["name"],
        storage=storage,
        catalog=spec.get("catalog"),
        database=spec.get("database", spec.get("schema")),
        configuration=spec.get("configuration") or {},
        libraries=tuple(entry["glob"]["include"] for entry in spec.get("libraries") or ()),
    )


def _spec_in(directory: Path) -> Path | None:
    paths = [directory / name for name in SPEC_NAMES if (directory / name).is_file()]
    if len(paths) > 1:
        raise InputError(f"{directory} has both {' and '.join(SPEC_NAMES)}; remove one of them")
    return paths[0].resolve() if paths else None


def _load(path: Path) -> dict[str, Any]:
    try:
        spec = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f":{mark.line + 1}"
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{path.name}{line}: invalid YAML: {reason}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: the file is not UTF-8 text") from None
    if not isinstance(spec, dict):
        raise InputError(f"{path.name}: the file must be a mapping with the fields {', '.join(_FIELDS)}")
    return spec


def _problems(spec: Mapping[Any, Any]) -> Iterator[str]:
    for field in spec:
        if field not in _FIELDS:
            near = get_close_matches(str(field), _FIELDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(_FIELDS)}"
            yield f"unknown field {field}; {hint}"
    for field in _REQUIRED:
        if field not in spec:
            yield f"{field} is missing"
    for field in ("name", "storage", "catalog", "database", "schema"):
        if field in spec and (not isinstance(spec[field], str) or not spec[field]):
            yield f"{field}: must be a non-empty string, not {spec[field]!r}"
    if "database" in spec and "schema" in spec:
        yield "database and schema are two names for one thing; remove one of them"
    yield from _configuration_problems(spec.get("configuration"))
    yield from _library_problems(spec.get("libraries"))


def _configuration_problems(configuration: Any) -> Iterator[str]:
    if configuration is None:
        return
    if not isinstance(configuration, dict):
        example = "spark.sql.shuffle.partitions: '2'"
        yield f"configuration: {configuration!r} is not a mapping of settings, such as {example}"
        return
    for name, value in configuration.items():
        if not isinstance(value, str):
            text = str(value).lower() if isinstance(value, bool) else value
            yield f"configuration: {name}: {text} must be a string; write '{text}' in quotes"


def _library_problems(libraries: Any) -> Iterator[str]:
    if libraries is None:
        return
    if not isinstance(libraries, list):
        yield f"libraries: {libraries!r} is not valid; {_LIBRARIES_EXAMPLE}"
        return
    for entry in libraries:
        glob = entry.get("glob") if isinstance(entry, dict) else None
        include = glob.get("include") if isinstance(glob, dict) else None
        if not isinstance(include, str) or not include:
            yield f"libraries: {entry!r} is not valid; {_LIBRARIES_EXAMPLE}"
        elif any(char in include.removesuffix("/**") for char in "*?["):
            yield f"libraries: {include}: Spark accepts a file, or a directory followed by /**"


def _matching(directory: Path, glob: str) -> Sequence[Path]:
    pattern = f"{glob}/*" if glob.endswith("/**") else glob
    return sorted(path for path in directory.glob(pattern) if path.is_file() and "__pycache__" not in path.parts)


def unusable_files(project: Project) -> list[Path]:
    """Return the files that Spark refuses to read."""
    return [path for path in project.files() if path.suffix not in _SUFFIXES]


def path_problems(storage: str) -> Iterator[str]:
    """Yield problems with the path of a storage. Spark 4.2 writes it as a URI and takes that for a path again."""
    character = _NO_PATH.search(storage)
    if character is not None:
        path = storage.removeprefix("file://")
        yield f"storage: {path} contains {character[0]!r}, which Spark would misread; use a path such as /data/shop"


def _storage_uri(directory: Path, storage: str) -> str:
    parts = urlsplit(storage)
    if parts.scheme and len(parts.scheme) > 1:
        return storage
    # Not as_uri(): Hadoop takes the path as it stands, so that %20 would be no space.
    return f"file://{os.path.abspath(directory / storage)}"
