"""Checks of a project before Spark starts; `check` shows the problems, and `run` makes the same checks first.

The spec and the syntax of the definitions; options of sources and sinks as far as they are seen in the text (`uses`);
topics and brokers, by asking the cluster; files with schemas; Java; packages for formats of tables. What needs Spark,
columns and types above all, is found by a dry run.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from odradek.client.settings.settings import consumer_settings
from odradek.common.failures import ApiError, InputError
from odradek.common.ids import TopicPartition
from odradek.errors import Unreachable
from odradek.spark.installed_spark import pipelines_problem
from odradek.spark.pipeline.definitions import Definitions, read_definitions
from odradek.spark.pipeline.live.checks import configuration_problem, definition_problems, unsupported
from odradek.spark.pipeline.project import Project, read_project, unusable_files
from odradek.spark.pipeline.schemas import schema_problem
from odradek.spark.pipeline.state import move_problem
from odradek.spark.pipeline.table_formats import auto_cdc_problem, default_format, format_problems, naming_problem
from odradek.spark.pipeline.topics import Cluster
from odradek.spark.pipeline.uses import Kind, Use
from odradek.spark.sink.options import sink_options
from odradek.spark.source.offset_limits import At, Since
from odradek.spark.source.offset_resolver import mismatch
from odradek.spark.source.options import (
    Assign,
    SourceOptions,
    Subscribe,
    SubscribePattern,
    batch_options,
    stream_options,
)

ERROR, WARNING = "error", "warning"

_BOOTSTRAP = "kafka.bootstrap.servers"

#: The oldest Java that Spark 4 runs with.
_JAVA_MIN = 17
_JAVA_TIMEOUT_S = 30

#: Beside the options that a job gives, Spark gives these to every sink of a pipeline.
_GIVEN_TO_SINKS = {"checkpointLocation": "given by Spark"}


#: Values that are right, for options whose values are not numbers.
_PLAUSIBLE = {
    "kafka.bootstrap.servers": "localhost:9092",
    "subscribe": "unseen",
    "subscribepattern": ".*",
    "assign": '{"unseen": [0]}',
    "topic": "unseen",
    "startingoffsets": "earliest",
    "startingoffsetsbytimestamp": '{"unseen": {"0": 1}}',
    "startingoffsetsbytimestampstrategy": "error",
    "endingoffsets": "latest",
    "endingoffsetsbytimestamp": '{"unseen": {"0": 1}}',
    "includeheaders": "true",
    "failondataloss": "true",
    "delivery": "idempotent",
}


@dataclass(frozen=True, slots=True)
class Problem:
    message: str
    #: Relative to the project; None for what is in no file.
    file: str | None = None
    line: int | None = None
    severity: str = ERROR

    def __str__(self) -> str:
        location = "" if self.file is None else f"{self.file}{'' if self.line is None else f':{self.line}'}: "
        return f"{location}{self.message}"


@dataclass(frozen=True, slots=True)
class Checked:
    project: Project | None
    problems: tuple[Problem, ...]

    @property
    def is_good(self) -> bool:
        return not any(problem.severity == ERROR for problem in self.problems)


def check_project(
    path: str | None,
    *,
    settings: Mapping[str, str] | None = None,
    asks_cluster: bool = True,
    needs_java: bool = True,
    is_remote: bool = False,
    unreachable: str = ERROR,
) -> Checked:
    """Raises InputError where there is no project at all.

    `settings` of Spark take precedence over those of the spec. `is_remote`: a Spark Connect server runs the pipeline,
    and has Java and the packages. `unreachable`: how severe it is that no broker answers."""
    try:
        project = read_project(path).with_settings(settings or {})
    except InputError as error:
        lines = str(error).splitlines()
        if not all(line.startswith("spark-pipeline.y") for line in lines):
            raise
        return Checked(None, tuple(_spec_problem(line) for line in lines))
    definitions = read_definitions(project)
    problems = [*_file_problems(project, definitions), *_use_problems(project, definitions)]
    problems += table_problems(project, definitions, has_packages=is_remote)
    problems += _live_problems(project, definitions)
    if needs_java and not is_remote:  # where Spark runs on this machine, and with it the catalog of tables
        problems += java_problems()
        problems += map(Problem, filter(None, [move_problem(project)]))
    if asks_cluster:
        problems += _topic_problems(project, definitions, unreachable)
    return Checked(project, tuple(problems))


def _spec_problem(line: str) -> Problem:
    file, _, message = line.partition(": ")
    name, _, number = file.partition(":")
    return Problem(message, name, int(number) if number.isdecimal() else None)


# Live mode


def _live_problems(project: Project, definitions: list[Definitions]) -> Iterator[Problem]:
    configured = configuration_problem(project.configuration)
    if configured is not None:
        yield Problem(f"configuration: {configured}", project.spec_path.name)
    for file in definitions:
        if file.problem is None:
            auto_cdc = (unsupported("an AUTO CDC flow", line) for line in file.contents.auto_cdc)
            for problem in (*definition_problems(file.path.read_text(), is_sql=file.path.suffix == ".sql"), *auto_cdc):
                severity = WARNING if problem.is_warning else ERROR
                yield Problem(problem.message, _relative(project, file.path), problem.line, severity)


# Files


def _file_problems(project: Project, definitions: list[Definitions]) -> Iterator[Problem]:
    for glob in project.libraries:
        if not any(True for _ in _files_of(project, glob)):
            yield Problem(f"libraries: no file matches {glob}", project.spec_path.name)
    if not project.libraries:
        yield Problem("libraries is empty; list the definitions, for example transformations/**", "spark-pipeline.yml")
    for path in unusable_files(project):
        yield Problem("Spark reads only .py and .sql files as definitions", _relative(project, path))
    for file in definitions:
        if file.problem is not None:
            yield Problem(file.problem, _relative(project, file.path), file.line)
        yield from (Problem(missing, _relative(project, file.path), line) for line, missing in file.missing)
        for use in file.contents.schemas:
            message = schema_problem(use, project.directory)
            if message is not None:
                yield Problem(message, _relative(project, file.path), use.line)


def _files_of(project: Project, glob: str) -> Iterator[Path]:
    prefix = project.directory / glob.removesuffix("/**")
    return (path for path in project.files() if path == prefix or prefix in path.parents)


def _relative(project: Project, path: Path) -> str:
    return str(path.relative_to(project.directory))


# Options


def _use_problems(project: Project, definitions: list[Definitions]) -> Iterator[Problem]:
    for file, use in _uses(project, definitions):
        try:
            parse_use(use)
        except InputError as error:
            if use.is_seen or not _is_missing(str(error)):
                yield Problem(str(error), file, use.line)
    yield from _twice(project, definitions, "sinkId", "two sinks with one sinkId fence each other")
    yield from _twice(project, definitions, "lagGroup", "two flows with one lagGroup overwrite each other's offsets")


def parse_use(use: Use) -> object:
    """The options of a source or a sink. Raises InputError. Those whose values are not seen are given plausible ones:
    their names at least can be checked."""
    plausible = {name: _PLAUSIBLE.get(name.lower(), "1") for name in use.unseen}
    if use.kind is Kind.SINK:
        return sink_options({**_GIVEN_TO_SINKS, **plausible, **use.options})
    options = _source_options(use, plausible)
    consumer_settings(options.settings)
    return options


def _source_options(use: Use, plausible: Mapping[str, str] | None = None) -> SourceOptions:
    parse = stream_options if use.kind is Kind.STREAM else batch_options
    return parse({**(plausible or {}), **use.options})


def _is_missing(message: str) -> bool:
    """Return whether a message is about an option that may be set where it is not seen."""
    return "is missing" in message or "no topics are named" in message or "requires a sinkId" in message


def _twice(project: Project, definitions: list[Definitions], option: str, why: str) -> Iterator[Problem]:
    counts = Counter(_option(use, option) for _, use in _uses(project, definitions))
    for file, use in _uses(project, definitions):
        value = _option(use, option)
        if value is not None and counts[value] > 1:
            yield Problem(f"{option} {value} is used {counts[value]} times: {why}", file, use.line, WARNING)


def _option(use: Use, name: str) -> str | None:
    return next((value for key, value in use.options.items() if key.lower() == name.lower()), None)


def _uses(project: Project, definitions: list[Definitions]) -> Iterator[tuple[str, Use]]:
    for file in definitions:
        for use in file.contents.uses:
            yield _relative(project, file.path), use


# Formats of tables, Java


def table_problems(
    project: Project, definitions: list[Definitions], *, has_packages: bool = False
) -> Iterator[Problem]:
    """Problems of a table format are reported where it is named first. `has_packages`: those of the formats need not be
    looked for."""
    locations: dict[str, tuple[str, int | None]] = {default_format(project): (project.spec_path.name, None)}
    for definition in definitions:
        file = _relative(project, definition.path)
        for name, line in definition.contents.table_formats.items():
            locations.setdefault(name, (file, line))
            message = naming_problem(name)
            if message is not None:
                yield Problem(message, file, line)
    named = {name for definition in definitions for name in definition.contents.table_formats}
    auto_cdc = auto_cdc_problem(project, named)
    if auto_cdc is not None:
        lines = (
            (_relative(project, definition.path), line)
            for definition in definitions
            for line in definition.contents.auto_cdc
        )
        yield from (Problem(auto_cdc, file, line) for file, line in lines)
    if not has_packages:
        for name, location in locations.items():
            yield from (Problem(message, *location) for message in format_problems(name, project))


def java_problems() -> Iterator[Problem]:
    """Yield what is wrong with the Spark and the Java of this machine."""
    without_pipelines = pipelines_problem()
    if without_pipelines is not None:
        yield Problem(without_pipelines)
    java = _java()
    if java is None:
        yield Problem(f"no Java in JAVA_HOME or PATH; Spark requires Java {_JAVA_MIN} or later")
        return
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=False)
    version = re.search(r'version "(?:1\.)?(\d+)', printed.stderr)
    if version is None:
        yield Problem(f"cannot read the version of {java}; Spark requires Java {_JAVA_MIN} or later")
    elif int(version[1]) < _JAVA_MIN:
        yield Problem(f"{java} is Java {version[1]}; Spark requires Java {_JAVA_MIN} or later; set JAVA_HOME to one")


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")


# Topics


def _topic_problems(project: Project, definitions: list[Definitions], unreachable: str) -> Iterator[Problem]:
    by_cluster: dict[str, list[tuple[str, Use]]] = {}
    for file, use in _uses(project, definitions):
        bootstrap = _option(use, _BOOTSTRAP)
        if bootstrap is not None:
            by_cluster.setdefault(bootstrap, []).append((file, use))
    for bootstrap, uses in by_cluster.items():
        yield from _cluster_problems(bootstrap, uses, unreachable)


def _cluster_problems(bootstrap: str, uses: list[tuple[str, Use]], unreachable: str) -> Iterator[Problem]:
    """Yield problems with topics; one request lists all topics of a cluster, whatever its clients' other settings."""
    file, first = uses[0]
    try:
        cluster = Cluster({"bootstrap.servers": bootstrap})
    except InputError:
        return  # a problem of the options, which was found already
    try:
        topics = cluster.topics()
        for file, use in uses:
            for severity, message in missing_topics(use, topics):
                yield Problem(message, file, use.line, severity)
    except ApiError as error:
        severity = unreachable if isinstance(error, Unreachable) else ERROR
        yield Problem(f"{cluster.bootstrap}: {error.message}", file, first.line, severity)
    finally:
        cluster.close()


def missing_topics(use: Use, there: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, str]]:
    """Yield severity and message: a topic that is written to may be created by the cluster."""
    if use.kind is Kind.SINK:
        topic = _option(use, "topic")
        if topic is not None and topic not in there:
            yield WARNING, f"topic {topic} does not exist yet; create it with: odradek topics create {topic}"
        return
    try:
        options = _source_options(use)
    except InputError:
        return
    choice = options.selection
    if isinstance(choice, SubscribePattern):
        if not any(re.search(choice.pattern, topic) for topic in there):
            yield WARNING, f"no topic matches subscribePattern {choice.pattern}"
        return
    missing = list(_missing(choice, there))
    yield from missing
    if not missing:
        # A stream that has a checkpoint does not look at its limits.
        severity = WARNING if use.kind is Kind.STREAM else ERROR
        yield from ((severity, message) for message in _beside(options, choice, there))


def _missing(choice: Subscribe | Assign, there: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, str]]:
    topics = (
        choice.topics if isinstance(choice, Subscribe) else tuple({partition.topic for partition in choice.partitions})
    )
    for topic in topics:
        if topic not in there:
            near = get_close_matches(topic, there, n=1)
            hint = f"did you mean {near[0]}?" if near else f"create it with: odradek topics create {topic}"
            yield ERROR, f"topic {topic} does not exist; {hint}"
    if isinstance(choice, Assign):
        for partition in choice.partitions:
            if partition.topic in there and partition.partition not in there[partition.topic]:
                yield (
                    ERROR,
                    f"{partition.topic} has no partition {partition.partition}; it has {len(there[partition.topic])}",
                )


def _beside(options: SourceOptions, choice: Subscribe | Assign, there: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """Offsets and timestamps that are said of other partitions than those that are read."""
    read = (
        choice.partitions
        if isinstance(choice, Assign)
        else [TopicPartition(topic, index) for topic in choice.topics for index in there[topic]]
    )
    for name, limit in (("startingOffsets", options.starting), ("endingOffsets", options.ending)):
        problem = None
        if isinstance(limit, At):
            problem = mismatch(name, limit.offsets, read)
        elif isinstance(limit, Since):
            problem = mismatch(f"{name}ByTimestamp", limit.timestamps_ms, read)
        if problem is not None:
            yield problem
