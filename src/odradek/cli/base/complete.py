"""Completion of topic and group names in a shell, from the cluster.

The user waits after pressing Tab, so a cluster that does not respond at once completes nothing.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

import click

from odradek.cli.base.options import settings_of

if TYPE_CHECKING:
    from odradek.client.admin.operations import AdminOperations

#: Limit of the whole request; a longer delay looks like a shell that hangs.
_TIMEOUT_S = 0.5


def complete_topics(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    async def topic_names(admin: "AdminOperations") -> Iterable[str]:
        topics = await admin.topics.list_all()
        return [topic.name for topic in topics if not topic.is_internal or incomplete.startswith("_")]

    return _matching_names(context, incomplete, topic_names)


def complete_groups(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    async def group_ids(admin: "AdminOperations") -> Iterable[str]:
        return [group.group_id for group in await admin.groups.list_all()]

    return _matching_names(context, incomplete, group_ids)


def _matching_names(
    context: click.Context, incomplete: str, list_names: "Callable[[AdminOperations], Awaitable[Iterable[str]]]"
) -> list[str]:
    from odradek.cli.base.connection import on_cluster
    from odradek.common.failures import ApiError, InputError

    async def names_in_time(admin: "AdminOperations") -> list[str]:
        import asyncio

        async with asyncio.timeout(_TIMEOUT_S):
            return sorted(name for name in await list_names(admin) if name.startswith(incomplete))

    try:
        return on_cluster(settings_of(context), names_in_time)
    except (ApiError, InputError, OSError, click.UsageError):  # TimeoutError is an OSError
        return []
