"""`odradek quorum`: replicas of the metadata log, and changes of its voters.

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
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.quorum import QuorumDescription, VoterEndpoint
from odradek.common.failures import ApiError, InputError
from odradek.common.files import OsFileSystem
from odradek.common.ids import uuid_from_text, uuid_to_text
from odradek.log.manager.meta_properties import MetaProperties, read_meta_properties
from odradek.protocol.error_codes import ErrorCode
from odradek.server.config.server_config import ServerConfig, load_server_config


@click.group()
@local_options
def quorum() -> None:
    """Show the quorum of controllers; add and remove voters."""


@quorum.command("describe")
@click.option("--status", is_flag=True, help="Only the leader, the voters and their lag.")
@click.option("--replication", is_flag=True, help="Only the table of replicas.")
@network_options
@click.pass_obj
def describe_command(settings: Settings, status: bool, replication: bool) -> None:
    """Show the leader, the voters, and the replicas of the metadata log with their lag."""
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
@click.option(
    "-c", "--config", "config_path", required=True, metavar="FILE", help="Properties file of the new controller."
)
@click.option("--dry-run", is_flag=True, help="Show the change without making it.")
@network_options
@click.pass_obj
def add_voter_command(settings: Settings, config_path: str, dry_run: bool) -> None:
    """Add a running controller, which follows the quorum already, to the voters.

    Its id, its addresses and its directory id are read from its properties file and its metadata directory, so run this
    on the host of the controller.
    """
    files = OsFileSystem()
    config = load_server_config(files, config_path)
    for warning in config.warnings:
        warn(warning)
    meta = _checked_properties(config, config_path, read_meta_properties(files, config.metadata_log_dir))
    directory_id = meta.directory_id or b""
    endpoints = _endpoints(config)
    if not dry_run:
        on_cluster(
            settings,
            lambda admin: admin.quorum.add_voter(meta.cluster_id or "", config.node_id, directory_id, endpoints),
        )
    addresses = [str(endpoint) for endpoint in endpoints]
    if settings.as_json:
        _print_change("added", dry_run, config.node_id, directory_id, {"endpoints": addresses})
        return
    verb = "Would add" if dry_run else "Added"
    echo(f"{verb} controller {config.node_id}, directory {uuid_to_text(directory_id)}, at {', '.join(addresses)}.")


@quorum.command("remove-voter")
@click.option("--id", "voter_id", type=click.IntRange(min=0), required=True, metavar="ID", help="Id of the controller.")
@click.option("--directory-id", required=True, metavar="UUID", help="Id of its directory, as describe shows it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def remove_voter_command(settings: Settings, voter_id: int, directory_id: str, yes: bool) -> None:
    """Remove a controller from the voters. It continues as an observer until it is stopped."""
    try:
        directory = uuid_from_text(directory_id)
    except ValueError as error:
        raise InputError(f"--directory-id: {error}") from None
    confirm(f"Controller {voter_id}, directory {directory_id}, will no longer vote in the quorum.", yes=yes)
    on_cluster(settings, lambda admin: admin.quorum.remove_voter(voter_id, directory))
    if settings.as_json:
        _print_change("removed", False, voter_id, directory, {})
    else:
        echo(f"Removed controller {voter_id}, directory {directory_id}.")


async def _describe(admin: AdminOperations) -> tuple[str | None, QuorumDescription]:
    """Return the id of the cluster and its quorum; None if the controllers are too old to return the id."""
    quorum = await admin.quorum.describe()
    try:
        return (await admin.router.describe()).cluster_id, quorum
    except ApiError as error:
        if error.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
        return None, quorum


def _checked_properties(config: ServerConfig, path: str, meta: MetaProperties | None) -> MetaProperties:
    """Return the properties of the metadata directory. Raises InputError if the controller cannot be a voter."""
    directory = config.metadata_log_dir
    if not config.is_controller:
        raise InputError(f"{path}: process.roles: {','.join(config.roles)}: only a controller can vote")
    if meta is None:
        command = f"odradek storage format -t CLUSTER-ID -c {path} --no-initial-controllers"
        raise InputError(f"{directory} is not formatted; run {command}")
    if meta.directory_id is None:
        raise InputError(f"{directory}/meta.properties: directory.id is missing; it identifies a voter")
    if meta.node_id != config.node_id:
        raise InputError(f"{directory} belongs to node {meta.node_id}, but {path} configures node {config.node_id}")
    return meta


def _endpoints(config: ServerConfig) -> tuple[VoterEndpoint, ...]:
    """Return the advertised addresses; a listener without a host gets the host name, as in the controller itself."""
    listeners = config.listeners.advertised_to_controllers
    return tuple(
        VoterEndpoint(listener.name, listener.host or socket.getfqdn(), listener.port) for listener in listeners
    )


def _print_change(change: str, dry_run: bool, voter_id: int, directory_id: bytes, more: dict[str, list[str]]) -> None:
    print_json({change: not dry_run, "id": voter_id, "directory_id": uuid_to_text(directory_id), **more})
