"""The definitions of a project, read without running them: what they read and write, and what is wrong with them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from odradek.spark.pipeline.modules import missing_modules
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.uses import DefinitionUses, Kind, Use, python_uses, sql_uses


@dataclass(frozen=True, slots=True)
class Definitions:
    """Definitions of one file. `problem` says why it could not be read, `line` where."""

    path: Path
    contents: DefinitionUses
    problem: str | None = None
    line: int | None = None
    #: Lines that name what is not installed, with what is said of it.
    missing: tuple[tuple[int, str], ...] = ()


def read_definitions(project: Project) -> list[Definitions]:
    return [_read(path, project) for path in project.files() if path.suffix in (".py", ".sql")]


def _read(path: Path, project: Project) -> Definitions:
    try:
        text = path.read_text()
        if path.suffix == ".sql":
            return Definitions(path, sql_uses(text))
        uses = python_uses(text, project.configuration)
        return Definitions(path, uses, missing=tuple(missing_modules(text, project.directory)))
    except SyntaxError as error:
        return Definitions(path, DefinitionUses(), f"invalid Python: {error.msg}", error.lineno)
    except OSError as error:
        return Definitions(path, DefinitionUses(), f"cannot be read: {error.strerror}")
    except (UnicodeDecodeError, ValueError):
        return Definitions(path, DefinitionUses(), "the file is not UTF-8 text")


def uses_of(definitions: list[Definitions]) -> list[Use]:
    return [use for file in definitions for use in file.contents.uses]


def dead_letter_uses(definitions: list[Definitions]) -> Iterator[Use]:
    """Sinks that rejected rows go to, or whose topic is called so."""
    rejecting = {name for file in definitions for name in file.contents.dead_letter_sinks}
    for use in uses_of(definitions):
        topic = use.options.get("topic", "")
        if use.kind is Kind.SINK and topic and (use.name in rejecting or topic.endswith((".dead", "-dead", "_dead"))):
            yield use
