"""`odradek transactions`: what producers have begun and not ended.

odradek transactions list
odradek transactions describe billing-1
odradek transactions find-hanging --broker 1
odradek transactions abort orders:0 --start-offset 4711 --yes
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import accepted, refused, status_of, unknown_topic
from odradek.cli.base.output import format_timestamp, print_json, print_table
from odradek.cli.base.partitions import find_partitions
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.client.admin.topics import describe_topics, list_topics
from odradek.client.admin.transactions import (
    ProducerState,
    TransactionDescription,
    abort_in_partition,
    describe_producers,
    describe_transactions,
    list_transactions,
)
from odradek.common.failures import InputError
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_NOBODY = "-"
_MINUTE_MS = 60_000
_STATES = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"),
    *("Dead", "PrepareEpochFence"),
)
#: The longest that a broker lets a transaction run unless it is told otherwise: transaction.max.timeout.ms.
_MAX_TIMEOUT_MINUTES = 15


@click.group()
@local_options
def transactions() -> None:
    """List and describe transactions; find and abort those that hang."""


@transactions.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    metavar="STATE",
    help="Only those; Ongoing, … May be repeated.",
)
@click.option(
    "--longer-than", type=click.IntRange(min=0), default=None, metavar="MS", help="Only those that run so long."
)
@network_options
@click.pass_obj
def list_command(settings: Settings, states: tuple[str, ...], longer_than: int | None) -> None:
    """Show the transactions of all producers that the cluster knows."""
    duration_ms = -1 if longer_than is None else longer_than
    found = on_cluster(settings, lambda cluster: list_transactions(cluster, states, longer_than_ms=duration_ms))
    if settings.as_json:
        print_json([asdict(each) for each in found])
        return
    rows = [(each.transactional_id, each.coordinator_id, each.producer_id, each.state) for each in found]
    print_table(("transactional id", "coordinator", "producer id", "state"), rows)


@transactions.command("describe")
@click.argument("names", metavar="TRANSACTIONAL-ID...", nargs=-1, required=True)
@network_options
@click.pass_obj
def describe_command(settings: Settings, names: tuple[str, ...]) -> int:
    """Show transactions of some producers."""
    outcomes = on_cluster(settings, lambda cluster: describe_transactions(cluster, names))
    found: list[TransactionDescription] = list(accepted(outcomes).values())
    if settings.as_json:
        print_json([_document(each) for each in found])
    elif found:
        headers = ("transactional id", "state", "producer id", "epoch", "time-out ms", "started", "partitions")
        print_table(headers, [_cells(each, settings) for each in found])
    return status_of(outcomes, "transactional id", _unknown)


@transactions.command("find-hanging")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1)
@click.option("--broker", type=int, metavar="ID", help="Only partitions that it leads.")
@click.option(
    "--max-timeout",
    type=click.IntRange(min=0),
    default=_MAX_TIMEOUT_MINUTES,
    show_default=True,
    metavar="MINUTES",
    help="The brokers' transaction.max.timeout.ms: what runs for longer is nobody's any more.",
)
@network_options
@click.pass_obj
def find_hanging_command(settings: Settings, names: tuple[str, ...], broker: int | None, max_timeout: int) -> int:
    """Find transactions that are open in partitions, all unless named, although no coordinator knows of them."""
    outcomes = on_cluster(settings, lambda cluster: _find_hanging(cluster, names, broker, max_timeout * _MINUTE_MS))
    found = [each for hanging in accepted(outcomes).values() for each in hanging]
    if settings.as_json:
        print_json([_hanging_document(each) for each in found])
    elif not found:
        echo("No transaction hangs in what could be asked." if refused(outcomes) else "No transaction hangs.")
    else:
        headers = ("topic", "partition", "producer id", "epoch", "start offset", "last record")
        print_table(headers, [_hanging_cells(each, settings) for each in found])
        echo("odradek transactions abort TOPIC:PARTITION --start-offset N ends one.")
    return status_of(outcomes, "partition", unknown_topic)


@transactions.command("abort")
@click.argument("name", metavar="TOPIC:PARTITION")
@click.option("--start-offset", type=click.IntRange(min=0), required=True, metavar="N", help="Where it begins there.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def abort_command(settings: Settings, name: str, start_offset: int, yes: bool) -> int:
    """Abort a transaction in a partition where it hangs, past its coordinator."""
    place, producer = on_cluster(settings, lambda cluster: _open_at(cluster, name, start_offset))
    confirm(
        f"The transaction of producer {producer.producer_id} at epoch {producer.producer_epoch} in {place} will be "
        "aborted: its records will never be read as committed.",
        yes=yes,
    )
    epochs = (producer.producer_epoch, max(producer.coordinator_epoch, 0))
    outcomes = on_cluster(settings, lambda cluster: abort_in_partition(cluster, place, producer.producer_id, *epochs))
    if settings.as_json:
        print_json([_place(each) for each in accepted(outcomes)])
    elif accepted(outcomes):
        echo(f"Aborted in {place}.")
    return status_of(outcomes, "partition")


@dataclass(frozen=True, slots=True)
class _Hanging:
    place: TopicPartition
    producer: ProducerState


async def _find_hanging(
    cluster: ClusterRouter, names: Sequence[str], broker: int | None, max_timeout_ms: int
) -> Outcomes[TopicPartition, list[_Hanging]]:
    """Open in a partition for longer than any transaction may be, and not open there for its coordinator. Internal
    topics can be concerned: offsets are committed in transactions."""
    wanted = names or [topic.name for topic in await list_topics(cluster)]
    places, missing = await find_partitions(cluster, wanted)
    if broker is not None:
        known = (await cluster.describe()).nodes
        if broker not in known:
            raise InputError(f"--broker: there is no broker {broker}; there are {', '.join(map(str, sorted(known)))}")
        led = await _led_by(cluster, places, broker)
        places = [place for place in places if place in led]
    producers = await describe_producers(cluster, places)
    oldest_ms = int(time.time() * 1000) - max_timeout_ms
    open_now = {
        place: [each for each in found if each.started_offset is not None and each.last_timestamp_ms <= oldest_ms]
        for place, found in accepted(producers).items()
    }
    ids = {each.producer_id for found in open_now.values() for each in found}
    owned = await _owned(cluster, sorted(ids)) if ids else set()
    hanging = {
        place: [_Hanging(place, each) for each in found if (each.producer_id, place) not in owned]
        for place, found in open_now.items()
    }
    return {**missing, **refused(producers), **hanging}


async def _led_by(cluster: ClusterRouter, places: Sequence[TopicPartition], broker: int) -> set[TopicPartition]:
    topics = accepted(await describe_topics(cluster, list(dict.fromkeys(place.topic for place in places))))
    return {
        TopicPartition(name, partition.index)
        for name, topic in topics.items()
        for partition in topic.partitions
        if partition.leader_id == broker
    }


async def _owned(cluster: ClusterRouter, producer_ids: Sequence[int]) -> set[tuple[int, TopicPartition]]:
    """Producer and partition of all transactions that a coordinator will end."""
    listed = await list_transactions(cluster, producer_ids=producer_ids)
    described = accepted(await describe_transactions(cluster, [each.transactional_id for each in listed]))
    return {(each.producer_id, place) for each in described.values() for place in each.partitions}


async def _open_at(cluster: ClusterRouter, name: str, start_offset: int) -> tuple[TopicPartition, ProducerState]:
    if ":" not in name:
        raise InputError(f'"{name}" is no partition. Right would be TOPIC:PARTITION, for example orders:0.')
    places, missing = await find_partitions(cluster, [name])
    known: Outcomes[TopicPartition, tuple[ProducerState, ...]] = missing or await describe_producers(cluster, places)
    ((place, found),) = known.items()
    if isinstance(found, Refused):
        raise InputError(f"partition {place}: {unknown_topic(place, found) or found.message}")
    for producer in found:
        if producer.started_offset == start_offset:
            return place, producer
    began = [str(each.started_offset) for each in found if each.started_offset is not None]
    there = f"those that are open there begin at {', '.join(began)}" if began else "none is open there"
    raise InputError(f"no transaction begins at offset {start_offset} of {place}; {there}")


def _cells(each: TransactionDescription, settings: Settings) -> tuple[object, ...]:
    return (
        each.transactional_id,
        each.state,
        each.producer_id,
        each.producer_epoch,
        each.timeout_ms,
        _NOBODY if each.started_ms is None else format_timestamp(each.started_ms, utc=settings.utc),
        ", ".join(map(str, each.partitions)) or _NOBODY,
    )


def _document(each: TransactionDescription) -> dict[str, object]:
    return {
        "transactional_id": each.transactional_id,
        "coordinator": str(each.coordinator),
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "state": each.state,
        "timeout_ms": each.timeout_ms,
        "started_ms": each.started_ms,
        "partitions": [_place(place) for place in each.partitions],
    }


def _hanging_cells(each: _Hanging, settings: Settings) -> tuple[object, ...]:
    producer = each.producer
    last = format_timestamp(producer.last_timestamp_ms, utc=settings.utc)
    return (*each.place, producer.producer_id, producer.producer_epoch, producer.started_offset, last)


def _hanging_document(each: _Hanging) -> dict[str, object]:
    return _place(each.place) | asdict(each.producer)


def _place(place: TopicPartition) -> dict[str, object]:
    return {"topic": place.topic, "partition": place.partition}


def _unknown(key: object, error: Refused) -> str | None:
    if error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        return "there is none; odradek transactions list shows those there are"
    return None
