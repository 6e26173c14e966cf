"""`odradek groups`: consumer groups, their members and their offsets.

odradek groups list
odradek groups describe billing
odradek groups describe billing --members
odradek groups reset-offsets billing --topic orders --to earliest
odradek groups delete-offsets billing orders --yes
odradek groups delete billing --yes
"""

import click

from odradek.cli.base.complete import complete_groups
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import report_rejected, unknown_topic_advice
from odradek.cli.base.output import plural, print_json, print_table
from odradek.cli.base.partitions import find_partitions
from odradek.cli.commands.groups.reset import HAS_MEMBERS, reset_command
from odradek.cli.commands.groups.show import (
    GroupLag,
    describe_groups,
    description_document,
    member_document,
    print_lags,
    print_members,
    print_states,
)
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.client.types import TopicPartition
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_TYPES = ("classic", "consumer", "share", "streams")
_STATES = (
    "Assigning",
    "CompletingRebalance",
    "Dead",
    "Empty",
    "NotReady",
    "PreparingRebalance",
    "Reconciling",
    "Stable",
)


@click.group()
@local_options
def groups() -> None:
    """List and describe consumer groups, with their lag; reset offsets; delete groups."""


groups.add_command(reset_command)


@groups.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    metavar="STATE",
    help="Only groups in this state: Stable, Empty, … May be repeated.",
)
@click.option(
    "--type", "types", multiple=True, type=click.Choice(_TYPES), help="Only groups of this type. May be repeated."
)
@network_options
@click.pass_obj
def list_command(settings: Settings, states: tuple[str, ...], types: tuple[str, ...]) -> None:
    """List groups, by default all."""
    listings = on_cluster(settings, lambda admin: admin.groups.list_all(states, types))
    rows = [(group.group_id, group.type, group.state, group.protocol_type) for group in listings]
    if settings.as_json:
        print_json([dict(zip(("group", "type", "state", "protocol_type"), row, strict=True)) for row in rows])
    else:
        print_table(("group", "type", "state", "protocol type"), rows)


@groups.command("describe")
@click.argument("names", metavar="[GROUP]...", nargs=-1, shell_complete=complete_groups)
@click.option("--members", "view", flag_value="members", help="Show members and their assignments.")
@click.option("--state", "view", flag_value="state", help="Show state, assignor and coordinator.")
@network_options
@click.pass_obj
def describe_command(settings: Settings, names: tuple[str, ...], view: str | None) -> int:
    """Show the committed offsets and the lag of groups, by default of all."""
    outcomes = on_cluster(settings, lambda admin: describe_groups(admin, names))
    lags: list[GroupLag] = list(outcomes.succeeded().values())
    if settings.as_json:
        print_json([member_document(lag.group) if view else description_document(lag) for lag in lags])
    elif not outcomes:
        echo("There are no groups.")
    else:
        {"members": print_members, "state": print_states, None: print_lags}[view](lags)
    return report_rejected(outcomes, "group", _group_advice)


@groups.command("delete")
@click.argument("names", metavar="GROUP...", nargs=-1, required=True, shell_complete=complete_groups)
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def delete_command(settings: Settings, names: tuple[str, ...], yes: bool) -> int:
    """Delete groups that have no members, with their offsets."""
    confirm(f"{plural(len(names), 'group')} will be deleted, with all committed offsets: {', '.join(names)}.", yes=yes)
    outcomes = on_cluster(settings, lambda admin: admin.groups.delete(names))
    deleted = list(outcomes.succeeded())
    if settings.as_json:
        print_json(deleted)
    elif deleted:
        echo(f"Deleted {', '.join(deleted)}.")
    return report_rejected(outcomes, "group", _group_advice)


@groups.command("delete-offsets")
@click.argument("name", metavar="GROUP", shell_complete=complete_groups)
@click.argument("partition_names", metavar="TOPIC[:PARTITION]...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def delete_offsets_command(settings: Settings, name: str, partition_names: tuple[str, ...], yes: bool) -> int:
    """Delete committed offsets of topics that the group does not consume."""
    confirm(f"Offsets of {', '.join(partition_names)} in group {name} will be deleted.", yes=yes)

    async def work(admin: AdminOperations) -> tuple[Outcomes[TopicPartition, None], set[TopicPartition]]:
        partitions, unknown = await find_partitions(admin, partition_names)
        committed = (await admin.group_offsets.list_committed([name])).succeeded().get(name)
        deleted = await admin.group_offsets.delete(name, partitions)
        return Outcomes({**unknown, **deleted}), set(committed or ())

    outcomes, committed = on_cluster(settings, work)
    deleted = [partition for partition in outcomes.succeeded() if partition in committed]
    if settings.as_json:
        print_json([{"topic": partition.topic, "partition": partition.partition} for partition in deleted])
    elif deleted:
        echo(f"Deleted the offsets of {plural(len(deleted), 'partition')}.")
    elif outcomes.succeeded():
        echo(f"Group {name} has no committed offsets for {', '.join(partition_names)}.")
    return report_rejected(outcomes, "partition", _partition_advice)


def _group_advice(key: object, error: Refused) -> str | None:
    if error.code == ErrorCode.GROUP_ID_NOT_FOUND:
        return "does not exist; odradek groups list shows all groups"
    if error.code == ErrorCode.NON_EMPTY_GROUP:
        return HAS_MEMBERS
    return None


def _partition_advice(key: object, error: Refused) -> str | None:
    if error.code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
        return "members of the group consume this topic; stop them first"
    return unknown_topic_advice(key, error)
