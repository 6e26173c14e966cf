"""Lookup of responsible nodes, grouping of requests, and retries, with a fake lookup."""

import asyncio
from collections.abc import Sequence

import pytest

from odradek.client.admin import node_requests
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.node_requests import NodeRequests
from odradek.client.admin.outcomes import Outcomes
from odradek.client.net.config import ClientConfig
from odradek.common.addresses import HostPort
from odradek.errors import Refused, Unreachable
from odradek.protocol.error_codes import ErrorCode

FIRST, SECOND = HostPort("first", 1), HostPort("second", 2)
MOVED = Refused("moved", ErrorCode.NOT_COORDINATOR)
FATAL = Refused("denied", ErrorCode.GROUP_AUTHORIZATION_FAILED)


class FakeLookup(NodeRequests[str]):
    """Returns the given nodes, one mapping per lookup; the last one is repeated."""

    retriable = (ErrorCode.NOT_COORDINATOR, ErrorCode.NETWORK_EXCEPTION)
    unreachable = ErrorCode.NETWORK_EXCEPTION

    def __init__(self, *nodes: dict[str, HostPort | Refused]) -> None:
        super().__init__(ClusterRouter([], ClientConfig(api_timeout_ms=60_000)))
        self.nodes = list(nodes)
        self.lookups: list[list[str]] = []

    async def _find_nodes(self, resources: Sequence[str]) -> Outcomes[str, HostPort]:
        self.lookups.append(list(resources))
        nodes = self.nodes.pop(0) if len(self.nodes) > 1 else self.nodes[0]
        return Outcomes({key: nodes[key] for key in resources})


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_requests, "_RETRY_BACKOFF_S", 0)


def test_resources_of_one_node_share_a_request() -> None:
    lookup = FakeLookup({"a": FIRST, "b": SECOND, "c": FIRST})
    sent: list[tuple[HostPort, list[str]]] = []

    async def send(address: HostPort, keys: Sequence[str]) -> dict[str, str | Refused]:
        sent.append((address, list(keys)))
        return {key: key.upper() for key in reversed(keys)}

    outcomes = asyncio.run(lookup.send(["a", "b", "c", "a"], send))
    assert list(outcomes.items()) == [("a", "A"), ("b", "B"), ("c", "C")]
    assert sent == [(FIRST, ["a", "c"]), (SECOND, ["b"])]


def test_only_retriable_resources_are_looked_up_again() -> None:
    lookup = FakeLookup({"a": FIRST, "b": FIRST, "c": FATAL}, {"a": SECOND})

    async def send(address: HostPort, keys: Sequence[str]) -> dict[str, str | Refused]:
        return {key: MOVED if key == "a" and address == FIRST else key.upper() for key in keys}

    outcomes = asyncio.run(lookup.send(["a", "b", "c"], send))
    assert outcomes == {"a": "A", "b": "B", "c": FATAL}
    assert lookup.lookups == [["a", "b", "c"], ["a"]]


def test_an_unreachable_node_is_retried_until_the_timeout() -> None:
    lookup = FakeLookup({"a": FIRST})

    async def send(address: HostPort, keys: Sequence[str]) -> dict[str, str | Refused]:
        raise Unreachable("connection refused")

    outcomes = asyncio.run(lookup.send(["a"], send, api_timeout_ms=0))
    assert outcomes.rejected()["a"].code == ErrorCode.NETWORK_EXCEPTION
    assert lookup.lookups == [["a"]]
