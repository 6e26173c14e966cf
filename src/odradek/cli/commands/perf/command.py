"""`odradek perf`: throughput of producing and consuming, and end-to-end latency.

odradek perf produce orders --records 1000000 --size 100
odradek perf consume orders --records 1000000
odradek perf latency orders --records 1000

On a terminal the metrics are updated during the run; elsewhere a line is written every few seconds. The result is a
table, or a document with --format json.
"""

import asyncio
from dataclasses import dataclass

import click

from odradek.cli.base.client_options import applies_to, client_config, property_option
from odradek.cli.base.complete import complete_topics
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.client.settings.parsing import Kind
from odradek.common.failures import InputError
from odradek.common.hot_modules import describe, plain_modules

_NATURAL = click.IntRange(min=1)
_CODECS = click.Choice(("none", "gzip", "snappy", "lz4", "zstd"))

_topic = click.argument("topic", metavar="TOPIC", shell_complete=complete_topics)
_size = click.option("--size", "size_bytes", type=_NATURAL, default=100, show_default=True, metavar="BYTES")
_acks = click.option("--acks", type=click.Choice(("0", "1", "all")), help="[default: all]")


@dataclass(frozen=True, slots=True)
class Load:
    """Parameters of a run."""

    topic: str
    records: int
    size_bytes: int = 0
    #: Records per second; 0 is unlimited.
    throughput: float = 0
    batch_records: int = 1
    timeout_s: float = 0


@click.group()
@local_options
def perf() -> None:
    """Measure the throughput and latency of a cluster.

    \b
    odradek perf produce orders --records 1000000 --size 100
    odradek perf consume orders --records 1000000
    odradek perf latency orders --records 1000

    The commands write to the topic, or read it from the beginning: use a topic for tests.
    """
    plain = plain_modules()
    if plain:
        echo(describe(plain), err=True)


@perf.command("produce", short_help="Measure the throughput of a producer.")
@_topic
@click.option("-n", "--records", type=_NATURAL, default=100_000, show_default=True, metavar="N")
@_size
@click.option(
    "--throughput", type=float, default=0, metavar="N", help="Limit in records per second [default: no limit]."
)
@click.option(
    "--at-once",
    "batch_records",
    type=_NATURAL,
    default=1,
    metavar="N",
    help="Records per call [default: 1].",
)
@_acks
@click.option("-z", "--compression", type=_CODECS, help="[default: none]")
@property_option
@network_options
@click.pass_obj
def produce_command(
    settings: Settings,
    topic: str,
    records: int,
    size_bytes: int,
    throughput: float,
    batch_records: int,
    acks: str | None,
    compression: str | None,
    properties: tuple[str, ...],
) -> None:
    """Send records, and measure throughput and the latency of acknowledgements."""
    from odradek.cli.commands.perf.produce import produce_load

    if throughput < 0:
        raise InputError(f"--throughput: {throughput:g} is not a valid rate. Expected at least 0, which is unlimited.")
    config = client_config(settings, Kind.PRODUCER, properties, {"acks": acks, "compression.type": compression})
    asyncio.run(produce_load(settings, config, Load(topic, records, size_bytes, throughput, batch_records)))


@perf.command("consume", short_help="Measure the throughput of a consumer.")
@_topic
@click.option("-n", "--records", type=_NATURAL, default=100_000, show_default=True, metavar="N")
@click.option("--columns", is_flag=True, help="Read chunks of records as columns, with consumer.batches().")
@click.option(
    "--timeout",
    "timeout_s",
    type=float,
    default=10,
    show_default=True,
    metavar="S",
    help="Fail after S seconds without a record.",
)
@property_option
@network_options
@click.pass_obj
def consume_command(
    settings: Settings, topic: str, records: int, columns: bool, timeout_s: float, properties: tuple[str, ...]
) -> None:
    """Read TOPIC from the beginning, and measure throughput."""
    from odradek.cli.commands.perf.consume import consume_load

    config = client_config(settings, Kind.CONSUMER, properties, {}, {"allow.auto.create.topics": False})
    asyncio.run(consume_load(settings, config, Load(topic, records, timeout_s=timeout_s), columns=columns))


@perf.command("latency", short_help="Measure the latency from producer to consumer.")
@_topic
@click.option("-n", "--records", type=_NATURAL, default=1_000, show_default=True, metavar="N")
@_size
@_acks
@property_option
@network_options
@click.pass_obj
def latency_command(
    settings: Settings, topic: str, records: int, size_bytes: int, acks: str | None, properties: tuple[str, ...]
) -> None:
    """Send one record after the other, and measure the time until a consumer has received it."""
    from odradek.cli.commands.perf.latency import latency_load

    producer_properties, consumer_properties = (
        [text for text in properties if applies_to(client_kind, text.partition("=")[0])]
        for client_kind in (Kind.PRODUCER, Kind.CONSUMER)
    )
    producer = client_config(settings, Kind.PRODUCER, producer_properties, {"acks": acks}, {"linger.ms": 0})
    consumer = client_config(settings, Kind.CONSUMER, consumer_properties, {}, {"allow.auto.create.topics": False})
    asyncio.run(latency_load(settings, producer, consumer, Load(topic, records, size_bytes)))
