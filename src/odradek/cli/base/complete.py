"""What shells complete by asking the cluster: names of topics and of groups.

Who presses Tab waits: a cluster that does not answer at once has no names.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

import click

from odradek.cli.base.options import settings_of

if TYPE_CHECKING:
    from odradek.client.admin.cluster_router import ClusterRouter

#: All of it; longer feels like a broken shell.
_PATIENCE_S = 0.5


def complete_topics(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    async def names(cluster: "ClusterRouter") -> Iterable[str]:
        from odradek.client.admin.topics import list_topics

        return [each.name for each in await list_topics(cluster) if not each.is_internal or incomplete.startswith("_")]

    return _matching(context, incomplete, names)


def complete_groups(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    async def names(cluster: "ClusterRouter") -> Iterable[str]:
        from odradek.client.admin.groups import list_groups

        return [each.group_id for each in await list_groups(cluster)]

    return _matching(context, incomplete, names)


def _matching(
    context: click.Context, incomplete: str, names: "Callable[[ClusterRouter], Awaitable[Iterable[str]]]"
) -> list[str]:
    from odradek.cli.base.connection import on_cluster
    from odradek.common.failures import ApiError, InputError

    async def in_time(cluster: "ClusterRouter") -> list[str]:
        import asyncio

        async with asyncio.timeout(_PATIENCE_S):
            return sorted(name for name in await names(cluster) if name.startswith(incomplete))

    try:
        return on_cluster(settings_of(context), in_time)
    except (ApiError, InputError, OSError, click.UsageError):  # TimeoutError is an OSError
        return []
