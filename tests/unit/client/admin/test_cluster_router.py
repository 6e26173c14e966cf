"""Requests to any node of a cluster, and to the active controller."""

import asyncio
from collections.abc import Sequence

import pytest

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.quorum import QuorumOperations
from odradek.client.errors import check_error
from odradek.client.net.channel import ChannelConfig
from odradek.client.net.config import ClientConfig
from odradek.common.addresses import HostPort
from odradek.errors import NoLeader, Refused, Unreachable, VersionsDiffer, WrongEndpoint
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_cluster_response import DescribeClusterResponse
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from support.fakes.quorum import CLUSTER_ID, FakeQuorum, running
from support.processes.ports import free_ports

PATIENT_MS = 60_000


def cluster(addresses: Sequence[HostPort], api_timeout_ms: int = PATIENT_MS) -> ClusterRouter:
    channel = ChannelConfig(reconnect_backoff_ms=1, reconnect_backoff_max_ms=10)
    return ClusterRouter(addresses, ClientConfig(channel, api_timeout_ms=api_timeout_ms), are_controllers=True)


def closed_address() -> HostPort:
    return HostPort("127.0.0.1", free_ports(1)[0])


def test_addresses_are_tried_until_a_node_responds() -> None:
    async def main() -> None:
        async with running(FakeQuorum()) as quorum, cluster([closed_address(), quorum.addresses[1]]) as ours:
            channel = await ours.any_node()
            assert channel.port == quorum.addresses[1].port
            assert await ours.any_node() is channel

    asyncio.run(main())


def test_an_unreachable_cluster_is_reported_with_all_addresses() -> None:
    closed = [closed_address(), closed_address()]

    async def main() -> None:
        async with cluster(closed) as ours:
            await ours.describe()

    with pytest.raises(Unreachable) as raised:
        asyncio.run(main())
    assert all(f"{address}: connection refused" in raised.value.message for address in closed)


def test_the_cluster_is_described() -> None:
    async def main() -> None:
        async with running(FakeQuorum(), 3) as quorum, cluster([quorum.addresses[2]]) as ours:
            description = await ours.describe()
            assert (description.cluster_id, description.controller_id) == (CLUSTER_ID, 1)
            assert description.nodes == quorum.addresses

    asyncio.run(main())


def test_requests_for_the_leader_go_to_the_leader() -> None:
    quorum = FakeQuorum()
    quorum.leader_id = 3

    async def main() -> None:
        async with running(quorum, 3), cluster([quorum.addresses[1]]) as ours:
            assert (await QuorumOperations(ours).describe()).leader_epoch == 3
            await QuorumOperations(ours).describe()

    asyncio.run(main())
    assert quorum.asked_for(DescribeQuorumRequest) == [3, 3]
    assert len(quorum.asked) == 3, "the leader is looked up once"


def test_a_new_leader_is_followed() -> None:
    """The old leader rejects the request, the new one handles it."""
    quorum = FakeQuorum()

    def remove(node_id: int, _: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
        if node_id != 2:
            quorum.leader_id = 2
            return RemoveRaftVoterResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return RemoveRaftVoterResponse()

    quorum.handlers[ApiKey.REMOVE_RAFT_VOTER] = remove

    async def main() -> None:
        async with running(quorum, 2), cluster([quorum.addresses[1]]) as ours:
            await QuorumOperations(ours).remove_voter(1, bytes(16))

    asyncio.run(main())
    assert quorum.asked_for(RemoveRaftVoterRequest) == [1, 2]


@pytest.mark.parametrize("repeatable", [True, False])
def test_only_repeatable_requests_are_sent_again_after_a_broken_connection(repeatable: bool) -> None:
    quorum = FakeQuorum()

    def remove(node_id: int, _: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
        if len(quorum.asked_for(RemoveRaftVoterRequest)) == 1:
            quorum.break_connections(node_id)
        return RemoveRaftVoterResponse()

    quorum.handlers[ApiKey.REMOVE_RAFT_VOTER] = remove

    async def main() -> None:
        async with running(quorum), cluster([quorum.addresses[1]]) as ours:
            await ours.send_to_leader(
                RemoveRaftVoterRequest(), lambda response: response.error_code, repeatable=repeatable
            )

    if repeatable:
        asyncio.run(main())
    else:
        with pytest.raises(Unreachable, match="connection"):
            asyncio.run(main())
    assert len(quorum.asked_for(RemoveRaftVoterRequest)) == 1 + repeatable


def test_a_request_waits_for_an_election() -> None:
    quorum = FakeQuorum()
    quorum.leader_id = None

    async def main() -> None:
        async with running(quorum, 2), cluster([quorum.addresses[1]]) as ours:
            response = asyncio.ensure_future(QuorumOperations(ours).describe())
            while len(quorum.asked) < 2:
                await asyncio.sleep(0.01)
            quorum.leader_id = 2
            await response

    asyncio.run(main())
    assert quorum.asked_for(DescribeQuorumRequest) == [2]


def test_a_quorum_without_a_leader_is_reported_with_advice() -> None:
    quorum = FakeQuorum()
    quorum.leader_id = None

    async def main() -> None:
        async with running(quorum), cluster([quorum.addresses[1]], api_timeout_ms=1) as ours:
            await QuorumOperations(ours).describe()

    with pytest.raises(NoLeader, match=r"knows no leader.*majority of the voters"):
        asyncio.run(main())


def test_an_unreachable_leader_is_reported_with_its_address() -> None:
    quorum, down = FakeQuorum(), closed_address()
    quorum.leader_id = 2

    async def main() -> None:
        async with running(quorum), cluster([quorum.addresses[1]], api_timeout_ms=1) as ours:
            quorum.registered[2] = down
            await QuorumOperations(ours).describe()

    with pytest.raises(NoLeader, match=f"controller 2 leads, but {down}: connection refused"):
        asyncio.run(main())


def test_an_unregistered_leader_is_found_among_the_addresses() -> None:
    quorum = FakeQuorum()
    quorum.leader_id = 2

    async def main() -> None:
        async with running(quorum, 2), cluster([*quorum.addresses.values()]) as ours:
            quorum.registered.clear()
            await QuorumOperations(ours).describe()

    asyncio.run(main())
    assert quorum.asked_for(DescribeQuorumRequest) == [1, 2]


@pytest.mark.parametrize("is_older", [True, False])
def test_controllers_that_do_not_know_the_leader_are_tried_in_turn(is_older: bool) -> None:
    """Controllers before 3.7 have no DescribeCluster; without metadata they reject it."""
    quorum = FakeQuorum()
    quorum.leader_id = 2
    if is_older:
        del quorum.handlers[ApiKey.DESCRIBE_CLUSTER]
    else:
        refusal = DescribeClusterResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        quorum.handlers[ApiKey.DESCRIBE_CLUSTER] = lambda *_: refusal

    async def main() -> None:
        async with running(quorum, 3), cluster([*quorum.addresses.values()]) as ours:
            await QuorumOperations(ours).describe()

    asyncio.run(main())
    assert quorum.asked_for(DescribeQuorumRequest) == [1, 2]


def test_the_address_of_a_controller_is_rejected_for_a_broker() -> None:
    async def main() -> None:
        async with running(FakeQuorum()) as quorum, ClusterRouter([quorum.addresses[1]], ClientConfig()) as ours:
            await ours.describe()

    with pytest.raises(WrongEndpoint, match="is the address of a controller, not of a broker"):
        asyncio.run(main())


def test_a_request_without_a_common_version_is_reported() -> None:
    async def main() -> None:
        async with running(FakeQuorum()) as quorum, cluster([quorum.addresses[1]]) as ours:
            await QuorumOperations(ours).remove_voter(1, bytes(16))

    with pytest.raises(VersionsDiffer, match="has no version of RemoveRaftVoter"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("code", "message", "text"),
    [
        (ErrorCode.VOTER_NOT_FOUND, "no such voter", "VOTER_NOT_FOUND: no such voter"),
        (ErrorCode.VOTER_NOT_FOUND, None, "VOTER_NOT_FOUND: there is no such voter"),
        (31_999, None, "error 31999: not a known error code"),
    ],
)
def test_an_error_has_its_name_and_a_message(code: int, message: str | None, text: str) -> None:
    with pytest.raises(Refused) as raised:
        check_error(code, message)
    assert raised.value.code == code
    assert raised.value.message == text
