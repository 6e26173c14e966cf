"""`odradek perf`: how fast a cluster takes and gives records, and how long one takes from end to end.

odradek perf produce orders --records 1000000 --size 100
odradek perf consume orders --records 1000000
odradek perf latency orders --records 1000

On a terminal the figures change as it runs; elsewhere there is a line every few seconds. A table stands at the end, or
with --format json one document.
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
    """What is asked of a run."""

    topic: str
    records: int
    size_bytes: int = 0
    #: Records a second; 0 is as many as there can be.
    throughput: float = 0
    at_once: int = 1
    timeout_s: float = 0


@click.group()
@local_options
def perf() -> None:
    """Measure how fast a cluster takes and gives records.

    \b
    odradek perf produce orders --records 1000000 --size 100
    odradek perf consume orders --records 1000000
    odradek perf latency orders --records 1000

    They write to the topic, or read it from its beginning: take one that is there for it.
    """
    plain = plain_modules()
    if plain:
        echo(describe(plain), err=True)


@perf.command("produce", short_help="How many records a second can be sent.")
@_topic
@click.option("-n", "--records", type=_NATURAL, default=100_000, show_default=True, metavar="N")
@_size
@click.option("--throughput", type=float, default=0, metavar="N", help="Records a second [default: no limit].")
@click.option("--at-once", type=_NATURAL, default=1, metavar="N", help="Records in one call [default: 1].")
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
    at_once: int,
    acks: str | None,
    compression: str | None,
    properties: tuple[str, ...],
) -> None:
    """Send records, and measure how many a second and how long each takes to be acknowledged."""
    from odradek.cli.commands.perf.produce import produce_load

    if throughput < 0:
        raise InputError(f"--throughput: {throughput:g} is no rate; 0 is without limit.")
    config = client_config(settings, Kind.PRODUCER, properties, {"acks": acks, "compression.type": compression})
    asyncio.run(produce_load(settings, config, Load(topic, records, size_bytes, throughput, at_once)))


@perf.command("consume", short_help="How many records a second can be read.")
@_topic
@click.option("-n", "--records", type=_NATURAL, default=100_000, show_default=True, metavar="N")
@click.option("--columns", is_flag=True, help="Whole chunks at a time, as columns: consumer.batches().")
@click.option(
    "--timeout",
    "timeout_s",
    type=float,
    default=10,
    show_default=True,
    metavar="S",
    help="Give up after S seconds without a record.",
)
@property_option
@network_options
@click.pass_obj
def consume_command(
    settings: Settings, topic: str, records: int, columns: bool, timeout_s: float, properties: tuple[str, ...]
) -> None:
    """Read records from the beginning of TOPIC, and measure how many a second."""
    from odradek.cli.commands.perf.consume import consume_load

    config = client_config(settings, Kind.CONSUMER, properties, {}, {"allow.auto.create.topics": False})
    asyncio.run(consume_load(settings, config, Load(topic, records, timeout_s=timeout_s), columns=columns))


@perf.command("latency", short_help="How long a record takes from producer to consumer.")
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
    """Send one record after the other, and measure how long each takes until a consumer has it."""
    from odradek.cli.commands.perf.latency import latency_load

    own = {kind: [each for each in properties if applies_to(kind, each.partition("=")[0])] for kind in Kind}
    producing = client_config(settings, Kind.PRODUCER, own[Kind.PRODUCER], {"acks": acks}, {"linger.ms": 0})
    consuming = client_config(settings, Kind.CONSUMER, own[Kind.CONSUMER], {}, {"allow.auto.create.topics": False})
    asyncio.run(latency_load(settings, producing, consuming, Load(topic, records, size_bytes)))
