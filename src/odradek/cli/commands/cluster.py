"""`odradek cluster`: the brokers of a cluster, its features, and where its data lies.

odradek cluster describe
odradek cluster features
odradek cluster log-dirs --topic orders
odradek cluster unregister 4 --yes
"""

from typing import Any

import click

from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo, warn
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.outcomes import accepted, status_of
from odradek.cli.base.output import UNKNOWN, print_json, print_table
from odradek.client.admin.cluster import (
    LogDir,
    NodesDescription,
    describe_features,
    describe_log_dirs,
    describe_nodes,
    unregister_broker,
)
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.metadata.features.metadata_version import FEATURE_NAME, MetadataVersion


@click.group()
@local_options
def cluster() -> None:
    """Show brokers, features and log directories; unregister a broker."""


@cluster.command("describe")
@network_options
@click.pass_obj
def describe_command(settings: Settings) -> None:
    """Show the cluster's id and its brokers; with --bootstrap-controller its controllers."""
    described = on_cluster(settings, _describe)
    if settings.as_json:
        nodes = [
            {"id": node.id, "host": node.host, "port": node.port, "rack": node.rack, "fenced": node.is_fenced}
            for node in described.nodes
        ]
        print_json({"cluster_id": described.cluster_id, "controller_id": described.controller_id, "nodes": nodes})
        return
    echo(f"cluster {described.cluster_id}")
    rows = [
        (node.id, f"{node.host}:{node.port}", node.rack or "-", "fenced" if node.is_fenced else "active")
        for node in described.nodes
    ]
    print_table(("node", "address", "rack", "state"), rows)


async def _describe(cluster: ClusterRouter) -> NodesDescription:
    return await describe_nodes(cluster, include_fenced=not cluster.are_controllers)


@cluster.command("features")
@network_options
@click.pass_obj
def features_command(settings: Settings) -> None:
    """Show which features the cluster uses, and which levels the node that answers could use."""
    found = on_cluster(settings, describe_features)
    if settings.as_json:
        features = [
            {
                "name": each.name,
                "supported_min": each.supported_min,
                "supported_max": each.supported_max,
                "finalized": each.finalized,
            }
            for each in found.features
        ]
        print_json({"epoch": found.epoch, "features": features})
        return
    rows = [
        (each.name, *(_level(each.name, level) for level in (each.finalized, each.supported_min, each.supported_max)))
        for each in found.features
    ]
    print_table(("feature", "level", "from", "to"), rows)


def _level(feature: str, level: int) -> str:
    """Of the metadata's version the name, as Kafka's tool shows it; a newer one than we know is a number."""
    if feature == FEATURE_NAME and level in set(MetadataVersion):
        return MetadataVersion(level).version
    return str(level)


@cluster.command("log-dirs")
@click.option("--broker", "brokers", multiple=True, type=click.IntRange(min=0), metavar="ID", help="May be repeated.")
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Only this one; may be repeated.")
@network_options
@click.pass_obj
def log_dirs_command(settings: Settings, brokers: tuple[int, ...], topics: tuple[str, ...]) -> int:
    """Show the log directories of brokers: their replicas, sizes and lag, and the room that is left."""
    outcomes = on_cluster(settings, lambda each: describe_log_dirs(each, brokers or None))
    found = accepted(outcomes)
    failed = [(broker_id, each) for broker_id, dirs in found.items() for each in dirs if each.error is not None]
    if settings.as_json:
        print_json(
            [
                {"broker": broker_id, "log_dirs": [_document(each, topics) for each in dirs]}
                for broker_id, dirs in found.items()
            ]
        )
    else:
        _print_log_dirs(found, topics)
    for broker_id, each in failed:
        warn(f"broker {broker_id}: {each.path}: {each.error}")
    return status_of(outcomes, "broker") or int(bool(failed))


@cluster.command("unregister")
@click.argument("broker_id", metavar="ID", type=click.IntRange(min=0))
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def unregister_command(settings: Settings, broker_id: int, yes: bool) -> None:
    """Forget a broker that will not come back. Stop it first: one that runs registers again."""
    confirm(f"Broker {broker_id} will be forgotten; partitions that only it has are lost.", yes=yes)
    on_cluster(settings, lambda each: unregister_broker(each, broker_id))
    if settings.as_json:
        print_json({"id": broker_id, "unregistered": True})
    else:
        echo(f"Unregistered broker {broker_id}.")


def _document(log_dir: LogDir, topics: tuple[str, ...]) -> dict[str, Any]:
    return {
        "path": log_dir.path,
        "error": None if log_dir.error is None else log_dir.error.message,
        "total_bytes": log_dir.total_bytes,
        "usable_bytes": log_dir.usable_bytes,
        "replicas": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "size_bytes": info.size_bytes,
                "offset_lag": info.offset_lag,
                "future": info.is_future,
            }
            for partition, info in log_dir.replicas.items()
            if not topics or partition.topic in topics
        ],
    }


def _print_log_dirs(found: dict[int, tuple[LogDir, ...]], topics: tuple[str, ...]) -> None:
    """Of each directory the sum; of topics that are named, each replica."""
    if not topics:
        rows = []
        for broker_id, dirs in found.items():
            for each in dirs:
                size = sum(info.size_bytes for info in each.replicas.values())
                room = UNKNOWN if each.usable_bytes is None else each.usable_bytes
                rows.append((broker_id, len(each.replicas), size, room, each.path))
        print_table(("broker", "replicas", "bytes", "bytes left", "directory"), rows)
        return
    replicas = [
        (*partition, broker_id, info.size_bytes, info.offset_lag, "moving in" if info.is_future else "", each.path)
        for broker_id, dirs in found.items()
        for each in dirs
        for partition, info in each.replicas.items()
        if partition.topic in topics
    ]
    print_table(("topic", "partition", "broker", "bytes", "lag", "", "directory"), sorted(replicas))
