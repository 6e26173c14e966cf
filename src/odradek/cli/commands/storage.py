"""`odradek storage`: format and show the directories of a node.

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
from odradek.common.system_clock import SystemClock
from odradek.common.uuids import random_uuid
from odradek.metadata.features import metadata_version
from odradek.server.config.server_config import ServerConfig, load_server_config
from odradek.server.storage.format import FormatPlan, FormatRequest, plan_format, run_format
from odradek.server.storage.report import DirectoryInfo, StorageInfo, read_storage

_config_option = click.option(
    "-c", "--config", "config_path", required=True, metavar="FILE", help="Properties file of the node."
)


@click.group()
@local_options
def storage() -> None:
    """Format and show the directories of a node."""


@storage.command("random-uuid")
@local_options
@click.pass_obj
def random_uuid_command(settings: Settings) -> None:
    """Print a random id for a cluster or a directory."""
    text = uuid_to_text(random_uuid())
    if settings.as_json:
        print_json({"uuid": text})
    else:
        echo(text)


@storage.command("format")
@click.option(
    "-t", "--cluster-id", required=True, metavar="UUID", help="Id of the cluster, the same for all its nodes."
)
@_config_option
@click.option("-g", "--ignore-formatted", is_flag=True, help="Skip directories that are already formatted.")
@click.option("-s", "--standalone", is_flag=True, help="Start with this controller as the only voter.")
@click.option("-I", "--initial-controllers", metavar="ID@HOST:PORT:DIRECTORY[,…]", help="Initial voters.")
@click.option("-N", "--no-initial-controllers", is_flag=True, help="Join an existing quorum.")
@click.option(
    "-f",
    "--feature",
    "features",
    multiple=True,
    metavar="NAME=LEVEL",
    help="Level of a feature, instead of the default.",
)
@click.option("-r", "--release-version", metavar="VERSION", help="Use the features of a release, for example 4.2.")
@click.option("-S", "--add-scram", "scram", multiple=True, metavar="MECHANISM=[…]", help="SCRAM credential of a user.")
@local_options
@click.pass_obj
def format_command(settings: Settings, /, config_path: str, **options: Any) -> None:
    """Format the directories of a node for a cluster.

    The voters are those of controller.quorum.voters in the properties file, or are set with --standalone,
    --initial-controllers or --no-initial-controllers.
    """
    exclusive = ("standalone", "initial_controllers", "no_initial_controllers")
    if sum(bool(options[name]) for name in exclusive) > 1:
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
    """Show the properties of the directories of a node. Exit status 1 if there are problems."""
    files = OsFileSystem()
    info = read_storage(files, _load(files, config_path))
    if settings.as_json:
        print_json(
            {
                "directories": [_directory_document(directory) for directory in info.directories],
                "problems": list(info.problems),
            }
        )
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
        echo(f"{path} is already formatted; skipped.")
    for directory in plan.directories:
        version = plan.features.metadata_version.version
        echo(f"Formatted {directory.kind} {directory.path} with {metadata_version.FEATURE_NAME} {version}.")


def _format_document(config: ServerConfig, plan: FormatPlan) -> dict[str, Any]:
    return {
        "node_id": config.node_id,
        "metadata_version": plan.features.metadata_version.version,
        "features": dict(plan.features.levels),
        "formatted": [
            {
                "path": directory.path,
                "kind": directory.kind,
                "directory_id": uuid_to_text(directory.meta.directory_id or b""),
            }
            for directory in plan.directories
        ],
        "already_formatted": list(plan.already_formatted),
    }


def _directory_document(info: DirectoryInfo) -> dict[str, Any]:
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
    for document in map(_directory_document, info.directories):
        features = " ".join(f"{name}={level}" for name, level in document.get("features", {}).items())
        rows.append(
            (*(document.get(key) or "-" for key in ("path", "cluster_id", "node_id", "directory_id")), features)
        )
    if rows:
        print_table(("directory", "cluster id", "node", "directory id", "initial features"), rows)
    for problem in info.problems:
        warn(problem)
