"""`odradek metadata`: the metadata of a cluster as a tree.

odradek metadata tree --bootstrap-controller localhost:9093
odradek metadata tree image/topics -s /var/lib/odradek
odradek metadata cat image/topics/byName/orders/0 -s 00000000000000000148-0000000002.checkpoint
"""

import shutil
import sys
from collections.abc import Callable
from typing import Any

import click

from odradek.cli.base.connection import on_cluster
from odradek.cli.base.options import Settings, local_options, network_options
from odradek.cli.base.output import print_json
from odradek.cli.commands.metadata.image_tree import Leaf, Node, document, find, root, sorted_names
from odradek.cli.commands.metadata.show import pretty_json, tree_lines
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.metadata_log_fetch import FetchedLog, fetch_metadata_log
from odradek.client.admin.operations import AdminOperations
from odradek.common.failures import InputError
from odradek.inspection.metadata_source import image_from_fetched, image_from_path
from odradek.metadata.image.image import MetadataImage

#: Names that an error lists.
_NAMES_MAX = 12


def _source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    secrets = click.option("--secrets", is_flag=True, help="Show keys and passwords too.")
    help_text = (
        "A metadata snapshot, or the directory of a node, also of a running one [default: read from the cluster]."
    )
    source = click.option("-s", "--source", "--snapshot", "source", metavar="FILE|DIR", help=help_text)
    return source(secrets(network_options(command)))


@click.group()
@local_options
def metadata() -> None:
    """Show the metadata of a cluster as a tree: brokers, topics, partitions, settings, features, quotas, ACLs.

    The names are those of Kafka's metadata shell. Nothing is changed.
    """


@metadata.command("tree")
@click.argument("path", default="")
@_source_options
@click.pass_obj
def tree_command(settings: Settings, path: str, source: str | None, secrets: bool) -> None:
    """Show the tree below PATH, for example image/topics/byName, or the whole tree."""
    node = _find(_image(settings, source), path, secrets)
    if settings.as_json:
        print_json(document(node))
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in tree_lines(node):
        sys.stdout.write((line if columns is None or len(line) <= columns else line[: columns - 1] + "…") + "\n")


@metadata.command("cat")
@click.argument("path")
@_source_options
@click.pass_obj
def cat_command(settings: Settings, path: str, source: str | None, secrets: bool) -> None:
    """Print the value at PATH as JSON, for example image/topics/byName/orders/0."""
    content = document(_find(_image(settings, source), path, secrets))
    if settings.as_json:
        print_json(content)
    else:
        sys.stdout.write(pretty_json(content) + "\n")


def _image(settings: Settings, source: str | None) -> MetadataImage:
    if source is None:
        return image_from_fetched(on_cluster(settings, _fetch))
    if settings.bootstrap or settings.bootstrap_controller:
        raise click.UsageError("--source and the addresses of a cluster exclude each other.")
    return image_from_path(source)


async def _fetch(admin: AdminOperations) -> FetchedLog:
    """Fetch the metadata log from the controllers; brokers only know their addresses."""
    if admin.router.are_controllers:
        return await fetch_metadata_log(admin.router)
    addresses = (await admin.quorum.describe()).controllers
    if not addresses:
        raise InputError("the brokers do not return the addresses of controllers; use --bootstrap-controller")
    async with ClusterRouter(addresses, admin.router.config, are_controllers=True) as controllers:
        return await fetch_metadata_log(controllers)


def _find(image: MetadataImage, path: str, secrets: bool) -> Node:
    names = [name for name in path.split("/") if name]
    node, missing = find(root(image, secrets=secrets), names)
    if not missing:
        return node
    parent = "/".join(names[: len(names) - len(missing)])
    if isinstance(node, Leaf):
        raise InputError(f"{path}: {parent} is a value and has no children")
    children = sorted_names(node.children())
    listed = ", ".join(children[:_NAMES_MAX]) or "nothing"
    more = f" and {len(children) - _NAMES_MAX} more" if len(children) > _NAMES_MAX else ""
    raise InputError(f"{path}: {parent or 'the root'} has no child {missing[0]}, only {listed}{more}")
