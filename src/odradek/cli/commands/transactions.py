"""`odradek transactions`: transactions of producers, and hanging ones.

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
from odradek.cli.base.outcomes import report_rejected, unknown_topic_advice
from odradek.cli.base.output import format_timestamp, print_json, print_table
from odradek.cli.base.partitions import find_partitions
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.transactions import ProducerState, TransactionDescription
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_NONE = "-"
_MINUTE_MS = 60_000
_STATES = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"),
    *("Dead", "PrepareEpochFence"),
)
#: Default of the brokers' transaction.max.timeout.ms.
_MAX_TIMEOUT_MINUTES = 15


@click.group()
@local_options
def transactions() -> None:
    """List and describe transactions; find and abort hanging ones."""


@transactions.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    metavar="STATE",
    help="Only transactions in this state: Ongoing, … May be repeated.",
)
@click.option(
    "--longer-than",
    type=click.IntRange(min=0),
    default=None,
    metavar="MS",
    help="Only transactions that have been open for longer.",
)
@network_options
@click.pass_obj
def list_command(settings: Settings, states: tuple[str, ...], longer_than: int | None) -> None:
    """List the transactions of all transactional ids."""
    duration_ms = -1 if longer_than is None else longer_than
    listings = on_cluster(settings, lambda admin: admin.transactions.list_all(states, longer_than_ms=duration_ms))
    if settings.as_json:
        print_json([asdict(listing) for listing in listings])
        return
    rows = [
        (listing.transactional_id, listing.coordinator_id, listing.producer_id, listing.state) for listing in listings
    ]
    print_table(("transactional id", "coordinator", "producer id", "state"), rows)


@transactions.command("describe")
@click.argument("names", metavar="TRANSACTIONAL-ID...", nargs=-1, required=True)
@network_options
@click.pass_obj
def describe_command(settings: Settings, names: tuple[str, ...]) -> int:
    """Show the transactions of transactional ids."""
    outcomes = on_cluster(settings, lambda admin: admin.transactions.describe(names))
    descriptions: list[TransactionDescription] = list(outcomes.succeeded().values())
    if settings.as_json:
        print_json([_document(transaction) for transaction in descriptions])
    elif descriptions:
        headers = ("transactional id", "state", "producer id", "epoch", "timeout ms", "started", "partitions")
        print_table(headers, [_cells(transaction, settings) for transaction in descriptions])
    return report_rejected(outcomes, "transactional id", _unknown_id_advice)


@transactions.command("find-hanging")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1)
@click.option("--broker", type=int, metavar="ID", help="Only partitions that this broker leads.")
@click.option(
    "--max-timeout",
    type=click.IntRange(min=0),
    default=_MAX_TIMEOUT_MINUTES,
    show_default=True,
    metavar="MINUTES",
    help="transaction.max.timeout.ms of the brokers: an older transaction may be hanging.",
)
@network_options
@click.pass_obj
def find_hanging_command(settings: Settings, names: tuple[str, ...], broker: int | None, max_timeout: int) -> int:
    """Find transactions that are open in partitions, by default of all topics, and that no coordinator will end."""
    outcomes = on_cluster(settings, lambda admin: _find_hanging(admin, names, broker, max_timeout * _MINUTE_MS))
    hanging = [transaction for of_partition in outcomes.succeeded().values() for transaction in of_partition]
    if settings.as_json:
        print_json([_hanging_document(transaction) for transaction in hanging])
    elif not hanging:
        scope = " in the partitions that responded" if outcomes.rejected() else ""
        echo(f"There are no hanging transactions{scope}.")
    else:
        headers = ("topic", "partition", "producer id", "epoch", "start offset", "last record")
        print_table(headers, [_hanging_cells(transaction, settings) for transaction in hanging])
        echo("To abort one, run odradek transactions abort TOPIC:PARTITION --start-offset N.")
    return report_rejected(outcomes, "partition", unknown_topic_advice)


@transactions.command("abort")
@click.argument("name", metavar="TOPIC:PARTITION")
@click.option(
    "--start-offset", type=click.IntRange(min=0), required=True, metavar="N", help="First offset of the transaction."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def abort_command(settings: Settings, name: str, start_offset: int, yes: bool) -> int:
    """Abort a hanging transaction in a partition, without its coordinator."""
    partition, producer = on_cluster(settings, lambda admin: _producer_at(admin, name, start_offset))
    confirm(
        f"The transaction of producer {producer.producer_id} at epoch {producer.producer_epoch} in {partition} will be "
        "aborted: its records will never be read as committed.",
        yes=yes,
    )
    epochs = (producer.producer_epoch, max(producer.coordinator_epoch, 0))
    outcomes = on_cluster(
        settings, lambda admin: admin.transactions.abort_in_partition(partition, producer.producer_id, *epochs)
    )
    if settings.as_json:
        print_json([_partition_document(aborted) for aborted in outcomes.succeeded()])
    elif outcomes.succeeded():
        echo(f"Aborted the transaction in {partition}.")
    return report_rejected(outcomes, "partition")


@dataclass(frozen=True, slots=True)
class _HangingTransaction:
    """Open transaction of a producer in a partition that no coordinator will end."""

    partition: TopicPartition
    producer: ProducerState


async def _find_hanging(
    admin: AdminOperations, names: Sequence[str], broker_id: int | None, max_timeout_ms: int
) -> Outcomes[TopicPartition, list[_HangingTransaction]]:
    """Find transactions that are open for longer than the limit, and not open in that partition for a coordinator.

    Internal topics are included: offsets are committed in transactions.
    """
    requested = names or [topic.name for topic in await admin.topics.list_all()]
    partitions, unknown = await find_partitions(admin, requested)
    if broker_id is not None:
        broker_ids = sorted(await admin.cluster.node_addresses())
        if broker_id not in broker_ids:
            running = ", ".join(map(str, broker_ids))
            raise InputError(f"--broker: broker {broker_id} is not running; running brokers: {running}")
        led = await _partitions_led_by(admin, partitions, broker_id)
        partitions = [partition for partition in partitions if partition in led]
    producers = await admin.transactions.describe_producers(partitions)
    latest_ms = int(time.time() * 1000) - max_timeout_ms
    candidates = [
        _HangingTransaction(partition, producer)
        for partition, states in producers.succeeded().items()
        for producer in states
        if producer.started_offset is not None and producer.last_timestamp_ms <= latest_ms
    ]
    producer_ids = {candidate.producer.producer_id for candidate in candidates}
    coordinated = await _coordinated_partitions(admin, sorted(producer_ids)) if producer_ids else set()
    hanging: dict[TopicPartition, list[_HangingTransaction]] = {partition: [] for partition in producers.succeeded()}
    for candidate in candidates:
        if (candidate.producer.producer_id, candidate.partition) not in coordinated:
            hanging[candidate.partition].append(candidate)
    return Outcomes({**unknown, **producers.rejected(), **hanging})


async def _partitions_led_by(
    admin: AdminOperations, partitions: Sequence[TopicPartition], broker_id: int
) -> set[TopicPartition]:
    names = list(dict.fromkeys(partition.topic for partition in partitions))
    topics = (await admin.topics.describe(names)).succeeded()
    return {
        TopicPartition(name, partition.index)
        for name, topic in topics.items()
        for partition in topic.partitions
        if partition.leader_id == broker_id
    }


async def _coordinated_partitions(
    admin: AdminOperations, producer_ids: Sequence[int]
) -> set[tuple[int, TopicPartition]]:
    """Return producer id and partition of all transactions that a coordinator will end."""
    listings = await admin.transactions.list_all(producer_ids=producer_ids)
    described = await admin.transactions.describe([listing.transactional_id for listing in listings])
    return {
        (transaction.producer_id, partition)
        for transaction in described.succeeded().values()
        for partition in transaction.partitions
    }


async def _producer_at(admin: AdminOperations, name: str, start_offset: int) -> tuple[TopicPartition, ProducerState]:
    """Return the partition, and the producer whose transaction starts at the offset. Raises InputError if none does."""
    if ":" not in name:
        raise InputError(f'"{name}" is not a valid partition. Expected TOPIC:PARTITION, for example orders:0.')
    partitions, unknown = await find_partitions(admin, [name])
    outcomes: Outcomes[TopicPartition, tuple[ProducerState, ...]] = (
        Outcomes(unknown) if unknown else await admin.transactions.describe_producers(partitions)
    )
    ((partition, producers),) = outcomes.items()
    if isinstance(producers, Refused):
        raise InputError(f"partition {partition}: {unknown_topic_advice(partition, producers) or producers.message}")
    for producer in producers:
        if producer.started_offset == start_offset:
            return partition, producer
    starts = [str(producer.started_offset) for producer in producers if producer.started_offset is not None]
    open_transactions = f"its open transactions start at {', '.join(starts)}" if starts else "no transaction is open"
    raise InputError(f"no transaction starts at offset {start_offset} of {partition}; {open_transactions}")


def _cells(transaction: TransactionDescription, settings: Settings) -> tuple[object, ...]:
    started_ms = transaction.started_ms
    return (
        transaction.transactional_id,
        transaction.state,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.timeout_ms,
        _NONE if started_ms is None else format_timestamp(started_ms, utc=settings.utc),
        ", ".join(map(str, transaction.partitions)) or _NONE,
    )


def _document(transaction: TransactionDescription) -> dict[str, object]:
    return {
        "transactional_id": transaction.transactional_id,
        "coordinator": str(transaction.coordinator),
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "state": transaction.state,
        "timeout_ms": transaction.timeout_ms,
        "started_ms": transaction.started_ms,
        "partitions": [_partition_document(partition) for partition in transaction.partitions],
    }


def _hanging_cells(transaction: _HangingTransaction, settings: Settings) -> tuple[object, ...]:
    producer = transaction.producer
    last = format_timestamp(producer.last_timestamp_ms, utc=settings.utc)
    return (*transaction.partition, producer.producer_id, producer.producer_epoch, producer.started_offset, last)


def _hanging_document(transaction: _HangingTransaction) -> dict[str, object]:
    return _partition_document(transaction.partition) | asdict(transaction.producer)


def _partition_document(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}


def _unknown_id_advice(key: object, error: Refused) -> str | None:
    if error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        return "does not exist; odradek transactions list shows all transactional ids"
    return None
