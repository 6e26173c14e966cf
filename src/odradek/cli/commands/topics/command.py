"""`odradek topics`: the topics of a cluster.

odradek topics list
odradek topics create orders --partitions 6 --config retention.ms=86400000
odradek topics describe orders --format json
odradek topics alter orders --partitions 12
odradek topics delete orders --yes
odradek topics offsets orders
odradek topics delete-records orders --before 100
"""

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import accepted, status_of, unknown_topic
from odradek.cli.base.output import plural, print_json, print_table
from odradek.cli.base.pairs import parse_pairs
from odradek.cli.commands.topics.records import delete_records_command, offsets_command
from odradek.cli.commands.topics.show import (
    FILTERS,
    Described,
    describe_all,
    description_document,
    matching,
    print_descriptions,
    print_partitions,
)
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.topics import (
    CreatedTopic,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
    list_topics,
)
from odradek.common.failures import InputError
from odradek.common.ids import uuid_to_text
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_names = click.argument("names", metavar="TOPIC...", nargs=-1, required=True, shell_complete=complete_topics)


@click.group()
@local_options
def topics() -> None:
    """List, create, describe, alter and delete topics; show their offsets, delete their records."""


topics.add_command(offsets_command)
topics.add_command(delete_records_command)


@topics.command("list")
@click.option("--exclude-internal", is_flag=True, help="Without the topics that brokers keep for themselves.")
@network_options
@click.pass_obj
def list_command(settings: Settings, exclude_internal: bool) -> None:
    """Show all topics."""
    found = [topic for topic in on_cluster(settings, list_topics) if not (exclude_internal and topic.is_internal)]
    if settings.as_json:
        keys = ("name", "topic_id", "internal", "partitions", "replication_factor")
        values = [(t.name, uuid_to_text(t.topic_id), t.is_internal, t.partitions, t.replication_factor) for t in found]
        print_json([dict(zip(keys, row, strict=True)) for row in values])
        return
    rows = [
        (t.name, t.partitions, t.replication_factor, "yes" if t.is_internal else "no", uuid_to_text(t.topic_id))
        for t in found
    ]
    print_table(("topic", "partitions", "replicas", "internal", "topic id"), rows)


@topics.command("create")
@_names
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="[default: the cluster's]")
@click.option("--replication-factor", type=click.IntRange(min=1), metavar="N", help="[default: the cluster's]")
@click.option("--replica-assignment", metavar="ID:ID,…", help="The brokers of each partition, for example 1:2,2:3.")
@click.option("--config", "configs", multiple=True, metavar="KEY=VALUE", help="A setting of the topic.")
@click.option("--if-not-exists", is_flag=True, help="Let a topic be that is there already.")
@click.option("--dry-run", is_flag=True, help="Only say whether it could be done.")
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
        raise click.UsageError("--replica-assignment says how many partitions and replicas there are; leave those out.")
    assignment = () if replica_assignment is None else _parse_assignment(replica_assignment)
    values = parse_pairs(configs, "--config")
    new = [NewTopic(name, partitions, replication_factor, assignment, values) for name in dict.fromkeys(names)]
    outcomes = on_cluster(settings, lambda cluster: create_topics(cluster, new, validate_only=dry_run))
    if if_not_exists:
        outcomes = {name: each for name, each in outcomes.items() if not _is(each, ErrorCode.TOPIC_ALREADY_EXISTS)}
    _show_created(settings, outcomes, dry_run=dry_run)
    return status_of(outcomes, "topic", _creation_advice)


@topics.command("describe")
@click.argument("names", metavar="[TOPIC]...", nargs=-1, shell_complete=complete_topics)
@click.option("--exclude-internal", is_flag=True, help="Without the topics that brokers keep for themselves.")
@click.option("--under-replicated", "chosen", flag_value="under-replicated", help="Only partitions that lack replicas.")
@click.option("--unavailable", "chosen", flag_value="unavailable", help="Only partitions that nobody leads.")
@click.option("--under-min-isr", "chosen", flag_value="under-min-isr", help="Only those below min.insync.replicas.")
@click.option("--at-min-isr", "chosen", flag_value="at-min-isr", help="Only those at min.insync.replicas.")
@network_options
@click.pass_obj
def describe_command(settings: Settings, names: tuple[str, ...], exclude_internal: bool, chosen: str | None) -> int:
    """Show topics, all unless named: their partitions, and the settings that are not the default."""
    outcomes = on_cluster(
        settings, lambda cluster: describe_all(cluster, names, exclude_internal=exclude_internal, chosen=chosen)
    )
    found: list[Described] = list(accepted(outcomes).values())
    if chosen is not None:
        found = [matching(each, FILTERS[chosen]) for each in found]
        found = [each for each in found if each.topic.partitions]
    if settings.as_json:
        print_json([description_document(each) for each in found])
    elif chosen is not None:
        print_partitions(found)
    else:
        print_descriptions(found)
    return status_of(outcomes, "topic", unknown_topic)


@topics.command("alter")
@_names
@click.option("--partitions", type=click.IntRange(min=1), required=True, metavar="N", help="How many in the end.")
@click.option("--dry-run", is_flag=True, help="Only say whether it could be done.")
@network_options
@click.pass_obj
def alter_command(settings: Settings, names: tuple[str, ...], partitions: int, dry_run: bool) -> int:
    """Add partitions to topics. Keys go to other partitions from then on. Settings: odradek configs alter."""
    counts = dict.fromkeys(names, partitions)
    outcomes = on_cluster(settings, lambda cluster: create_partitions(cluster, counts, validate_only=dry_run))
    if settings.as_json:
        print_json([{"name": name, "partitions": partitions, "altered": not dry_run} for name in accepted(outcomes)])
    else:
        for name in accepted(outcomes):
            echo(f"Topic {name} {'could have' if dry_run else 'has'} {plural(partitions, 'partition')}.")
    return status_of(outcomes, "topic", unknown_topic)


@topics.command("delete")
@_names
@click.option("--if-exists", is_flag=True, help="A topic that is not there is no error.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def delete_command(settings: Settings, names: tuple[str, ...], if_exists: bool, yes: bool) -> int:
    """Delete topics and all their records."""
    what = f"Topic {names[0]} and its" if len(names) == 1 else f"The topics {', '.join(names)} and their"
    confirm(f"{what} records will be deleted.", yes=yes)
    outcomes = on_cluster(settings, lambda cluster: delete_topics(cluster, list(dict.fromkeys(names))))
    if if_exists:
        outcomes = {
            name: each for name, each in outcomes.items() if not _is(each, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        }
    if settings.as_json:
        print_json([{"name": name, "deleted": True} for name in accepted(outcomes)])
    else:
        for name in accepted(outcomes):
            echo(f"Deleted topic {name}.")
    return status_of(outcomes, "topic", unknown_topic)


def _creation_advice(name: str, error: Refused) -> str | None:
    if error.code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return f"{error.message} Pass --if-not-exists to leave it as it is."
    return None


def _is(outcome: object, code: ErrorCode) -> bool:
    return isinstance(outcome, Refused) and outcome.code == code


def _show_created(settings: Settings, outcomes: Outcomes[str, CreatedTopic], *, dry_run: bool) -> None:
    created = accepted(outcomes)
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
        echo(f"{'Could create' if dry_run else 'Created'} topic {name}{shape}.")


def _parse_assignment(text: str) -> list[list[int]]:
    try:
        return [[int(broker_id) for broker_id in partition.split(":")] for partition in text.split(",")]
    except ValueError:
        raise InputError(
            f'--replica-assignment: "{text}" is none. Right would be the ids of the brokers of each partition, '
            "for example 1:2,2:3 for two partitions on two brokers each."
        ) from None
