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
    """Node 1 was paused, and still believes that it leads. Node 2 leads, and is queried until node 1 is in sync."""
    described_by_current = [partition(2, 2), partition(2, 2), partition(2, 2, 1)]

    class FakeTopicOperations:
        def __init__(self, router: ClusterRouter) -> None:
            self.is_stale = str(router.addresses[0]) == STALE

        async def list_all(self) -> list[TopicListing]:
            return [TopicListing("orders", b"", False, 1, 2)]

        async def describe(self, names: list[str]) -> dict[str, TopicDescription]:
            described = partition(1, 1, 2) if self.is_stale else described_by_current.pop(0)
            return {"orders": TopicDescription("orders", b"", False, (described,))}

    monkeypatch.setattr(topics, "TopicOperations", FakeTopicOperations)
    asyncio.run(topics.wait_until_in_sync({1: STALE, 2: CURRENT}))
    assert described_by_current == []
