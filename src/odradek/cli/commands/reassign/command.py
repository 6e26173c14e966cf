"""`odradek reassign`: move partitions to other brokers, and replicas to other log directories.

odradek reassign plan orders --brokers 1,2,3 --output plan.json
odradek reassign run plan.json --throttle 50000000 --wait
odradek reassign status plan.json
odradek reassign cancel orders

Plans have the format of kafka-reassign-partitions.sh, so both tools can run each other's plans.
"""

import asyncio
from collections.abc import Mapping, Sequence

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import report_rejected, unknown_topic_advice
from odradek.cli.base.output import Progress, plural, print_json, print_table
from odradek.cli.base.pairs import parse_ids
from odradek.cli.base.partitions import find_partitions
from odradek.cli.commands.reassign.files import Replicas, plan_document, read_plan, write_plan
from odradek.cli.commands.reassign.log_dir_moves import DONE, ELSEWHERE, MOVING, LogDirMoves
from odradek.client.admin.configs import ConfigResource
from odradek.client.admin.log_dirs import Replica
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.reassignment_plan import plan_reassignment
from odradek.client.admin.reassignment_throttle import ReassignmentThrottle
from odradek.client.admin.reassignments import Reassignment
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError

_POLL_INTERVAL_S = 0.5


@click.group()
@local_options
def reassign() -> None:
    """Move partitions to other brokers."""


@reassign.command("plan")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option("--brokers", metavar="ID,ID,…", help="Brokers to place replicas on [default: all active brokers].")
@click.option("--output", metavar="FILE", help="Write the plan to FILE.")
@network_options
@click.pass_obj
def plan_command(settings: Settings, names: tuple[str, ...], brokers: str | None, output: str | None) -> None:
    """Plan how to spread partitions, by default of all topics, evenly over brokers with as few moves as possible."""
    ids = None if brokers is None else parse_ids(brokers, "--brokers")

    async def work(admin: AdminOperations) -> tuple[Replicas, Replicas]:
        current = await _current_replicas(admin, names)
        racks = {node.id: node.rack for node in (await admin.cluster.describe()).nodes}
        for broker_id in ids or ():
            if broker_id not in racks:
                raise InputError(f"--brokers: broker {broker_id} is not running; running brokers: {_ids(racks)}.")
        plan = plan_reassignment(current, {broker_id: racks[broker_id] for broker_id in ids or racks})
        moves = {partition: plan[partition] for partition in current if tuple(current[partition]) != plan[partition]}
        return current, moves

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
        ("topic", "partition", "current", "planned"),
        [(*partition, _ids(current[partition]), _ids(moves[partition])) for partition in moves],
    )


@reassign.command("run")
@click.argument("path", metavar="FILE")
@click.option("--throttle", type=click.IntRange(min=1), metavar="BYTES", help="Limit of each broker, in bytes/s.")
@click.option("--wait", is_flag=True, help="Wait until all is moved, and remove the throttle.")
@click.option("--rollback", metavar="FILE", help="First write a plan to FILE that restores the current replicas.")
@network_options
@click.pass_obj
def run_command(settings: Settings, path: str, throttle: int | None, wait: bool, rollback: str | None) -> int:
    """Start to move partitions according to the plan in FILE."""
    plan, log_dirs = read_plan(path)

    async def work(admin: AdminOperations) -> tuple[Outcomes[TopicPartition, None], Outcomes[Replica, None]]:
        current = await _current_replicas(admin, _names(plan))
        if rollback is not None:
            write_plan(rollback, current)
        if throttle is not None:
            limits = ReassignmentThrottle(admin.configs)
            _raise_first(await limits.apply(current, plan, throttle, between_log_dirs=bool(log_dirs)))
        moves = LogDirMoves(admin.log_dirs, log_dirs)
        await moves.announce()
        outcomes = await admin.reassignments.alter(plan)
        started = await moves.start()
        if wait:
            await _wait(admin, list(outcomes.succeeded()))
            await moves.wait(started)
            if throttle is not None:
                await _clear_throttle(admin, plan)
        return outcomes, started

    outcomes, moved_replicas = on_cluster(settings, work)
    status = max(
        report_rejected(outcomes, "partition", unknown_topic_advice),
        report_rejected(moved_replicas, "replica", unknown_topic_advice),
    )
    not_moved = {replica.topic_partition for replica in moved_replicas.rejected()}
    started = [partition for partition in outcomes.succeeded() if partition not in not_moved]
    if settings.as_json:
        print_json([{**_document(partition), "done": wait} for partition in started])
    elif started:
        echo(f"{'Moved' if wait else 'Started to move'} {plural(len(started), 'partition')}.")
        if throttle is not None and not wait:
            echo(f"When all is moved, odradek reassign status {path} removes the throttle.")
    return status


@reassign.command("status")
@click.argument("path", metavar="[FILE]", required=False)
@network_options
@click.pass_obj
def status_command(settings: Settings, path: str | None) -> int:
    """Show reassignments in progress, or the state of those of a plan; remove its throttle when all are done."""
    if path is None:
        _show_in_progress(settings, on_cluster(settings, lambda admin: admin.reassignments.list_in_progress()))
        return 0
    plan, log_dirs = read_plan(path)

    async def work(admin: AdminOperations) -> dict[TopicPartition, str]:
        in_progress = await admin.reassignments.list_in_progress(list(plan))
        current = await _current_replicas(admin, _names(plan))
        states = {partition: _state(partition, plan, in_progress, current) for partition in plan}
        for replica, state in (await LogDirMoves(admin.log_dirs, log_dirs).states()).items():
            if states[replica.topic_partition] == DONE:
                states[replica.topic_partition] = state
        if MOVING not in states.values():
            await _clear_throttle(admin, plan)
        return states

    states = on_cluster(settings, work)
    if settings.as_json:
        print_json([{**_document(partition), "state": state} for partition, state in states.items()])
    else:
        print_table(
            ("topic", "partition", "planned", "state"),
            [(*partition, _ids(plan[partition]), state) for partition, state in states.items()],
        )
    return 1 if ELSEWHERE in states.values() else 0


@reassign.command("cancel")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option("--all", "everything", is_flag=True, help="Cancel all reassignments.")
@network_options
@click.pass_obj
def cancel_command(settings: Settings, names: tuple[str, ...], everything: bool) -> int:
    """Cancel reassignments: the partitions keep their previous replicas."""
    if bool(names) == everything:
        raise click.UsageError("Pass either topics or partitions, or --all.")

    async def work(admin: AdminOperations) -> Outcomes[TopicPartition, None]:
        partitions, unknown = await find_partitions(admin, names) if names else (None, {})
        in_progress = await admin.reassignments.list_in_progress(partitions) if partitions != [] else {}
        cancelled = await admin.reassignments.alter(dict.fromkeys(in_progress)) if in_progress else {}
        return Outcomes({**cancelled, **unknown})

    outcomes = on_cluster(settings, work)
    cancelled = list(outcomes.succeeded())
    if settings.as_json:
        print_json([{**_document(partition), "cancelled": True} for partition in cancelled])
    elif cancelled:
        echo(f"Cancelled the reassignment of {plural(len(cancelled), 'partition')}.")
    else:
        echo("No reassignment is in progress.")
    return report_rejected(outcomes, "partition", unknown_topic_advice)


def _state(
    partition: TopicPartition, plan: Replicas, in_progress: Mapping[TopicPartition, Reassignment], current: Replicas
) -> str:
    if partition in in_progress:
        return MOVING
    return DONE if list(current[partition]) == list(plan[partition]) else ELSEWHERE


async def _current_replicas(admin: AdminOperations, names: Sequence[str]) -> Replicas:
    """Return the replicas of these partitions, or of all but internal topics. Raises InputError for unknown ones."""
    requested = list(names) or [topic.name for topic in await admin.topics.list_all() if not topic.is_internal]
    partitions, unknown = await find_partitions(admin, requested)
    for partition, error in unknown.items():
        raise InputError(f"partition {partition}: {unknown_topic_advice(partition, error) or error.message}")
    topics = (await admin.topics.describe([partition.topic for partition in partitions])).succeeded()
    replicas = {
        TopicPartition(topic.name, partition.index): partition.replicas
        for topic in topics.values()
        for partition in topic.partitions
    }
    for partition in partitions:
        if partition not in replicas:
            count = plural(len(topics[partition.topic].partitions), "partition")
            raise InputError(f"{partition} does not exist: {partition.topic} has {count}.")
    return {partition: replicas[partition] for partition in partitions}


async def _wait(admin: AdminOperations, partitions: Sequence[TopicPartition]) -> None:
    progress = Progress()
    try:
        while partitions:
            in_progress = await admin.reassignments.list_in_progress(partitions)
            if not in_progress:
                return
            progress.say(f"{plural(len(in_progress), 'partition')} of {len(partitions)} still moving")
            await asyncio.sleep(_POLL_INTERVAL_S)
    finally:
        progress.finish()


async def _clear_throttle(admin: AdminOperations, plan: Replicas) -> None:
    """Remove the throttle from all running brokers: those that have lost their replicas had it, too."""
    topics = dict.fromkeys(partition.topic for partition in plan)
    throttle = ReassignmentThrottle(admin.configs)
    _raise_first(await throttle.clear(topics, await admin.cluster.node_addresses()))


def _raise_first(outcomes: Outcomes[ConfigResource, None]) -> None:
    for error in outcomes.rejected().values():
        raise error


def _show_in_progress(settings: Settings, reassignments: Mapping[TopicPartition, Reassignment]) -> None:
    if settings.as_json:
        print_json(
            [
                {
                    **_document(partition),
                    "replicas": list(reassignment.replicas),
                    "adding": list(reassignment.adding),
                    "removing": list(reassignment.removing),
                }
                for partition, reassignment in reassignments.items()
            ]
        )
    elif not reassignments:
        echo("No reassignment is in progress.")
    else:
        rows = [
            (
                *partition,
                _ids(reassignment.replicas),
                _ids(reassignment.adding),
                _ids(reassignment.removing),
            )
            for partition, reassignment in reassignments.items()
        ]
        print_table(("topic", "partition", "replicas", "adding", "removing"), rows)


def _document(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}


def _names(plan: Replicas) -> list[str]:
    return [f"{partition.topic}:{partition.partition}" for partition in plan]


def _ids(ids: Sequence[int] | Mapping[int, object]) -> str:
    return ",".join(map(str, ids)) or "-"
