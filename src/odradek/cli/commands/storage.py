"""`odradek storage`: format the directories of a node, and look at them.

odradek storage random-uuid
odradek storage format -t CLUSTER-ID -c server.properties --standalone
odradek storage info -c server.properties
"""

from typing import Any

import click

from odradek.cli.base.errors import echo, warn
from odradek.cli.base.options import Settings, local_options
from odradek.cli.base.output import print_json, print_table
from odradek.common.files import OsFileSystem
from odradek.common.ids import uuid_to_text
from odradek.common.system import SystemClock
from odradek.common.uuids import random_uuid
from odradek.metadata.features import metadata_version
from odradek.server.config.server_config import ServerConfig, load_server_config
from odradek.server.storage.format import FormatPlan, FormatRequest, plan_format, run_format
from odradek.server.storage.report import DirectoryInfo, StorageInfo, read_storage

_config_option = click.option("-c", "--config", "config_path", required=True, metavar="FILE", help="The node's file.")


@click.group()
@local_options
def storage() -> None:
    """Format the directories of a node, and look at them."""


@storage.command("random-uuid")
@local_options
@click.pass_obj
def random_uuid_command(settings: Settings) -> None:
    """Print an id for a cluster or a directory."""
    text = uuid_to_text(random_uuid())
    if settings.as_json:
        print_json({"uuid": text})
    else:
        echo(text)


@storage.command("format")
@click.option("-t", "--cluster-id", required=True, metavar="UUID", help="The same for all nodes of a cluster.")
@_config_option
@click.option("-g", "--ignore-formatted", is_flag=True, help="Leave directories that are formatted as they are.")
@click.option("-s", "--standalone", is_flag=True, help="This controller is the only voter at first.")
@click.option("-I", "--initial-controllers", metavar="ID@HOST:PORT:DIRECTORY[,…]", help="The first voters.")
@click.option("-N", "--no-initial-controllers", is_flag=True, help="The quorum is there already; this node joins it.")
@click.option("-f", "--feature", "features", multiple=True, metavar="NAME=LEVEL", help="Another level than usual.")
@click.option("-r", "--release-version", metavar="VERSION", help="Features of this release, for example 4.2.")
@click.option("-S", "--add-scram", "scram", multiple=True, metavar="MECHANISM=[…]", help="A user of the new cluster.")
@local_options
@click.pass_obj
def format_command(settings: Settings, /, config_path: str, **options: Any) -> None:
    """Make the directories of a node belong to a cluster.

    The voters are in the node's file (controller.quorum.voters), or one of --standalone, --initial-controllers and
    --no-initial-controllers says who they are.
    """
    asked = ("standalone", "initial_controllers", "no_initial_controllers")
    if sum(bool(options[name]) for name in asked) > 1:
        raise click.UsageError("--standalone, --initial-controllers and --no-initial-controllers exclude each other.")
    files = OsFileSystem()
    config = _load(files, config_path)
    plan = plan_format(files, config, FormatRequest(**options), random_uuid)
    run_format(files, plan, SystemClock().wall_ms())
    if settings.as_json:
        print_json(_format_document(config, plan))
    else:
        _print_formatted(plan)


@storage.command("info")
@_config_option
@local_options
@click.pass_obj
def info_command(settings: Settings, config_path: str) -> int:
    """Show what the directories of a node say about themselves. Fails if something is wrong with them."""
    files = OsFileSystem()
    info = read_storage(files, _load(files, config_path))
    if settings.as_json:
        print_json({"directories": [_directory(one) for one in info.directories], "problems": list(info.problems)})
    else:
        _print_info(info)
    return 1 if info.problems else 0


def _load(files: OsFileSystem, path: str) -> ServerConfig:
    config = load_server_config(files, path)
    for warning in config.warnings:
        warn(warning)
    return config


def _print_formatted(plan: FormatPlan) -> None:
    for path in plan.already_formatted:
        echo(f"{path} is formatted already; it stays as it is.")
    for directory in plan.directories:
        version = plan.features.metadata_version.version
        echo(f"Formatted {directory.kind} {directory.path} with {metadata_version.FEATURE_NAME} {version}.")


def _format_document(config: ServerConfig, plan: FormatPlan) -> dict[str, Any]:
    return {
        "node_id": config.node_id,
        "metadata_version": plan.features.metadata_version.version,
        "features": dict(plan.features.levels),
        "formatted": [
            {"path": one.path, "kind": one.kind, "directory_id": uuid_to_text(one.meta.directory_id or b"")}
            for one in plan.directories
        ],
        "already_formatted": list(plan.already_formatted),
    }


def _directory(info: DirectoryInfo) -> dict[str, Any]:
    meta = info.meta
    if meta is None:
        return {"path": info.path, "formatted": False}
    directory_id = None if meta.directory_id is None else uuid_to_text(meta.directory_id)
    return {
        "path": info.path,
        "formatted": True,
        "version": meta.version,
        "cluster_id": meta.cluster_id,
        "node_id": meta.node_id,
        "directory_id": directory_id,
        "features": info.features,
    }


def _print_info(info: StorageInfo) -> None:
    rows = []
    for one in map(_directory, info.directories):
        features = " ".join(f"{name}={level}" for name, level in one.get("features", {}).items())
        rows.append((*(one.get(key) or "-" for key in ("path", "cluster_id", "node_id", "directory_id")), features))
    if rows:
        print_table(("directory", "cluster id", "node", "directory id", "features at first"), rows)
    for problem in info.problems:
        warn(problem)
