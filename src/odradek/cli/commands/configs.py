"""`odradek configs`: the settings of topics, brokers and groups, and the levels of brokers' loggers.

odradek configs describe --topic orders
odradek configs describe --broker 1 --all
odradek configs alter --topic orders --set retention.ms=86400000 --delete cleanup.policy
odradek configs alter --broker-defaults --set log.cleaner.threads=2
odradek configs alter --broker-logger 1 --set odradek.replica=DEBUG
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import accepted, status_of
from odradek.cli.base.output import print_json, print_table
from odradek.cli.base.pairs import parse_pairs
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.configs import ConfigChange, ConfigEntry, ConfigResource, alter_configs, describe_configs
from odradek.client.admin.topics import list_topics
from odradek.errors import Refused
from odradek.protocol.config_kinds import ConfigOp, ConfigResourceType, ConfigSource
from odradek.protocol.error_codes import ErrorCode

_Command = TypeVar("_Command", bound=Callable[..., Any])

#: Values that somebody has set while the cluster ran; the others come from a node's file or are the default.
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
        help="The levels of a broker's loggers, until it restarts; may be repeated.",
    )(command)
    defaults = "What holds for all brokers that say nothing else."
    command = click.option("--broker-defaults", is_flag=True, help=defaults)(command)
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
@click.option("--all", "everything", is_flag=True, help="Also defaults, and what stands in a node's file.")
@network_options
@click.pass_obj
def describe_command(settings: Settings, /, everything: bool, **named: Any) -> int:
    """Show settings. Without a name: those of all topics, all brokers and the brokers' defaults."""

    async def ask(cluster: ClusterRouter) -> Any:
        return await describe_configs(cluster, _resources(**named) or await _all_resources(cluster))

    outcomes = on_cluster(settings, ask)
    found = {
        resource: [entry for entry in entries.values() if everything or entry.source in _DYNAMIC]
        for resource, entries in accepted(outcomes).items()
    }
    if settings.as_json:
        print_json([_document(resource, entries) for resource, entries in found.items()])
    else:
        rows = [(label(resource), *_row(entry)) for resource, entries in found.items() for entry in entries]
        print_table(("of", "setting", "value", "from"), rows)
    return status_of(_labelled(outcomes), "settings of", _advice)


@configs.command("alter")
@_resource_options
@click.option("--set", "set_", multiple=True, metavar="KEY=VALUE", help="A new value.")
@click.option("--delete", multiple=True, metavar="KEY", help="Back to the default.")
@click.option("--append", multiple=True, metavar="KEY=VALUE", help="Add to a list.")
@click.option("--subtract", multiple=True, metavar="KEY=VALUE", help="Take out of a list.")
@click.option("--dry-run", is_flag=True, help="Only say whether it could be done.")
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
    """Change settings: all of those that are named, or, if one of them cannot be, none."""
    resources = _resources(**named)
    changes = [
        *_changes(set_, "--set", ConfigOp.SET),
        *(ConfigChange(key, ConfigOp.DELETE) for key in delete),
        *_changes(append, "--append", ConfigOp.APPEND),
        *_changes(subtract, "--subtract", ConfigOp.SUBTRACT),
    ]
    if not resources:
        raise click.UsageError("Whose? Name a --topic, a --broker, --broker-defaults, a --broker-logger or a --group.")
    if not changes:
        raise click.UsageError("What? Name at least one --set, --delete, --append or --subtract.")
    outcomes = on_cluster(
        settings, lambda cluster: alter_configs(cluster, dict.fromkeys(resources, changes), validate_only=dry_run)
    )
    if settings.as_json:
        print_json([{**_named(resource), "altered": not dry_run} for resource in accepted(outcomes)])
    else:
        for resource in accepted(outcomes):
            echo(f"{'Could change' if dry_run else 'Changed'} {label(resource)}.")
    return status_of(_labelled(outcomes), "settings of", _advice)


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
    named = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics]
    named += [ConfigResource(ConfigResourceType.BROKER, str(broker_id)) for broker_id in brokers]
    named += [_BROKER_DEFAULTS] * broker_defaults
    named += [ConfigResource(ConfigResourceType.BROKER_LOGGER, str(broker_id)) for broker_id in loggers]
    named += [ConfigResource(ConfigResourceType.GROUP, name) for name in groups]
    return list(dict.fromkeys(named))


async def _all_resources(cluster: ClusterRouter) -> list[ConfigResource]:
    names = [topic.name for topic in await list_topics(cluster)]
    ids = sorted((await cluster.describe()).nodes)
    return _resources(names, ids, broker_defaults=True)


def _changes(texts: Sequence[str], option: str, operation: ConfigOp) -> list[ConfigChange]:
    return [ConfigChange(key, operation, value) for key, value in parse_pairs(texts, option).items()]


def _labelled(outcomes: Any) -> dict[str, Any]:
    return {label(resource): outcome for resource, outcome in outcomes.items()}


def _advice(key: str, error: Refused) -> str | None:
    if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return "there is none; odradek topics list shows the topics there are"
    return None


def _named(resource: ConfigResource) -> dict[str, str]:
    return {"type": resource.type.name.lower(), "name": resource.name}


def _document(resource: ConfigResource, entries: Sequence[ConfigEntry]) -> dict[str, Any]:
    return {
        **_named(resource),
        "configs": [
            {
                "name": entry.name,
                "value": entry.value,
                "source": entry.source.name,
                "read_only": entry.is_read_only,
                "sensitive": entry.is_sensitive,
                "synonyms": [
                    {"name": each.name, "value": each.value, "source": each.source.name} for each in entry.synonyms
                ],
            }
            for entry in entries
        ],
    }


#: What people call the sources.
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
