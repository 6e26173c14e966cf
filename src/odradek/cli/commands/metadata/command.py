"""`odradek metadata`: what a cluster knows of itself, as a tree.

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
from odradek.client.admin.quorum import describe_quorum
from odradek.common.failures import InputError
from odradek.inspection.metadata_source import image_from_fetched, image_from_path
from odradek.metadata.image.image import MetadataImage

#: Names that an error lists.
_NAMES_MAX = 12


def _source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    secrets = click.option("--secrets", is_flag=True, help="Show keys and passwords too.")
    where = "A metadata snapshot, or the directory of a node; it may be running. Without it, a cluster is asked."
    source = click.option("-s", "--source", "--snapshot", "source", metavar="FILE|DIR", help=where)
    return source(secrets(network_options(command)))


@click.group()
@local_options
def metadata() -> None:
    """Look into a cluster's metadata as a tree: brokers, topics, partitions, settings, features, quotas, ACLs.

    The names are those of Kafka's metadata shell. Nothing is ever changed.
    """


@metadata.command("tree")
@click.argument("path", default="")
@_source_options
@click.pass_obj
def tree_command(settings: Settings, path: str, source: str | None, secrets: bool) -> None:
    """Show all below PATH, for example image/topics/byName; without it, everything."""
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
    """Print what is at PATH as JSON, for example image/topics/byName/orders/0."""
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


async def _fetch(cluster: ClusterRouter) -> FetchedLog:
    """Only controllers have the metadata log to give; brokers know where they are."""
    if cluster.are_controllers:
        return await fetch_metadata_log(cluster)
    addresses = (await describe_quorum(cluster)).controllers
    if not addresses:
        raise InputError("the brokers do not say where the controllers are; --bootstrap-controller would")
    async with ClusterRouter(addresses, cluster.config, are_controllers=True) as controllers:
        return await fetch_metadata_log(controllers)


def _find(image: MetadataImage, path: str, secrets: bool) -> Node:
    wanted = [name for name in path.split("/") if name]
    node, missing = find(root(image, secrets=secrets), wanted)
    if not missing:
        return node
    found = "/".join(wanted[: len(wanted) - len(missing)])
    where = found or "the top"
    if isinstance(node, Leaf):
        raise InputError(f"{path}: {found} has nothing below it")
    names = sorted_names(node.children())
    shown = ", ".join(names[:_NAMES_MAX]) or "nothing"
    more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
    raise InputError(f"{path}: there is no {missing[0]} in {where}, only {shown}{more}")
