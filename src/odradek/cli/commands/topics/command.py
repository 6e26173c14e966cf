"""`odradek topics`: topics of a cluster.

odradek topics list
odradek topics create orders --partitions 6 --config retention.ms=86400000
odradek topics describe orders --format json
odradek topics alter orders --partitions 12
odradek topics delete orders --yes
odradek topics offsets orders
odradek topics delete-records orders --before 100
"""

from typing import TypeVar

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import report_rejected, unknown_topic_advice
from odradek.cli.base.output import plural, print_json, print_table
from odradek.cli.base.pairs import parse_pairs
from odradek.cli.commands.topics.records import delete_records_command, offsets_command
from odradek.cli.commands.topics.show import (
    PARTITION_FILTERS,
    DescribedTopic,
    describe_topics,
    description_document,
    print_descriptions,
    print_partitions,
    with_matching_partitions,
)
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.topics import CreatedTopic, NewTopic
from odradek.common.failures import InputError
from odradek.common.ids import uuid_to_text
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_Value = TypeVar("_Value")

_names = click.argument("names", metavar="TOPIC...", nargs=-1, required=True, shell_complete=complete_topics)


@click.group()
@local_options
def topics() -> None:
    """List, create, describe, alter and delete topics; show their offsets, delete their records."""


topics.add_command(offsets_command)
topics.add_command(delete_records_command)


@topics.command("list")
@click.option("--exclude-internal", is_flag=True, help="Leave out internal topics.")
@network_options
@click.pass_obj
def list_command(settings: Settings, exclude_internal: bool) -> None:
    """Show all topics."""
    listings = on_cluster(settings, lambda admin: admin.topics.list_all())
    listed = [topic for topic in listings if not (exclude_internal and topic.is_internal)]
    if settings.as_json:
        keys = ("name", "topic_id", "internal", "partitions", "replication_factor")
        values = [(t.name, uuid_to_text(t.topic_id), t.is_internal, t.partitions, t.replication_factor) for t in listed]
        print_json([dict(zip(keys, row, strict=True)) for row in values])
        return
    rows = [
        (t.name, t.partitions, t.replication_factor, "yes" if t.is_internal else "no", uuid_to_text(t.topic_id))
        for t in listed
    ]
    print_table(("topic", "partitions", "replicas", "internal", "topic id"), rows)


@topics.command("create")
@_names
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="[default: set by the cluster]")
@click.option("--replication-factor", type=click.IntRange(min=1), metavar="N", help="[default: set by the cluster]")
@click.option("--replica-assignment", metavar="ID:ID,…", help="Brokers of each partition, for example 1:2,2:3.")
@click.option("--config", "configs", multiple=True, metavar="KEY=VALUE", help="A setting of the topic.")
@click.option("--if-not-exists", is_flag=True, help="Accept topics that exist already.")
@click.option("--dry-run", is_flag=True, help="Validate the request without creating topics.")
@network_options
@click.pass_obj
def create_command(
    settings: Settings,
    names: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    replica_assignment: str | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    dry_run: bool,
) -> int:
    """Create topics."""
    if replica_assignment is not None and (partitions is not None or replication_factor is not None):
        raise click.UsageError(
            "--replica-assignment determines the numbers of partitions and replicas; leave those options out."
        )
    assignment = () if replica_assignment is None else _parse_assignment(replica_assignment)
    values = parse_pairs(configs, "--config")
    new_topics = [NewTopic(name, partitions, replication_factor, assignment, values) for name in dict.fromkeys(names)]
    outcomes = on_cluster(settings, lambda admin: admin.topics.create(new_topics, validate_only=dry_run))
    if if_not_exists:
        outcomes = _without_error(outcomes, ErrorCode.TOPIC_ALREADY_EXISTS)
    _show_created(settings, outcomes, dry_run=dry_run)
    return report_rejected(outcomes, "topic", _creation_advice)


@topics.command("describe")
@click.argument("names", metavar="[TOPIC]...", nargs=-1, shell_complete=complete_topics)
@click.option("--exclude-internal", is_flag=True, help="Leave out internal topics.")
@click.option(
    "--under-replicated", "filter_name", flag_value="under-replicated", help="Only under-replicated partitions."
)
@click.option("--unavailable", "filter_name", flag_value="unavailable", help="Only partitions without a leader.")
@click.option(
    "--under-min-isr", "filter_name", flag_value="under-min-isr", help="Only partitions below min.insync.replicas."
)
@click.option("--at-min-isr", "filter_name", flag_value="at-min-isr", help="Only partitions at min.insync.replicas.")
@network_options
@click.pass_obj
def describe_command(
    settings: Settings, names: tuple[str, ...], exclude_internal: bool, filter_name: str | None
) -> int:
    """Show the partitions and the non-default settings of topics, by default of all."""
    outcomes = on_cluster(
        settings,
        lambda admin: describe_topics(
            admin, names, exclude_internal=exclude_internal, with_reassignments=filter_name == "under-replicated"
        ),
    )
    described: list[DescribedTopic] = list(outcomes.succeeded().values())
    if filter_name is not None:
        described = [with_matching_partitions(topic, PARTITION_FILTERS[filter_name]) for topic in described]
        described = [topic for topic in described if topic.description.partitions]
    if settings.as_json:
        print_json([description_document(topic) for topic in described])
    elif filter_name is not None:
        print_partitions(described)
    else:
        print_descriptions(described)
    return report_rejected(outcomes, "topic", unknown_topic_advice)


@topics.command("alter")
@_names
@click.option(
    "--partitions", type=click.IntRange(min=1), required=True, metavar="N", help="New total number of partitions."
)
@click.option("--dry-run", is_flag=True, help="Validate the request without adding partitions.")
@network_options
@click.pass_obj
def alter_command(settings: Settings, names: tuple[str, ...], partitions: int, dry_run: bool) -> int:
    """Add partitions to topics, which changes the partitions of keys. For settings, see odradek configs alter."""
    counts = dict.fromkeys(names, partitions)
    outcomes = on_cluster(settings, lambda admin: admin.topics.create_partitions(counts, validate_only=dry_run))
    if settings.as_json:
        print_json([{"name": name, "partitions": partitions, "altered": not dry_run} for name in outcomes.succeeded()])
    else:
        for name in outcomes.succeeded():
            echo(f"Topic {name} {'would have' if dry_run else 'has'} {plural(partitions, 'partition')}.")
    return report_rejected(outcomes, "topic", unknown_topic_advice)


@topics.command("delete")
@_names
@click.option("--if-exists", is_flag=True, help="Accept topics that do not exist.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def delete_command(settings: Settings, names: tuple[str, ...], if_exists: bool, yes: bool) -> int:
    """Delete topics and all their records."""
    subject = f"Topic {names[0]} and its" if len(names) == 1 else f"The topics {', '.join(names)} and their"
    confirm(f"{subject} records will be deleted.", yes=yes)
    outcomes = on_cluster(settings, lambda admin: admin.topics.delete(list(dict.fromkeys(names))))
    if if_exists:
        outcomes = _without_error(outcomes, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if settings.as_json:
        print_json([{"name": name, "deleted": True} for name in outcomes.succeeded()])
    else:
        for name in outcomes.succeeded():
            echo(f"Deleted topic {name}.")
    return report_rejected(outcomes, "topic", unknown_topic_advice)


def _creation_advice(name: str, error: Refused) -> str | None:
    if error.code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return f"{error.message} Pass --if-not-exists to leave it as it is."
    return None


def _without_error(outcomes: Outcomes[str, _Value], code: ErrorCode) -> Outcomes[str, _Value]:
    return Outcomes(
        {
            name: outcome
            for name, outcome in outcomes.items()
            if not (isinstance(outcome, Refused) and outcome.code == code)
        }
    )


def _show_created(settings: Settings, outcomes: Outcomes[str, CreatedTopic], *, dry_run: bool) -> None:
    created = outcomes.succeeded()
    if settings.as_json:
        print_json(
            [
                {
                    "name": name,
                    "topic_id": uuid_to_text(topic.topic_id),
                    "partitions": topic.partitions,
                    "replication_factor": topic.replication_factor,
                    "created": not dry_run,
                }
                for name, topic in created.items()
            ]
        )
        return
    for name, topic in created.items():
        shape = ""
        if topic.partitions is not None and topic.replication_factor is not None:
            shape = f": {plural(topic.partitions, 'partition')}, {plural(topic.replication_factor, 'replica')} each"
        echo(f"{'Would create' if dry_run else 'Created'} topic {name}{shape}.")


def _parse_assignment(text: str) -> list[list[int]]:
    try:
        return [[int(broker_id) for broker_id in partition.split(":")] for partition in text.split(",")]
    except ValueError:
        raise InputError(
            f'--replica-assignment: "{text}" is not an assignment. Expected the ids of the brokers of each partition, '
            "for example 1:2,2:3 for two partitions with two replicas each."
        ) from None
