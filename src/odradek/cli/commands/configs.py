"""`odradek configs`: settings of topics, brokers and groups, and levels of brokers' loggers.

odradek configs describe --topic orders
odradek configs describe --broker 1 --all
odradek configs alter --topic orders --set retention.ms=86400000 --delete cleanup.policy
odradek configs alter --broker-defaults --set log.cleaner.threads=2
odradek configs alter --broker-logger 1 --set odradek.replica=DEBUG
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import report_rejected
from odradek.cli.base.output import print_json, print_table
from odradek.cli.base.pairs import parse_pairs
from odradek.client.admin.configs import ConfigChange, ConfigEntry, ConfigResource
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.errors import Refused
from odradek.protocol.config_types import ConfigOp, ConfigResourceType, ConfigSource
from odradek.protocol.error_codes import ErrorCode

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: Sources of values that were set dynamically; other values come from a node's file or are the default.
_DYNAMIC = (
    ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
    ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    ConfigSource.DYNAMIC_GROUP_CONFIG,
)

_BROKER_DEFAULTS = ConfigResource(ConfigResourceType.BROKER, "")


def _resource_options(command: _Command) -> _Command:
    command = click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group; may be repeated.")(
        command
    )
    command = click.option(
        "--broker-logger",
        "loggers",
        multiple=True,
        type=click.IntRange(min=0),
        metavar="ID",
        help="Levels of a broker's loggers, until it restarts; may be repeated.",
    )(command)
    command = click.option("--broker-defaults", is_flag=True, help="Dynamic defaults of all brokers.")(command)
    command = click.option(
        "--broker",
        "brokers",
        multiple=True,
        type=click.IntRange(min=0),
        metavar="ID",
        help="A broker; may be repeated.",
    )(command)
    return click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="A topic; may be repeated.")(command)


@click.group()
@local_options
def configs() -> None:
    """Show and change the settings of topics, brokers and groups."""


@configs.command("describe")
@_resource_options
@click.option("--all", "everything", is_flag=True, help="Include defaults, and settings of a node's file.")
@network_options
@click.pass_obj
def describe_command(settings: Settings, /, everything: bool, **named: Any) -> int:
    """Show dynamic settings: of the named resources, or of all topics, all brokers and the broker defaults."""

    async def work(admin: AdminOperations) -> Outcomes[ConfigResource, Mapping[str, ConfigEntry]]:
        return await admin.configs.describe(_resources(**named) or await _all_resources(admin))

    outcomes = on_cluster(settings, work)
    selected = {
        resource: [entry for entry in entries.values() if everything or entry.source in _DYNAMIC]
        for resource, entries in outcomes.succeeded().items()
    }
    if settings.as_json:
        print_json([_document(resource, entries) for resource, entries in selected.items()])
    else:
        rows = [(label(resource), *_row(entry)) for resource, entries in selected.items() for entry in entries]
        print_table(("of", "setting", "value", "from"), rows)
    return _report_rejected(outcomes)


@configs.command("alter")
@_resource_options
@click.option("--set", "set_", multiple=True, metavar="KEY=VALUE", help="Set a value.")
@click.option("--delete", multiple=True, metavar="KEY", help="Remove the value, so that the default applies.")
@click.option("--append", multiple=True, metavar="KEY=VALUE", help="Add to a list.")
@click.option("--subtract", multiple=True, metavar="KEY=VALUE", help="Remove from a list.")
@click.option("--dry-run", is_flag=True, help="Validate the changes without making them.")
@network_options
@click.pass_obj
def alter_command(
    settings: Settings,
    /,
    set_: tuple[str, ...],
    delete: tuple[str, ...],
    append: tuple[str, ...],
    subtract: tuple[str, ...],
    dry_run: bool,
    **named: Any,
) -> int:
    """Change settings. If one of the changes of a resource is invalid, none of them is made."""
    resources = _resources(**named)
    changes = [
        *_changes(set_, "--set", ConfigOp.SET),
        *(ConfigChange(key, ConfigOp.DELETE) for key in delete),
        *_changes(append, "--append", ConfigOp.APPEND),
        *_changes(subtract, "--subtract", ConfigOp.SUBTRACT),
    ]
    if not resources:
        raise click.UsageError(
            "Missing resource: pass --topic, --broker, --broker-defaults, --broker-logger or --group."
        )
    if not changes:
        raise click.UsageError("Missing change: pass --set, --delete, --append or --subtract.")
    outcomes = on_cluster(
        settings, lambda admin: admin.configs.alter(dict.fromkeys(resources, changes), validate_only=dry_run)
    )
    if settings.as_json:
        print_json([{**_resource_document(resource), "altered": not dry_run} for resource in outcomes.succeeded()])
    else:
        for resource in outcomes.succeeded():
            echo(f"{'Would change' if dry_run else 'Changed'} {label(resource)}.")
    return _report_rejected(outcomes)


def label(resource: ConfigResource) -> str:
    if resource == _BROKER_DEFAULTS:
        return "broker defaults"
    return f"{resource.type.name.lower().replace('_', ' ')} {resource.name}"


def _resources(
    topics: Sequence[str] = (),
    brokers: Sequence[int] = (),
    broker_defaults: bool = False,
    loggers: Sequence[int] = (),
    groups: Sequence[str] = (),
) -> list[ConfigResource]:
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics]
    resources += [ConfigResource(ConfigResourceType.BROKER, str(broker_id)) for broker_id in brokers]
    resources += [_BROKER_DEFAULTS] * broker_defaults
    resources += [ConfigResource(ConfigResourceType.BROKER_LOGGER, str(broker_id)) for broker_id in loggers]
    resources += [ConfigResource(ConfigResourceType.GROUP, name) for name in groups]
    return list(dict.fromkeys(resources))


async def _all_resources(admin: AdminOperations) -> list[ConfigResource]:
    names = [topic.name for topic in await admin.topics.list_all()]
    ids = sorted(await admin.cluster.node_addresses())
    return _resources(names, ids, broker_defaults=True)


def _changes(texts: Sequence[str], option: str, operation: ConfigOp) -> list[ConfigChange]:
    return [ConfigChange(key, operation, value) for key, value in parse_pairs(texts, option).items()]


def _report_rejected(outcomes: Outcomes[ConfigResource, Any]) -> int:
    labelled = Outcomes({label(resource): outcome for resource, outcome in outcomes.items()})
    return report_rejected(labelled, "settings of", _unknown_topic_advice)


def _unknown_topic_advice(key: str, error: Refused) -> str | None:
    if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return "the topic does not exist; odradek topics list shows all topics"
    return None


def _resource_document(resource: ConfigResource) -> dict[str, str]:
    return {"type": resource.type.name.lower(), "name": resource.name}


def _document(resource: ConfigResource, entries: Sequence[ConfigEntry]) -> dict[str, Any]:
    return {
        **_resource_document(resource),
        "configs": [
            {
                "name": entry.name,
                "value": entry.value,
                "source": entry.source.name,
                "read_only": entry.is_read_only,
                "sensitive": entry.is_sensitive,
                "synonyms": [
                    {"name": synonym.name, "value": synonym.value, "source": synonym.source.name}
                    for synonym in entry.synonyms
                ],
            }
            for entry in entries
        ],
    }


#: Names of the sources in the table.
_SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "broker defaults",
    ConfigSource.STATIC_BROKER_CONFIG: "file",
    ConfigSource.DEFAULT_CONFIG: "default",
    ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG: "logger",
    ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG: "client metrics",
    ConfigSource.DYNAMIC_GROUP_CONFIG: "group",
}


def _row(entry: ConfigEntry) -> tuple[str, str, str]:
    value = "(secret)" if entry.is_sensitive else "" if entry.value is None else entry.value
    return entry.name, value, _SOURCES.get(entry.source, "unknown")
