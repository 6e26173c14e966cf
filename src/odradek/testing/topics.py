"""Topics of a test's cluster. Nodes are given as their addresses by id: those who can answer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.topics import NewTopic, PartitionDescription, TopicOperations
from odradek.client.net.config import ClientConfig
from odradek.common.addresses import parse_bootstrap
from odradek.common.failures import Fault
from odradek.errors import Refused, Unreachable

#: A new topic reaches brokers that are up within milliseconds, and a replica that comes back has little to fetch.
_WAIT_S = 60.0
_PAUSE_S = 0.005


async def create_topic(nodes: Mapping[int, str], topic: NewTopic) -> None:
    """Until each of the nodes knows of it, and of a leader of each partition. Raises Refused with the reason."""

    async def is_known(cluster: ClusterRouter) -> bool:
        return all(partition.leader_id is not None for partition in await _partitions(cluster, [topic.name]))

    async with _cluster(nodes.values()) as cluster:
        _check((await TopicOperations(cluster).create([topic]))[topic.name])
    waits = (_wait_until(is_known, [address], f"{address} knows of {topic.name}") for address in nodes.values())
    await asyncio.gather(*waits)


async def delete_topic(nodes: Mapping[int, str], name: str) -> None:
    async with _cluster(nodes.values()) as cluster:
        _check((await TopicOperations(cluster).delete([name]))[name])


async def wait_until_in_sync(nodes: Mapping[int, str]) -> None:
    """Wait until every partition has a leader, and its replicas on these nodes are in sync, as each of them knows it.

    One of them is not enough: a node that was paused or cut off answers with what it knew before, until it has read the
    metadata since. When all others know it to be in sync again, it has: it fetches from the leader of now."""

    async def are_in_sync(cluster: ClusterRouter) -> bool:
        names = [each.name for each in await TopicOperations(cluster).list_all()]
        return all(
            each.leader_id in nodes and {*nodes}.intersection(each.replicas) <= {*each.isr}
            for each in await _partitions(cluster, names)
        )

    what = "all partitions are led and in sync, as {} knows it"
    await asyncio.gather(*(_wait_until(are_in_sync, [address], what.format(address)) for address in nodes.values()))


async def _partitions(cluster: ClusterRouter, names: list[str]) -> list[PartitionDescription]:
    """Raises Refused for a topic that is not known."""
    partitions: list[PartitionDescription] = []
    for description in (await TopicOperations(cluster).describe(names)).values():
        if isinstance(description, Refused):
            raise description
        partitions += description.partitions
    return partitions


async def _wait_until(
    condition: Callable[[ClusterRouter], Awaitable[bool]], addresses: Iterable[str], what: str
) -> None:
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + _WAIT_S
    async with _cluster(addresses) as cluster:
        while True:
            try:
                if await condition(cluster):
                    return
                reason = ""
            except (Refused, Unreachable) as error:
                reason = f": {error.message}"
            if loop.time() > deadline_s:
                raise Fault(f"not in {_WAIT_S:g} s: {what}{reason}")
            await asyncio.sleep(_PAUSE_S)


def _cluster(addresses: Iterable[str]) -> ClusterRouter:
    return ClusterRouter(parse_bootstrap(",".join(addresses), "bootstrap"), ClientConfig())


def _check(outcome: object) -> None:
    if isinstance(outcome, Refused):
        raise outcome
