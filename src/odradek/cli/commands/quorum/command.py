"""`odradek quorum`: the controllers that keep the metadata log, and who of them votes.

odradek quorum describe --bootstrap-controller localhost:9093
odradek quorum add-voter -c config/controller-4.properties -b localhost:9092
odradek quorum remove-voter --id 3 --directory-id UUID -b localhost:9092
"""

import socket

import click

from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo, warn
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.output import print_json
from odradek.cli.commands.quorum.show import print_replication, print_status, replication_document, status_document
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.quorum import QuorumDescription, VoterEndpoint, add_voter, describe_quorum, remove_voter
from odradek.common.failures import ApiError, InputError
from odradek.common.files import OsFileSystem
from odradek.common.ids import uuid_from_text, uuid_to_text
from odradek.log.manager.meta_properties import MetaProperties, read_meta_properties
from odradek.protocol.error_codes import ErrorCode
from odradek.server.config.server_config import ServerConfig, load_server_config


@click.group()
@local_options
def quorum() -> None:
    """Show the quorum of controllers, and change who votes in it."""


@quorum.command("describe")
@click.option("--status", is_flag=True, help="Only who leads, who votes and how far behind they are.")
@click.option("--replication", is_flag=True, help="Only the table of replicas.")
@network_options
@click.pass_obj
def describe_command(settings: Settings, status: bool, replication: bool) -> None:
    """Show who leads, who votes, and how far each replica of the metadata log is."""
    cluster_id, description = on_cluster(settings, _describe)
    both = status == replication
    if settings.as_json:
        document = status_document(cluster_id, description) if status or both else {}
        if replication or both:
            document["replication"] = replication_document(description)
        print_json(document)
        return
    if status or both:
        print_status(cluster_id, description)
    if both:
        echo()
    if replication or both:
        print_replication(description, utc=settings.utc)


@quorum.command("add-voter")
@click.option("-c", "--config", "config_path", required=True, metavar="FILE", help="The file of the new controller.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@network_options
@click.pass_obj
def add_voter_command(settings: Settings, config_path: str, dry_run: bool) -> None:
    """Let a controller vote that runs and follows the quorum already.

    Its id, its addresses and its directory are read from its own file and from what that points at, so this runs where
    the controller does.
    """
    files = OsFileSystem()
    config = load_server_config(files, config_path)
    for warning in config.warnings:
        warn(warning)
    meta = _formatted(config, config_path, read_meta_properties(files, config.metadata_log_dir))
    directory_id = meta.directory_id or b""
    endpoints = _endpoints(config)
    if not dry_run:
        on_cluster(
            settings,
            lambda cluster: add_voter(cluster, meta.cluster_id or "", config.node_id, directory_id, endpoints),
        )
    where = [str(endpoint) for endpoint in endpoints]
    if settings.as_json:
        _print_change("added", dry_run, config.node_id, directory_id, {"endpoints": where})
        return
    said = "Would add" if dry_run else "Added"
    echo(f"{said} controller {config.node_id}, directory {uuid_to_text(directory_id)}, at {', '.join(where)}.")


@quorum.command("remove-voter")
@click.option("--id", "voter_id", type=click.IntRange(min=0), required=True, metavar="ID", help="The controller.")
@click.option("--directory-id", required=True, metavar="UUID", help="Its directory, as describe shows it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def remove_voter_command(settings: Settings, voter_id: int, directory_id: str, yes: bool) -> None:
    """Let a controller vote no longer. It goes on following; stop it afterwards, or it may be added again."""
    try:
        directory = uuid_from_text(directory_id)
    except ValueError as error:
        raise InputError(f"--directory-id: {error}") from None
    confirm(f"Controller {voter_id}, directory {directory_id}, will no longer vote in the quorum.", yes=yes)
    on_cluster(settings, lambda cluster: remove_voter(cluster, voter_id, directory))
    if settings.as_json:
        _print_change("removed", False, voter_id, directory, {})
    else:
        echo(f"Removed controller {voter_id}, directory {directory_id}.")


async def _describe(cluster: ClusterRouter) -> tuple[str | None, QuorumDescription]:
    """Without the cluster's id where controllers are too old to say it."""
    quorum = await describe_quorum(cluster)
    try:
        return (await cluster.describe()).cluster_id, quorum
    except ApiError as error:
        if error.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
        return None, quorum


def _formatted(config: ServerConfig, path: str, meta: MetaProperties | None) -> MetaProperties:
    """What the directory of the metadata log says, if a controller with it can vote."""
    directory = config.metadata_log_dir
    if not config.is_controller:
        raise InputError(f"{path}: process.roles: {','.join(config.roles)}: only a controller can vote")
    if meta is None:
        command = f"odradek storage format -t CLUSTER-ID -c {path} --no-initial-controllers"
        raise InputError(f"{directory} is not formatted; {command} would do it")
    if meta.directory_id is None:
        raise InputError(f"{directory}/meta.properties: directory.id is missing; a voter is known by it")
    if meta.node_id != config.node_id:
        raise InputError(f"{directory} belongs to node {meta.node_id}, but {path} is that of node {config.node_id}")
    return meta


def _endpoints(config: ServerConfig) -> tuple[VoterEndpoint, ...]:
    """A listener without a host is told under the machine's own name, as the controller itself does."""
    told = config.listeners.advertised_to_controllers
    return tuple(VoterEndpoint(each.name, each.host or socket.getfqdn(), each.port) for each in told)


def _print_change(what: str, dry_run: bool, voter_id: int, directory_id: bytes, more: dict[str, list[str]]) -> None:
    print_json({what: not dry_run, "id": voter_id, "directory_id": uuid_to_text(directory_id), **more})
