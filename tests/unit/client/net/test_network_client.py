"""The client below all clients, against brokers that are only pretended: sockets are real, answers the test's."""

import asyncio
import logging
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from odradek.client.net.network_client import CoordinatorKind, NetworkClient
from odradek.client.settings.settings import producer_settings
from odradek.client.types import TopicPartition
from odradek.errors import Disconnected, Refused, RequestTimedOut, UnknownTopic, Unreachable, VersionsDiffer
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse
from odradek.protocol.messages.list_groups_request import ListGroupsRequest
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.schema import Versions
from support.processes.network import each_loop, run, until  # noqa: F401
from support.processes.ports import free_ports
from unit.client.net.fake_brokers import FakeCluster, FakeTopic

LONG_MS = 60_000
#: Where a time-out is to be seen, but not before one answer has come, on a busy machine, too.
ANSWER_MS = 2_000

ID_1 = bytes(15) + b"\x01"

HASTY = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 20, "reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 20}


@asynccontextmanager
async def client_of(bootstrap: str, **settings: Any) -> AsyncIterator[NetworkClient]:
    made = NetworkClient(
        producer_settings(bootstrap_servers=bootstrap, **(HASTY | settings)), randomness=random.Random(7)
    )
    async with made:
        yield made


def heartbeats(throttle_ms: int = 0) -> Any:
    return {ApiKey.HEARTBEAT: lambda node_id, request: HeartbeatResponse(throttle_time_ms=throttle_ms)}


def test_it_learns_the_cluster_from_any_address_that_answers() -> None:
    async def test() -> None:
        async with FakeCluster(2) as cluster:
            nobody = free_ports(1)[0]
            async with client_of(f"127.0.0.1:{nobody},{cluster.address(2)}") as client:
                assert sorted(client.metadata.nodes) == [1, 2]
                assert (client.metadata.cluster_id, client.metadata.controller_id) == ("fake", 1)

    run(test())


def test_an_address_that_says_nothing_does_not_hold_up_the_others() -> None:
    async def test() -> None:
        silent = socket.create_server(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        with silent:
            async with FakeCluster(1) as cluster:
                for order in (f"127.0.0.1:{port},{cluster.address(1)}", f"{cluster.address(1)},127.0.0.1:{port}"):
                    async with client_of(order, socket_connection_setup_timeout_ms=LONG_MS) as client:
                        assert list(client.metadata.nodes) == [1]

    run(test())


def test_where_nobody_answers_each_address_is_named_with_its_reason() -> None:
    async def test() -> None:
        one, two = free_ports(2)
        with pytest.raises(Unreachable) as caught:
            async with client_of(f"127.0.0.1:{one},127.0.0.1:{two}"):
                pass
        said = caught.value.message
        assert said == f"no broker answers: 127.0.0.1:{one}: connection refused; 127.0.0.1:{two}: connection refused"

    run(test())


def test_a_cluster_that_is_only_starting_is_asked_until_a_broker_is_up() -> None:
    async def test() -> None:
        async with FakeCluster(1) as cluster:
            cluster.told = []
            cluster.topics["orders"] = FakeTopic(ID_1, [1])
            async with client_of(cluster.bootstrap) as client:
                assert not client.metadata.nodes
                waiting = asyncio.ensure_future(client.topic("orders", LONG_MS))
                await until(lambda: cluster.count(MetadataRequest) > 3, "it is asked for again")
                cluster.told = [1]
                await waiting
                assert list(client.metadata.nodes) == [1]

    run(test())


def test_the_bootstrap_connection_goes_on_as_that_of_its_broker() -> None:
    async def test() -> None:
        async with FakeCluster(1, heartbeats()) as cluster, client_of(cluster.bootstrap) as client:
            await client.send(1, HeartbeatRequest())
            assert len(cluster.listeners[1].endpoint.connections) == 1

    run(test())


def test_send_gives_the_answer_or_says_why_not() -> None:
    async def test() -> None:
        never = asyncio.Event()

        async def hang(node_id: int, request: Message) -> Message:
            await never.wait()
            raise AssertionError

        handlers = {**heartbeats(), ApiKey.LIST_GROUPS: hang}
        async with FakeCluster(2, handlers) as cluster, client_of(cluster.bootstrap) as client:
            assert isinstance(await client.send(2, HeartbeatRequest()), HeartbeatResponse)
            assert cluster.seen[-1][0] == 2
            with pytest.raises(Disconnected, match="there is no node 7"):
                await client.send(7, HeartbeatRequest())
            with pytest.raises(VersionsDiffer, match="has no version of Fetch"):
                await client.send(1, FetchRequest())
            with pytest.raises(RequestTimedOut):
                await client.send(1, ListGroupsRequest(), 50)
            await client.send(1, HeartbeatRequest())
            await cluster.fall_silent(2)
            with pytest.raises(Disconnected):
                await client.send(2, HeartbeatRequest())

    run(test())


def test_a_client_that_is_closed_says_so() -> None:
    async def test() -> None:
        async with FakeCluster(1) as cluster:
            client = NetworkClient(producer_settings(bootstrap_servers=cluster.bootstrap))
            await client.start()
            waiting = asyncio.ensure_future(client.topic("nowhere", LONG_MS))
            looking = asyncio.ensure_future(client.coordinator(CoordinatorKind.GROUP, "g", LONG_MS))
            await until(lambda: cluster.count(MetadataRequest) > 1, "the topic is asked for")
            await client.close()
            await client.close()
            for each in (waiting, looking):
                with pytest.raises((Disconnected, VersionsDiffer)):
                    await each
            for sending in (client.send(1, HeartbeatRequest()), client.refresh_metadata()):
                with pytest.raises(Disconnected, match="the client is closed"):
                    await sending

    run(test())


def test_who_is_cancelled_while_it_closes_leaves_nothing_open() -> None:
    async def test() -> None:
        async with FakeCluster(1) as cluster:
            before = asyncio.all_tasks()
            for turns in range(4):
                made = NetworkClient(producer_settings(bootstrap_servers=cluster.bootstrap))
                await made.start()
                closing = asyncio.ensure_future(made.close())
                for _ in range(turns + 1):
                    await asyncio.sleep(0)
                closing.cancel()
                await asyncio.wait([closing])
                assert asyncio.all_tasks() <= before and not made.is_ready(1)

    run(test())


def test_post_sends_at_once_or_not_at_all() -> None:
    async def test() -> None:
        gate = asyncio.Event()

        async def later(node_id: int, request: Message) -> Message:
            await gate.wait()
            return HeartbeatResponse(error_code=int(request.generation_id))  # type: ignore[attr-defined]

        async with (
            FakeCluster(2, {ApiKey.HEARTBEAT: later}) as cluster,
            client_of(cluster.bootstrap, max_in_flight_requests_per_connection=2) as client,
        ):
            for node_id in (1, 2):
                if client.post(node_id, HeartbeatRequest(), LONG_MS) is None:
                    break
            assert not client.is_ready(node_id)
            assert await client.ready(node_id, LONG_MS)
            cluster.seen.clear()
            other = 3 - node_id
            assert client.version(node_id, HeartbeatRequest) == 4
            posted = [client.post(node_id, HeartbeatRequest(generation_id=number), LONG_MS) for number in (7, 8, 9)]
            assert [each is not None for each in posted] == [True, True, False]
            assert client.in_flight(node_id) == 2 and not client.is_ready(node_id)
            assert client.least_loaded() == other
            gate.set()
            answers = [await each for each in posted if each is not None]
            assert [answer.error_code for answer in answers] == [7, 8]
            await until(lambda: client.is_ready(node_id), "places are free again")

    run(test())


def test_a_node_that_throttles_is_left_alone_for_so_long() -> None:
    async def test() -> None:
        async with FakeCluster(1, heartbeats(throttle_ms=300)) as cluster, client_of(cluster.bootstrap) as client:
            await client.send(1, HeartbeatRequest())
            assert not client.is_ready(1)
            assert client.post(1, HeartbeatRequest(), LONG_MS) is None
            assert client.post_and_forget(1, HeartbeatRequest()) is False
            assert await client.ready(1, LONG_MS)
            posted = client.post(1, HeartbeatRequest(), LONG_MS)
            assert posted is not None
            await posted
            await until(lambda: not client.is_ready(1), "the answer to what was posted is heeded, too")

    run(test())


def test_a_topic_is_waited_for_until_it_is_there() -> None:
    async def test() -> None:
        async with FakeCluster(1) as cluster, client_of(cluster.bootstrap) as client:
            waiting = asyncio.ensure_future(client.topic("orders", LONG_MS))
            await until(lambda: cluster.count(MetadataRequest) >= 4, "it is asked for again and again")
            cluster.topics["orders"] = FakeTopic(ID_1, [1, 1])
            found = await waiting
            assert (found.name, found.topic_id, len(found.partitions)) == ("orders", ID_1, 2)
            asked = cluster.count(MetadataRequest)
            assert await client.topic("orders", LONG_MS) is client.metadata.topic("orders")
            assert cluster.count(MetadataRequest) == asked

    run(test())


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        (
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            Refused,
            "INVALID_TOPIC_EXCEPTION: topic orders; a name has up to 249 letters",
        ),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, Refused, "TOPIC_AUTHORIZATION_FAILED: topic orders"),
        (ErrorCode.LEADER_NOT_AVAILABLE, UnknownTopic, "topic orders is not known after 2000 ms: LEADER_NOT_AVAILABLE"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UnknownTopic, "not known after 2000 ms: UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_a_topic_that_does_not_come(code: ErrorCode, error: type[Exception], said: str) -> None:
    async def test() -> None:
        async with FakeCluster(1) as cluster, client_of(cluster.bootstrap) as client:
            cluster.topics["orders"] = FakeTopic(ID_1, [1], error_code=code)
            timeout_ms = LONG_MS if error is Refused else ANSWER_MS
            with pytest.raises(error, match=said):
                await client.topic("orders", timeout_ms)

    run(test())


def test_a_topic_that_is_missing_does_not_slow_down_others() -> None:
    async def test() -> None:
        async with (
            FakeCluster(1) as cluster,
            client_of(cluster.bootstrap, retry_backoff_ms=LONG_MS, retry_backoff_max_ms=LONG_MS) as client,
        ):
            cluster.topics["there"] = FakeTopic(ID_1, [1])
            missing = asyncio.ensure_future(client.topic("missing", LONG_MS))
            await until(lambda: cluster.count(MetadataRequest) == 2, "the missing one is asked for")
            await client.topic("there", LONG_MS)
            asked = cluster.seen[-1][1]
            assert isinstance(asked, MetadataRequest) and asked.topics is not None
            missing.cancel()

    run(test())


def test_refreshing_waits_for_an_answer_to_a_question_asked_after_the_call() -> None:
    async def test() -> None:
        async with FakeCluster(1) as cluster, client_of(cluster.bootstrap) as client:
            cluster.topics["orders"] = FakeTopic(ID_1, [1])
            await client.topic("orders", LONG_MS)
            cluster.topics["orders"] = FakeTopic(ID_1, [-1], [5])
            await client.refresh_metadata()
            assert client.metadata.leader(TopicPartition("orders", 0)) is None
            before = client.metadata.version
            cluster.topics["orders"] = FakeTopic(ID_1, [1], [6])
            await client.updated(before)  # nobody leads, so it is asked again by itself
            await until(lambda: client.metadata.leader(TopicPartition("orders", 0)) == (1, 6), "a leader is learned")

    run(test())


def test_old_metadata_is_asked_for_again_by_its_age() -> None:
    async def test() -> None:
        async with FakeCluster(1) as cluster, client_of(cluster.bootstrap, metadata_max_age_ms=20):
            await until(lambda: cluster.count(MetadataRequest) >= 4, "it is asked for again")

    run(test())


def test_without_any_known_node_it_starts_again_from_its_addresses() -> None:
    async def test() -> None:
        async with FakeCluster(2) as cluster:
            cluster.told = [2]
            async with client_of(cluster.address(1)) as client:
                assert list(client.metadata.nodes) == [2]
                await cluster.fall_silent(2)
                cluster.told = [1]
                await client.refresh_metadata(LONG_MS)
                assert list(client.metadata.nodes) == [1]

    run(test())


def test_without_recovery_it_stays_with_the_nodes_that_it_knows() -> None:
    async def test() -> None:
        async with FakeCluster(2) as cluster:
            cluster.told = [2]
            async with client_of(cluster.address(1), metadata_recovery_strategy="none") as client:
                await cluster.fall_silent(2)
                cluster.told = [1]
                with pytest.raises(RequestTimedOut, match=r"no metadata in 200 ms: 127\.0\.0\.1:.*refused"):
                    await client.refresh_metadata(200)
                assert list(client.metadata.nodes) == [2]

    run(test())


def test_a_node_may_ask_for_starting_again() -> None:
    async def test() -> None:
        async with FakeCluster(2) as cluster:
            cluster.told = [2]
            async with client_of(cluster.address(1)) as client:
                cluster.metadata_error = ErrorCode.REBOOTSTRAP_REQUIRED
                client.request_update()
                asked = lambda: [node_id for node_id, _ in cluster.seen]  # noqa: E731
                await until(lambda: asked()[1:3] == [2, 1], "the known node, then the bootstrap address is asked")
                cluster.metadata_error = ErrorCode.NONE
                await client.refresh_metadata(LONG_MS)

    run(test())


def test_epochs_of_old_versions_are_not_relied_on() -> None:
    async def test() -> None:
        cluster = FakeCluster(1)
        cluster.versions[ApiKey.METADATA] = Versions(7, 8)
        cluster.topics["orders"] = FakeTopic(ID_1, [1], [5])
        async with cluster, client_of(cluster.bootstrap) as client:
            await client.topic("orders", LONG_MS)
            assert client.metadata.leader(TopicPartition("orders", 0)) == (1, -1)

    run(test())


def coordinators(cluster: FakeCluster, answers: list[ErrorCode], node_id: int = 2) -> None:
    """Errors first, then the node."""

    def find(asked: int, request: Any) -> Message:
        code = answers.pop(0) if answers else ErrorCode.NONE
        port = cluster.listeners[node_id].port
        facts = {"node_id": node_id, "host": "127.0.0.1", "port": port, "error_code": code}
        if not request.coordinator_keys:
            return FindCoordinatorResponse(**facts)
        return FindCoordinatorResponse(coordinators=[Coordinator(key=request.coordinator_keys[0], **facts)])

    cluster.handlers = {ApiKey.FIND_COORDINATOR: find, **heartbeats()}


@pytest.mark.parametrize("versions", [Versions(0, 3), Versions(4, 6)])
def test_a_coordinator_is_looked_up_once_and_kept_until_it_is_forgotten(versions: Versions) -> None:
    async def test() -> None:
        cluster = FakeCluster(2)
        cluster.versions[ApiKey.FIND_COORDINATOR] = versions
        coordinators(cluster, [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2)
        async with cluster, client_of(cluster.bootstrap) as client:
            both = [client.coordinator(CoordinatorKind.GROUP, "g", LONG_MS) for _ in range(2)]
            first, second = await asyncio.gather(*both)
            assert first == second and cluster.count(FindCoordinatorRequest) == 3
            node = client.node(first)
            assert node is not None and node.id == 2 and first != 2, "a connection of its own"
            await client.send(first, HeartbeatRequest())
            assert cluster.seen[-1][0] == 2
            await client.coordinator(CoordinatorKind.GROUP, "g", LONG_MS)
            assert cluster.count(FindCoordinatorRequest) == 3
            client.forget_coordinator(CoordinatorKind.GROUP, "g")
            await client.coordinator(CoordinatorKind.GROUP, "g", LONG_MS)
            assert cluster.count(FindCoordinatorRequest) == 4
            assert await client.coordinator(CoordinatorKind.TRANSACTION, "t", LONG_MS) == 2

    run(test())


def test_a_coordinator_that_cannot_be_found() -> None:
    async def test() -> None:
        cluster = FakeCluster(2)
        coordinators(cluster, [ErrorCode.GROUP_AUTHORIZATION_FAILED] + [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 10_000)
        async with cluster, client_of(cluster.bootstrap) as client:
            with pytest.raises(Refused, match="GROUP_AUTHORIZATION_FAILED"):
                await client.coordinator(CoordinatorKind.GROUP, "g", LONG_MS)
            with pytest.raises(
                RequestTimedOut, match="no coordinator of group g in 2000 ms: COORDINATOR_NOT_AVAILABLE"
            ):
                await client.coordinator(CoordinatorKind.GROUP, "g", ANSWER_MS)

    run(test())


def test_idle_connections_are_closed_and_made_again_when_they_are_needed() -> None:
    async def test() -> None:
        async with (
            FakeCluster(1, heartbeats()) as cluster,
            client_of(cluster.bootstrap, connections_max_idle_ms=20) as client,
        ):
            await client.send(1, HeartbeatRequest())
            await until(lambda: not cluster.listeners[1].endpoint.connections, "the idle connection is closed")
            await client.send(1, HeartbeatRequest())

    run(test())


def test_a_node_with_another_address_is_connected_to_there() -> None:
    async def test() -> None:
        async with FakeCluster(2, heartbeats()) as cluster, client_of(cluster.address(1)) as client:
            await client.send(2, HeartbeatRequest())
            await cluster.fall_silent(2)
            await cluster.listen(2)
            await client.refresh_metadata(LONG_MS)
            await client.send(2, HeartbeatRequest())
            assert len(cluster.listeners[2].endpoint.connections) == 1

    run(test())


def test_a_lost_broker_is_logged_until_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "odradek.client.network")

    def lines(level: int) -> list[str]:
        return [record.getMessage() for record in caplog.records if record.levelno == level]

    async def test() -> None:
        async with FakeCluster(1) as cluster, client_of(cluster.bootstrap) as client:
            address, port = cluster.bootstrap, cluster.listeners[1].port
            await cluster.fall_silent(1)
            client.request_update()
            await until(lambda: bool(lines(logging.WARNING)), "a warning")
            assert lines(logging.INFO)[0].startswith(f"[producer odradek-producer] Node 1 ({address}) disconnected: ")
            assert f"({address}) could not be established (attempt 1): connection refused." in lines(logging.WARNING)[0]
            await cluster.listen(1, port)
            await until(lambda: any("established again" in line for line in lines(logging.INFO)), "it is back")

    run(test())


def test_who_closes_gives_up_when_every_broker_is_gone() -> None:
    async def test() -> None:
        async with FakeCluster(2) as cluster, client_of(cluster.bootstrap) as client:
            assert await client.unless_gone(asyncio.sleep(0.01, "done"), patience_ms=1) == "done"
            await cluster.fall_silent(1)
            never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            giving_up = asyncio.ensure_future(client.unless_gone(never, patience_ms=1))
            client.connect(1)
            await until(lambda: client._connections.are_all_failing([1]), "the first one is gone")
            await asyncio.wait([giving_up], timeout=0.5)
            assert not giving_up.done()  # the second one may still take over
            await cluster.fall_silent(2)
            while not giving_up.done():
                client.connect(1)
                client.connect(2)
                client.request_update()
                await asyncio.sleep(0.005)
            with pytest.raises(Unreachable, match="every broker has refused connections"):
                await giving_up
            assert never.cancelled()

    run(test())
