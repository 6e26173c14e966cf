"""`odradek pipeline init`: a project that runs as it stands."""

import re
import shlex
from pathlib import Path

import click

from odradek.cli.complete import complete_topics
from odradek.cli.errors import echo
from odradek.cli.options import Settings, network_options
from odradek.cli.output import print_json
from odradek.common.failures import InputError
from odradek.common.topic_names import name_problem
from odradek.spark.pipeline.project import path_problems
from odradek.spark.pipeline.template import Template

_DEFAULT_TOPIC = "events"
_RIGHT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@click.command("init")
@click.argument("name")
@click.option(
    "--topic",
    default=_DEFAULT_TOPIC,
    show_default=True,
    help="Whose JSON events it reads.",
    shell_complete=complete_topics,
)
@network_options
@click.pass_obj
def init(settings: Settings, name: str, topic: str) -> None:
    """Make a project in directory NAME: JSON events of a topic into a table, a topic of counts, and dead letters.

    \b
    odradek pipeline init shop --topic orders -b localhost:9092
    """
    directory = Path(name)
    template = Template(directory.resolve().name, topic, settings.bootstrap_servers)
    _check(template, directory)
    files = template.files()
    for path, text in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    if settings.as_json:
        print_json({"project": str(directory.resolve()), "files": list(files), "topics": list(template.topics)})
        return
    echo(f"made {directory}: {', '.join(path for path in files if not path.startswith('.'))}")
    echo("next:")
    brokers = f" -b {settings.bootstrap}" if settings.bootstrap else ""
    for each in template.topics:
        echo(f"  odradek topics create {each}{brokers}")
    place = shlex.quote(str(directory))
    echo(f"  odradek pipeline check {place}")
    echo(f"  odradek pipeline run {place}")


def _check(template: Template, directory: Path) -> None:
    if not _RIGHT_NAME.fullmatch(template.name):
        raise InputError(f"{template.name!r} is no name of a pipeline; right are letters, digits, dots, dashes")
    for misread in path_problems(str(directory.resolve())):
        raise InputError(f"{misread}; nothing was written")
    for topic in template.topics:
        problem = name_problem(topic)
        if problem is not None:
            raise InputError(f"no topic can be called so: {problem}; nothing was written")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"{directory} is there already, and not empty; nothing was written")
