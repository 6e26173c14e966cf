"""`odradek pipeline init`: a project that runs as it stands."""

import re
import shlex
from difflib import get_close_matches
from pathlib import Path

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.output import print_json, print_table
from odradek.common.failures import InputError
from odradek.common.topic_names import name_problem
from odradek.spark.pipeline.project import path_problems
from odradek.spark.pipeline.templates.registry import DEFAULT_TEMPLATE, TEMPLATES
from odradek.spark.pipeline.templates.template import ProjectText, Template

_LIST = "list"
_PIPELINE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _complete_templates(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in (*TEMPLATES, _LIST) if name.startswith(incomplete)]


@click.command("init")
@click.argument("name", required=False)
@click.option(
    "--template",
    "template_name",
    metavar="TEMPLATE",
    default=DEFAULT_TEMPLATE,
    show_default=True,
    help=f"{', '.join(TEMPLATES)}; {_LIST} describes them.",
    shell_complete=_complete_templates,
)
@click.option("--topic", help="The topic to read [default: by the template].", shell_complete=complete_topics)
@network_options
@click.pass_obj
def init(settings: Settings, name: str | None, template_name: str, topic: str | None) -> None:
    """Make a project in directory NAME that runs as it stands, with sample events to try it.

    \b
    counts       JSON events of a topic into a table, counted by minute into a topic (default)
    join         two topics, joined by a key within a time limit
    deduplicate  each event once, however often it was sent
    cdc          changes of a database table (Debezium): their history, and the table as it is now
    delta        JSON events of a topic into a Delta table

    \b
    odradek pipeline init shop --topic orders -b localhost:9092
    odradek pipeline init copy --template cdc
    odradek pipeline init --template list
    """
    if template_name == _LIST:
        _show_templates(settings)
        return
    if name is None:
        raise click.UsageError("Missing argument 'NAME': the directory of the project.")
    template = _find_template(template_name)
    directory = Path(name)
    source_topic = template.default_topic if topic is None else topic
    project = template.project(directory.resolve().name, source_topic, settings.bootstrap_servers)
    _check(project, directory)
    files = project.files()
    for path, text in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    if settings.as_json:
        print_json(
            {
                "project": str(directory.resolve()),
                "template": template.name,
                "files": list(files),
                "topics": list(project.topics),
                "samples": project.samples,
            }
        )
        return
    echo(f"created {directory}: {', '.join(path for path in files if not path.startswith('.'))}")
    echo("next:")
    for command in _next_commands(project, directory, settings):
        echo(f"  {command}")


def _show_templates(settings: Settings) -> None:
    if settings.as_json:
        print_json([{"template": template.name, "summary": template.summary} for template in TEMPLATES.values()])
    else:
        print_table(
            ("template", "what it does"), [(template.name, template.summary) for template in TEMPLATES.values()]
        )


def _find_template(name: str) -> Template:
    if name not in TEMPLATES:
        close = get_close_matches(name, TEMPLATES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the templates are {', '.join(TEMPLATES)}"
        raise click.UsageError(f"--template: unknown template {name!r}; {hint}")
    return TEMPLATES[name]


def _next_commands(project: ProjectText, directory: Path, settings: Settings) -> list[str]:
    brokers = f" -b {settings.bootstrap}" if settings.bootstrap else ""
    quoted = shlex.quote(str(directory))
    result = project.result(quoted)
    return [
        *(f"odradek topics create {topic}{brokers}" for topic in project.topics),
        *(
            f"odradek produce {topic} {shlex.quote(str(directory / path))}{brokers}"
            for path, topic in project.samples.items()
        ),
        f"odradek pipeline check {quoted}",
        f"odradek pipeline run {quoted}",
        f"{result}{brokers}" if result.startswith("odradek ") else result,
    ]


def _check(project: ProjectText, directory: Path) -> None:
    if not _PIPELINE_NAME.fullmatch(project.name):
        raise InputError(
            f"{project.name!r} is not a valid pipeline name; use letters, digits, dots, dashes and underscores"
        )
    for problem in path_problems(str(directory.resolve())):
        raise InputError(f"{problem}; nothing was written")
    for topic in project.topics:
        name_error = name_problem(topic)
        if name_error is not None:
            raise InputError(f"invalid topic name: {name_error}; nothing was written")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"{directory} exists and is not empty; nothing was written")
