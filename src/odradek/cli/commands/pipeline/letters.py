"""Parts that the commands for dead letters share: options, the topics of the project, selection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from odradek.cli.base.errors import wrong_usage
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.pairs import parse_pairs
from odradek.common.files import OsFileSystem
from odradek.common.properties import read_properties
from odradek.spark.pipeline.dead_letters.replay import Selection
from odradek.spark.pipeline.dead_letters.topics import LetterTopics, find_letter_topics, group_of
from odradek.spark.pipeline.project import Project, read_project

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ProjectLetters:
    """The dead letters of a project."""

    project: Project
    topics: Sequence[LetterTopics]

    @property
    def group(self) -> str:
        return group_of(self.project)

    @property
    def topic_names(self) -> list[str]:
        return [topic for cluster in self.topics for topic in cluster.topics]


def letter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add PROJECT, --topic, --conf and the options of all commands that talk to a cluster.

    The command is called with the settings, the letters of the project, and its own options."""

    @wraps(command)
    def run(
        settings: Settings, project: str | None, topics: tuple[str, ...], conf: tuple[str, ...], **options: Any
    ) -> Any:
        return command(settings, find_letters(settings, project, topics, conf), **options)

    untyped: Callable[..., Any] = run
    return _with_letter_options(click.pass_obj(untyped))


def _with_letter_options(command: _Command) -> _Command:
    conf = "A setting of Spark that the definitions read; may be repeated."
    command = click.option("--conf", "conf", multiple=True, metavar="NAME=VALUE", help=conf)(command)
    topic = "Only this dead-letter topic; may be repeated [default: all that the project writes]."
    command = click.option("--topic", "topics", multiple=True, metavar="TOPIC", help=topic)(command)
    return click.argument("project", required=False, type=click.Path())(network_options(command))


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --reason and --source; the command gets them as `selection`."""

    @wraps(command)
    def run(*arguments: Any, reasons: tuple[str, ...], sources: tuple[str, ...], **options: Any) -> Any:
        return command(*arguments, selection=Selection(reasons, sources), **options)

    return _with_selection_options(run)


def _with_selection_options(command: _Command) -> _Command:
    source = "Only letters that came from this topic; may be repeated."
    command = click.option("--source", "sources", multiple=True, metavar="TOPIC", help=source)(command)
    reason = "Only letters with this reason: undecodable, rejected, failed, time-limit; may be repeated."
    return click.option("--reason", "reasons", multiple=True, metavar="REASON", help=reason)(command)


def find_letters(settings: Settings, project: str | None, topics: Sequence[str], conf: Sequence[str]) -> ProjectLetters:
    with wrong_usage():
        spark_settings = parse_pairs(conf, "--conf", "spark.shop.bootstrap=localhost:9092")
    if settings.bootstrap_controller is not None:
        raise click.UsageError("Controllers have no records: --bootstrap names a broker.")
    overrides: dict[str, str] = {}
    if settings.command_config is not None:
        overrides |= read_properties(OsFileSystem(), settings.command_config).values
    if settings.bootstrap is not None:
        overrides["bootstrap.servers"] = settings.bootstrap
    pipeline = read_project(project).with_settings(spark_settings)
    return ProjectLetters(pipeline, find_letter_topics(pipeline, topics, overrides))
