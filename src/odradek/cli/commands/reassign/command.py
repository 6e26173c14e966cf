"""`odradek reassign`: move partitions to other brokers, and replicas to other log directories.

odradek reassign plan orders --brokers 1,2,3 --output plan.json
odradek reassign run plan.json --throttle 50000000 --wait
odradek reassign status plan.json
odradek reassign cancel orders

Plans are files of Kafka's own form, so that those made for its tool can be run here and the other way round.
"""

import asyncio
from collections.abc import Mapping, Sequence

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import accepted, refused, status_of, unknown_topic
from odradek.cli.base.output import Progress, plural, print_json, print_table
from odradek.cli.base.pairs import parse_ids
from odradek.cli.base.partitions import find_partitions
from odradek.cli.commands.reassign import dirs
from odradek.cli.commands.reassign.files import Replicas, plan_document, read_plan, write_plan
from odradek.client.admin.cluster import describe_nodes
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.configs import ConfigResource
from odradek.client.admin.log_dirs import Replica
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.client.admin.reassignment_plan import plan_reassignment
from odradek.client.admin.reassignment_throttle import clear_throttle, set_throttle
from odradek.client.admin.reassignments import Reassignment, alter_reassignments, list_reassignments
from odradek.client.admin.topics import describe_topics, list_topics
from odradek.common.failures import InputError

#: Between two looks at what still moves.
_LOOK_S = 0.5


@click.group()
@local_options
def reassign() -> None:
    """Move partitions to other brokers."""


@reassign.command("plan")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option("--brokers", metavar="ID,ID,…", help="Who may have replicas [default: all that are active].")
@click.option("--output", metavar="FILE", help="Write the plan there.")
@network_options
@click.pass_obj
def plan_command(settings: Settings, names: tuple[str, ...], brokers: str | None, output: str | None) -> None:
    """Work out how partitions, all unless named, could be spread evenly over brokers by moving as few as possible."""
    ids = None if brokers is None else parse_ids(brokers, "--brokers")

    async def work(cluster: ClusterRouter) -> tuple[Replicas, Replicas]:
        current = await _current(cluster, names)
        racks = {node.id: node.rack for node in (await describe_nodes(cluster)).nodes}
        for broker_id in ids or ():
            if broker_id not in racks:
                raise InputError(f"--brokers: there is no broker {broker_id} that runs; there are {_ids(racks)}.")
        wanted = plan_reassignment(current, {each: racks[each] for each in ids or racks})
        return current, {each: wanted[each] for each in current if tuple(current[each]) != wanted[each]}

    current, moves = on_cluster(settings, work)
    if output is not None:
        write_plan(output, moves)
    if settings.as_json:
        print_json(plan_document(moves))
        return
    if not moves:
        echo("Nothing to move.")
        return
    print_table(
        ("topic", "partition", "now", "then"), [(*each, _ids(current[each]), _ids(moves[each])) for each in moves]
    )


@reassign.command("run")
@click.argument("path", metavar="FILE")
@click.option("--throttle", type=click.IntRange(min=1), metavar="BYTES", help="A second, of each broker.")
@click.option("--wait", is_flag=True, help="Until all is moved; then the throttle goes, too.")
@click.option("--rollback", metavar="FILE", help="Write the plan that would undo it there, first.")
@network_options
@click.pass_obj
def run_command(settings: Settings, path: str, throttle: int | None, wait: bool, rollback: str | None) -> int:
    """Begin to move partitions as the plan in FILE says."""
    plan, log_dirs = read_plan(path)

    async def work(cluster: ClusterRouter) -> tuple[Outcomes[TopicPartition, None], Outcomes[Replica, None]]:
        current = await _current(cluster, [f"{each.topic}:{each.partition}" for each in plan])
        if rollback is not None:
            write_plan(rollback, current)
        if throttle is not None:
            _raise_first(await set_throttle(cluster, current, plan, throttle, between_dirs=bool(log_dirs)))
        await dirs.prepare(cluster, log_dirs)
        outcomes = await alter_reassignments(cluster, plan)
        placed = await dirs.begin(cluster, log_dirs)
        if wait:
            await _wait(cluster, list(accepted(outcomes)))
            await dirs.wait(cluster, {each: log_dirs[each] for each in accepted(placed)})
            if throttle is not None:
                await _end_throttle(cluster, plan)
        return outcomes, placed

    outcomes, placed = on_cluster(settings, work)
    status = max(status_of(outcomes, "partition", unknown_topic), status_of(placed, "replica", unknown_topic))
    misplaced = {replica.topic_partition for replica in placed.keys() - accepted(placed).keys()}
    begun = [each for each in accepted(outcomes) if each not in misplaced]
    if settings.as_json:
        print_json([{"topic": each.topic, "partition": each.partition, "done": wait} for each in begun])
    elif begun:
        echo(f"{'Moved' if wait else 'Began to move'} {plural(len(begun), 'partition')}.")
        if throttle is not None and not wait:
            echo(f"odradek reassign status {path} takes the throttle away when all is moved.")
    return status


@reassign.command("status")
@click.argument("path", metavar="[FILE]", required=False)
@network_options
@click.pass_obj
def status_command(settings: Settings, path: str | None) -> int:
    """Show what moves; with a plan what became of it, and take its throttle away when it is done."""
    if path is None:
        _show_moving(settings, on_cluster(settings, list_reassignments))
        return 0
    plan, log_dirs = read_plan(path)

    async def work(cluster: ClusterRouter) -> dict[TopicPartition, str]:
        moving = await list_reassignments(cluster, list(plan))
        current = await _current(cluster, [f"{each.topic}:{each.partition}" for each in plan])
        states = {each: _state(each, plan, moving, current) for each in plan}
        for replica, state in (await dirs.states(cluster, log_dirs)).items():
            if states[replica.topic_partition] == _DONE:
                states[replica.topic_partition] = state
        if _MOVING not in states.values():
            await _end_throttle(cluster, plan)
        return states

    states = on_cluster(settings, work)
    if settings.as_json:
        print_json([{"topic": each.topic, "partition": each.partition, "state": states[each]} for each in states])
    else:
        print_table(
            ("topic", "partition", "wanted", "state"), [(*each, _ids(plan[each]), states[each]) for each in plan]
        )
    return 1 if _ELSEWHERE in states.values() else 0


@reassign.command("cancel")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option("--all", "everything", is_flag=True, help="Whatever moves.")
@network_options
@click.pass_obj
def cancel_command(settings: Settings, names: tuple[str, ...], everything: bool) -> int:
    """Let partitions stay where they were before they began to move."""
    if bool(names) == everything:
        raise click.UsageError("Name topics or partitions, or else --all.")

    async def work(cluster: ClusterRouter) -> Outcomes[TopicPartition, None]:
        wanted, missing = await find_partitions(cluster, names) if names else (None, {})
        moving = await list_reassignments(cluster, wanted) if wanted != [] else {}
        done = await alter_reassignments(cluster, dict.fromkeys(moving)) if moving else {}
        return {**done, **missing}

    outcomes = on_cluster(settings, work)
    stopped = list(accepted(outcomes))
    if settings.as_json:
        print_json([{"topic": each.topic, "partition": each.partition, "cancelled": True} for each in stopped])
    else:
        echo(f"Cancelled the move of {plural(len(stopped), 'partition')}." if stopped else "Nothing moves.")
    return status_of(outcomes, "partition", unknown_topic)


_DONE, _MOVING, _ELSEWHERE = dirs.DONE, dirs.MOVING, dirs.ELSEWHERE


def _state(
    partition: TopicPartition, plan: Replicas, moving: Mapping[TopicPartition, Reassignment], current: Replicas
) -> str:
    if partition in moving:
        return _MOVING
    return _DONE if list(current[partition]) == list(plan[partition]) else _ELSEWHERE


async def _current(cluster: ClusterRouter, names: Sequence[str]) -> Replicas:
    """Of these, or of all but internal topics. Raises InputError for one that is not there."""
    wanted = list(names) or [topic.name for topic in await list_topics(cluster) if not topic.is_internal]
    found, missing = await find_partitions(cluster, wanted)
    for partition, error in missing.items():
        raise InputError(f"partition {partition}: {unknown_topic(partition, error) or error.message}")
    topics = accepted(await describe_topics(cluster, [each.topic for each in found]))
    replicas = {
        TopicPartition(topic.name, each.index): each.replicas for topic in topics.values() for each in topic.partitions
    }
    for partition in found:
        if partition not in replicas:
            count = len(topics[partition.topic].partitions)
            raise InputError(f"{partition}: there is no such partition; {partition.topic} has {count}.")
    return {partition: replicas[partition] for partition in found}


async def _wait(cluster: ClusterRouter, partitions: Sequence[TopicPartition]) -> None:
    progress = Progress()
    try:
        while partitions:
            moving = await list_reassignments(cluster, partitions)
            if not moving:
                return
            progress.say(f"{plural(len(moving), 'partition')} of {len(partitions)} still move")
            await asyncio.sleep(_LOOK_S)
    finally:
        progress.finish()


async def _end_throttle(cluster: ClusterRouter, plan: Replicas) -> None:
    """Of all brokers that run: those that gave away their replicas had it, too."""
    topics = dict.fromkeys(partition.topic for partition in plan)
    _raise_first(await clear_throttle(cluster, topics, (await cluster.describe()).nodes))


def _raise_first(outcomes: Outcomes[ConfigResource, None]) -> None:
    for error in refused(outcomes).values():
        raise error


def _show_moving(settings: Settings, moving: Mapping[TopicPartition, Reassignment]) -> None:
    if settings.as_json:
        print_json(
            [
                {
                    "topic": each.topic,
                    "partition": each.partition,
                    "replicas": list(found.replicas),
                    "adding": list(found.adding),
                    "removing": list(found.removing),
                }
                for each, found in moving.items()
            ]
        )
    elif not moving:
        echo("Nothing moves.")
    else:
        rows = [
            (*each, _ids(found.replicas), _ids(found.adding), _ids(found.removing)) for each, found in moving.items()
        ]
        print_table(("topic", "partition", "replicas", "adding", "removing"), rows)


def _ids(ids: Sequence[int] | Mapping[int, object]) -> str:
    return ",".join(map(str, ids)) or "-"
