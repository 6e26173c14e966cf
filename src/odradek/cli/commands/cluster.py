"""`odradek cluster`: brokers, features and log directories of a cluster.

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
from odradek.cli.base.outcomes import report_rejected
from odradek.cli.base.output import UNKNOWN, print_json, print_table
from odradek.client.admin.cluster import NodesDescription
from odradek.client.admin.log_dirs import LogDir
from odradek.client.admin.operations import AdminOperations
from odradek.metadata.features.metadata_version import FEATURE_NAME, MetadataVersion


@click.group()
@local_options
def cluster() -> None:
    """Show brokers, features and log directories; unregister a broker."""


@cluster.command("describe")
@network_options
@click.pass_obj
def describe_command(settings: Settings) -> None:
    """Show the id and the brokers of the cluster; with --bootstrap-controller its controllers."""
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


async def _describe(admin: AdminOperations) -> NodesDescription:
    return await admin.cluster.describe(include_fenced=not admin.router.are_controllers)


@cluster.command("features")
@network_options
@click.pass_obj
def features_command(settings: Settings) -> None:
    """Show the finalized levels of features, and the levels that the responding node supports."""
    described = on_cluster(settings, lambda admin: admin.features.describe())
    if settings.as_json:
        documents = [
            {
                "name": feature.name,
                "supported_min": feature.supported_min,
                "supported_max": feature.supported_max,
                "finalized": feature.finalized,
            }
            for feature in described.features
        ]
        print_json({"epoch": described.epoch, "features": documents})
        return
    rows = [
        (
            feature.name,
            _level(feature.name, feature.finalized),
            _level(feature.name, feature.supported_min),
            _level(feature.name, feature.supported_max),
        )
        for feature in described.features
    ]
    print_table(("feature", "level", "from", "to"), rows)


def _level(feature: str, level: int) -> str:
    """Format a level; a known level of metadata.version as its name, as Kafka's tool does."""
    if feature == FEATURE_NAME and level in set(MetadataVersion):
        return MetadataVersion(level).version
    return str(level)


@cluster.command("log-dirs")
@click.option(
    "--broker",
    "brokers",
    multiple=True,
    type=click.IntRange(min=0),
    metavar="ID",
    help="Only this broker; may be repeated.",
)
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Only replicas of this topic; may be repeated.")
@network_options
@click.pass_obj
def log_dirs_command(settings: Settings, brokers: tuple[int, ...], topics: tuple[str, ...]) -> int:
    """Show the log directories of brokers: replicas, sizes, lag, and free space."""
    outcomes = on_cluster(settings, lambda admin: admin.log_dirs.describe(brokers or None))
    log_dirs = outcomes.succeeded()
    failed = [
        (broker_id, log_dir) for broker_id, dirs in log_dirs.items() for log_dir in dirs if log_dir.error is not None
    ]
    if settings.as_json:
        print_json(
            [
                {"broker": broker_id, "log_dirs": [_document(log_dir, topics) for log_dir in dirs]}
                for broker_id, dirs in log_dirs.items()
            ]
        )
    else:
        _print_log_dirs(log_dirs, topics)
    for broker_id, log_dir in failed:
        warn(f"broker {broker_id}: {log_dir.path}: {log_dir.error}")
    return report_rejected(outcomes, "broker") or int(bool(failed))


@cluster.command("unregister")
@click.argument("broker_id", metavar="ID", type=click.IntRange(min=0))
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def unregister_command(settings: Settings, broker_id: int, yes: bool) -> None:
    """Unregister a broker that will not return. Stop it first: a running broker registers again."""
    confirm(f"Broker {broker_id} will be unregistered; partitions that only it has are lost.", yes=yes)
    on_cluster(settings, lambda admin: admin.cluster.unregister_broker(broker_id))
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


def _print_log_dirs(log_dirs: dict[int, tuple[LogDir, ...]], topics: tuple[str, ...]) -> None:
    """Print a row for each directory, or with topics a row for each replica of theirs."""
    if not topics:
        rows = []
        for broker_id, dirs in log_dirs.items():
            for log_dir in dirs:
                size_bytes = sum(info.size_bytes for info in log_dir.replicas.values())
                free_bytes = UNKNOWN if log_dir.usable_bytes is None else log_dir.usable_bytes
                rows.append((broker_id, len(log_dir.replicas), size_bytes, free_bytes, log_dir.path))
        print_table(("broker", "replicas", "bytes", "free bytes", "directory"), rows)
        return
    replicas = [
        (*partition, broker_id, info.size_bytes, info.offset_lag, "moving in" if info.is_future else "", log_dir.path)
        for broker_id, dirs in log_dirs.items()
        for log_dir in dirs
        for partition, info in log_dir.replicas.items()
        if partition.topic in topics
    ]
    print_table(("topic", "partition", "broker", "bytes", "lag", "", "directory"), sorted(replicas))
