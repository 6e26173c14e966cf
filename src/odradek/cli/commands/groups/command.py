"""`odradek groups`: groups of consumers, and their offsets.

odradek groups list
odradek groups describe billing
odradek groups describe billing --members
odradek groups reset-offsets billing --topic orders --to earliest
odradek groups delete-offsets billing orders --yes
odradek groups delete billing --yes
"""

from collections.abc import Collection, Mapping

import click

from odradek.cli.base.complete import complete_groups
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import accepted, status_of, unknown_topic
from odradek.cli.base.output import plural, print_json, print_table
from odradek.cli.base.partitions import find_partitions
from odradek.cli.commands.groups.reset import HAS_MEMBERS, reset_command
from odradek.cli.commands.groups.show import (
    Lag,
    describe_all,
    description_document,
    member_document,
    print_lags,
    print_members,
    print_states,
)
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.groups import committed_offsets, delete_groups, delete_offsets, list_groups
from odradek.client.admin.outcomes import Outcomes, TopicPartition
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
    """List and describe groups of consumers, with their lag; reset offsets; delete groups."""


groups.add_command(reset_command)


@groups.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    metavar="STATE",
    help="Only those; Stable, Empty, … May be repeated.",
)
@click.option("--type", "types", multiple=True, type=click.Choice(_TYPES), help="Only those. May be repeated.")
@network_options
@click.pass_obj
def list_command(settings: Settings, states: tuple[str, ...], types: tuple[str, ...]) -> None:
    """Show all groups."""
    found = on_cluster(settings, lambda cluster: list_groups(cluster, states, types))
    if settings.as_json:
        print_json(
            [
                {"group": each.group_id, "type": each.type, "state": each.state, "protocol_type": each.protocol_type}
                for each in found
            ]
        )
        return
    print_table(("group", "type", "state", "protocol type"), [_cells(each) for each in found])


@groups.command("describe")
@click.argument("names", metavar="[GROUP]...", nargs=-1, shell_complete=complete_groups)
@click.option("--members", "view", flag_value="members", help="Who is in the group, and what they have.")
@click.option("--state", "view", flag_value="state", help="Its state, assignor and coordinator.")
@network_options
@click.pass_obj
def describe_command(settings: Settings, names: tuple[str, ...], view: str | None) -> int:
    """Show groups, all unless named: committed offsets and how far behind the end they are."""
    outcomes = on_cluster(settings, lambda cluster: describe_all(cluster, names))
    found: list[Lag] = list(accepted(outcomes).values())
    if settings.as_json:
        print_json([member_document(each) if view else description_document(each) for each in found])
    elif not outcomes:
        echo("There are no groups.")
    else:
        {"members": print_members, "state": print_states, None: print_lags}[view](found)
    return status_of(outcomes, "group", _unknown_group)


@groups.command("delete")
@click.argument("names", metavar="GROUP...", nargs=-1, required=True, shell_complete=complete_groups)
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def delete_command(settings: Settings, names: tuple[str, ...], yes: bool) -> int:
    """Delete groups that have no members, with their offsets."""
    confirm(f"{plural(len(names), 'group')} will be deleted, with all committed offsets: {', '.join(names)}.", yes=yes)
    outcomes = on_cluster(settings, lambda cluster: delete_groups(cluster, names))
    deleted = list(accepted(outcomes))
    if settings.as_json:
        print_json(deleted)
    elif deleted:
        echo(f"Deleted {', '.join(deleted)}.")
    return status_of(outcomes, "group", _unknown_group)


@groups.command("delete-offsets")
@click.argument("name", metavar="GROUP", shell_complete=complete_groups)
@click.argument("places", metavar="TOPIC[:PARTITION]...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def delete_offsets_command(settings: Settings, name: str, places: tuple[str, ...], yes: bool) -> int:
    """Forget what a group has committed for topics that it does not read."""
    confirm(f"Offsets of {', '.join(places)} in group {name} will be forgotten.", yes=yes)

    async def work(cluster: ClusterRouter) -> tuple[Outcomes[TopicPartition, None], Collection[TopicPartition]]:
        found, missing = await find_partitions(cluster, places)
        before = (await committed_offsets(cluster, [name])).get(name)
        outcomes = {**missing, **await delete_offsets(cluster, name, found)}
        return outcomes, before if isinstance(before, Mapping) else ()

    outcomes, committed = on_cluster(settings, work)
    gone = [each for each in accepted(outcomes) if each in committed]
    if settings.as_json:
        print_json([{"topic": each.topic, "partition": each.partition} for each in gone])
    elif gone:
        echo(f"Forgot the offsets of {plural(len(gone), 'partition')}.")
    elif accepted(outcomes):
        echo(f"Group {name} has committed nothing for {', '.join(places)}.")
    return status_of(outcomes, "partition", _is_read)


def _unknown_group(key: object, error: Refused) -> str | None:
    if error.code == ErrorCode.GROUP_ID_NOT_FOUND:
        return "there is none; odradek groups list shows those there are"
    if error.code == ErrorCode.NON_EMPTY_GROUP:
        return HAS_MEMBERS
    return None


def _is_read(key: object, error: Refused) -> str | None:
    if error.code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
        return "members of the group read this topic; stop them first"
    return unknown_topic(key, error)


def _cells(found: object) -> tuple[str, ...]:
    return tuple(getattr(found, name) for name in ("group_id", "type", "state", "protocol_type"))
