"""What is waited for is so, and not only what one node thinks."""

import asyncio

import pytest

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.topics import PartitionDescription, TopicDescription, TopicListing
from odradek.testing import topics

STALE, CURRENT = "127.0.0.1:1", "127.0.0.1:2"


def partition(leader_id: int, *isr: int) -> PartitionDescription:
    return PartitionDescription(0, leader_id, 0, (1, 2), isr, (), (), ())


def test_a_node_that_has_not_read_the_latest_metadata_does_not_decide_who_is_in_sync(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Node 1 was paused, and still believes that it leads. Node 2 leads, and is asked until node 1 is in sync."""
    told_by_current = [partition(2, 2), partition(2, 2), partition(2, 2, 1)]

    async def list_topics(cluster: ClusterRouter) -> list[TopicListing]:
        return [TopicListing("orders", b"", False, 1, 2)]

    async def describe_topics(cluster: ClusterRouter, names: list[str]) -> dict[str, TopicDescription]:
        is_stale = str(cluster.addresses[0]) == STALE
        told = partition(1, 1, 2) if is_stale else told_by_current.pop(0)
        return {"orders": TopicDescription("orders", b"", False, (told,))}

    monkeypatch.setattr(topics, "list_topics", list_topics)
    monkeypatch.setattr(topics, "describe_topics", describe_topics)
    asyncio.run(topics.wait_until_in_sync({1: STALE, 2: CURRENT}))
    assert told_by_current == []
