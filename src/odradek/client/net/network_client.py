"""The driver below producer, consumer and admin: nodes, requests in flight, back-off, metadata, coordinators.

One `Channel` for each node, made when it is first needed. A node that failed is connected to again after its back-off
(reconnect.backoff.ms), each connection takes max.in.flight.requests.per.connection requests at a time, and versions are
negotiated when it is made. A node that says that a client is throttled is left alone for so long.

`send` sends once and never again; whoever asked knows whether a request may be repeated. `post` is the way for those
who send much: it needs no task, and refuses instead of waiting.

Metadata is kept by one task: it asks the least loaded node when it is stale (by age, on request, for a new topic), with
retry.backoff.ms between two answers that did not help. When no node that is known can be reached, or
metadata.recovery.rebootstrap.trigger.ms passed without an answer, or a node asks for it, the client starts again from
its bootstrap addresses.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, TypeVar

from odradek.client.async_context import AsyncContext
from odradek.client.errors import refusal
from odradek.client.net.backoff import Backoff
from odradek.client.net.channel import FinalizedFeatures
from odradek.client.net.connections import Connection, Connections
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.net.coordinator_lookup import CoordinatorFinder
from odradek.client.net.metadata_cache import MetadataCache, Node, TopicMetadata
from odradek.client.net.metadata_updater import MetadataKeeper, NoBroker
from odradek.client.net.reachability import Reachability
from odradek.client.settings.settings import CommonConfig
from odradek.common.addresses import HostPort
from odradek.common.failures import ApiError
from odradek.errors import Disconnected, UnknownTopic, Unreachable, VersionsDiffer
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import MetadataResponse

__all__ = ["CoordinatorKind", "NetworkClient"]

#: While one bootstrap address does not answer, the next is tried after so long.
_BOOTSTRAP_STAGGER_S = 0.25

#: A client that closes gives up when every broker has refused connections for so long: longer than a restart of one
#: takes, and shorter than a supervisor waits before it kills.
GONE_PATIENCE_MS = 5_000
_GONE_CHECK_S = 0.1

_REBOOTSTRAP = "rebootstrap"

_Value = TypeVar("_Value")

#: Of topics: what no time helps against, and what would be right instead.
_HOPELESS: dict[int, str] = {
    ErrorCode.INVALID_TOPIC_EXCEPTION: "; a name has up to 249 letters, digits, '.', '_' and '-'",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "",
}


class NetworkClient(AsyncContext):
    """Everything is called from the loop that `start` was called on."""

    metadata: MetadataCache

    def __init__(self, settings: CommonConfig, *, randomness: random.Random | None = None) -> None:
        self.settings = settings
        #: retry.backoff.ms; with `random` for whoever repeats requests.
        self.backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self.random = randomness or random.Random()
        self.metadata = MetadataCache(settings.metadata_max_age_ms, settings.metadata_max_idle_ms)
        self._bootstrap = {
            -index: Node(-index, address.host, address.port)
            for index, address in enumerate(settings.bootstrap_servers, start=1)
        }
        self.reachability = Reachability(_log_name(settings), lambda: asyncio.get_running_loop().time())
        self._connections = Connections(settings, self.random, self.reachability)
        self._keeper = MetadataKeeper(
            self.metadata,
            self._ask_for_metadata,
            self._maybe_rebootstrap,
            self.backoff,
            self.random,
            may_create_topics=settings.allow_auto_create_topics,
        )
        self._finder = CoordinatorFinder(self._ask_for_coordinator, self.retry_delay_s)
        #: What is asked instead of the brokers until there is metadata (again).
        self._is_bootstrapping = True
        self._answered_s = 0.0
        self._is_closed = False

    async def start(self) -> None:
        """Connects to a bootstrap address that answers and learns the cluster from it.

        Raises Unreachable with each address and what became of it.
        """
        self._connections.start()
        self.reachability.is_starting = True
        try:
            await self._connect_to_bootstrap()
            with suppress(NoBroker):  # it is asked again, and whoever needs a broker waits
                await self._keeper.ask_once()
        except BaseException:
            await self._connections.close()
            raise
        self.reachability.is_starting = False
        self._keeper.start()

    async def close(self, timeout_ms: float | None = None) -> None:
        """Whoever waits for a response gets Disconnected. Never blocks, whatever `timeout_ms`. May be called twice."""
        self._is_closed = True
        async with AsyncExitStack() as ending:  # all of it, even if whoever waits for it is cancelled
            ending.push_async_callback(self._connections.close)
            ending.push_async_callback(self._finder.close)
            ending.push_async_callback(self._keeper.close)

    # sending

    async def send(
        self, node_id: int, request: Message, timeout_ms: float | None = None, *, version: int | None = None
    ) -> Any:
        """The response, to a request that is sent at most once; within request.timeout.ms unless said otherwise.

        Raises Disconnected (also where there is no such node), RequestTimedOut, VersionsDiffer.
        """
        loop = asyncio.get_running_loop()
        timeout_s = (self.settings.request_timeout_ms if timeout_ms is None else timeout_ms) / 1000
        deadline_s = loop.time() + timeout_s
        connection = self._connection(node_id)
        if connection.throttled_until_s > loop.time():
            await asyncio.sleep(min(connection.throttled_until_s, deadline_s) - loop.time())
        connection.used_s = loop.time()
        response = await connection.channel.send(request, (deadline_s - loop.time()) * 1000, version=version)
        connection.heed(response)
        return response

    def post(
        self, node_id: int, request: Message, timeout_ms: float, *, version: int | None = None
    ) -> "asyncio.Future[Any] | None":
        """Sends at once if the connection is up and has a free place; else None, and a connection is begun.

        The future has the response, or raises as `send`; nobody cancels it. Raises VersionsDiffer itself.
        """
        connection = self._connections.get(node_id)
        if connection is None or connection.is_throttled:
            self.connect(node_id)
            return None
        response = connection.channel.post(request, timeout_ms, version=version)
        if response is None:
            self.connect(node_id)
            return None
        connection.used_s = asyncio.get_running_loop().time()
        response.add_done_callback(connection.heed_future)
        return response

    def post_and_forget(self, node_id: int, request: Message, *, version: int | None = None) -> bool:
        """Post a request that has no response: Produce with acks=0. Return False if it was not sent."""
        connection = self._connections.get(node_id)
        if (
            connection is None
            or connection.is_throttled
            or not connection.channel.post_and_forget(request, version=version)
        ):
            self.connect(node_id)
            return False
        connection.used_s = asyncio.get_running_loop().time()
        return True

    def is_ready(self, node_id: int) -> bool:
        """Return whether `post` would send: the node is connected, has a free slot, and does not throttle."""
        connection = self._connections.get(node_id)
        return connection is not None and connection.channel.is_ready and not connection.is_throttled

    def connect(self, node_id: int) -> None:
        """Begins to, unless it is connected, connecting or backing off; what becomes of it is not told."""
        node = self.node(node_id)
        if node is not None and not self._is_closed:
            self._connections.to(node_id, node).channel.begin_to_connect()

    async def ready(self, node_id: int, timeout_ms: float) -> bool:
        """Waits until it is connected, not throttled, and not full; False when the time is up or connecting failed."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._connection(node_id).ready()
        except (TimeoutError, Disconnected):
            return False
        return True

    def version(self, node_id: int, api: type[Message]) -> int | None:
        """The highest version of a request that both have; None while there was no connection, or if there is none."""
        connection = self._connections.get(node_id)
        if connection is None or not connection.channel.api_versions:
            return None
        try:
            return connection.channel.version_for(api)
        except VersionsDiffer:
            return None

    @property
    def features(self) -> FinalizedFeatures:
        """Return the features of the cluster, from the node with the latest epoch."""
        return self._connections.features

    def node(self, node_id: int) -> Node | None:
        """Return the address of a node id: a broker, a bootstrap address, or a coordinator's own connection."""
        return self.metadata.nodes.get(node_id) or self._bootstrap.get(node_id) or self._finder.node(node_id)

    def in_flight(self, node_id: int) -> int:
        connection = self._connections.get(node_id)
        return 0 if connection is None else connection.channel.in_flight

    def least_loaded(self) -> int | None:
        """The node with the fewest requests in flight, connected ones first, those that failed lately last."""
        return self._connections.least_loaded(self._node_ids())

    async def send_to_any(self, request: Message, timeout_ms: float | None = None) -> Any:
        """To the least loaded node that is up, once. Raises as `send`, and Unreachable if there is none."""
        return await self.send(self._some_node(), request, timeout_ms)

    def retry_delay_s(self, failures: int) -> float:
        """Return the backoff before a request is retried after so many failures."""
        return self.backoff.delay_ms(failures, self.random) / 1000

    async def unless_gone(self, operation: Awaitable[_Value], patience_ms: float = GONE_PATIENCE_MS) -> _Value:
        """The outcome of an operation that repeats its requests, for those who close.

        Raises Unreachable when every broker that is known refuses connections, for `patience_ms` from this call on:
        their processes are gone, and nobody waits for them to come back.
        """
        task = asyncio.ensure_future(operation)
        called_s = asyncio.get_running_loop().time()
        try:
            while not task.done():
                await asyncio.wait([task], timeout=_GONE_CHECK_S)
                since_s = self._gone_since_s()
                gone_ms = 0.0
                if since_s is not None:
                    gone_ms = (asyncio.get_running_loop().time() - max(since_s, called_s)) * 1000
                if gone_ms >= patience_ms and not task.done():
                    raise Unreachable(f"every broker has refused connections for {gone_ms / 1000:.0f} s")
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    def _gone_since_s(self) -> float | None:
        nodes = [*self.metadata.nodes.values(), *self._bootstrap.values()]
        return self.reachability.all_refused_since_s(HostPort(node.host, node.port) for node in nodes)

    # metadata

    async def refresh_metadata(self, timeout_ms: float | None = None) -> None:
        """Now: returns with an answer that was asked for after the call. Raises RequestTimedOut, saying what failed."""
        await self._keeper.refresh(self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms)

    def request_update(self) -> None:
        """Some time soon, with back-off."""
        self.metadata.request_update()
        self._keeper.wake()

    def want_topics(self, names: "list[str] | tuple[str, ...]") -> None:
        """`MetadataCache.want_topics`, and what is new is asked for at once."""
        self.metadata.want_topics(names)
        self._keeper.wake()

    def want_all_topics(self) -> None:
        self.metadata.want_all()
        self._keeper.wake()

    async def updated(self, version: int) -> None:
        """Returns when `metadata.version` is beyond this one. Raises Disconnected when the client is closed."""
        while self.metadata.version <= version:
            await self._keeper.answer()

    async def topic(self, name: str, timeout_ms: float) -> TopicMetadata:
        """Waits until the topic is known. From then on it is in use (`MetadataCache.use_topic`).

        Raises UnknownTopic when the time is up, Refused where no time helps (a name that cannot be, no permission).
        """
        self.metadata.use_topic(name, asyncio.get_running_loop().time() * 1000)
        metadata = self.metadata.topic(name)
        return metadata if metadata is not None else await self._await_topic(name, timeout_ms)

    async def _await_topic(self, name: str, timeout_ms: float) -> TopicMetadata:
        self._keeper.wake()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while (metadata := self.metadata.topic(name)) is None:
                    await self._keeper.answer()
                    code = self.metadata.topic_error(name)
                    error = refusal(code, f"topic {name}{_HOPELESS[code]}") if code in _HOPELESS else None
                    if error is not None:
                        raise error
        except TimeoutError:
            error = refusal(self.metadata.topic_error(name))
            reason = error.message if error is not None else self._keeper.reason
            raise UnknownTopic(f"topic {name} is not known after {timeout_ms:g} ms: {reason}") from None
        return metadata

    # coordinators

    async def coordinator(self, coordinator_type: CoordinatorKind, key: str, timeout_ms: float) -> int:
        """The node id to send to; kept until it is forgotten. A group's coordinator has a connection of its own, so
        that heartbeats do not wait behind fetches: its id is no broker's id.

        Raises RequestTimedOut, saying what failed; Refused where no time helps.
        """
        return await self._finder.find(coordinator_type, key, timeout_ms)

    def forget_coordinator(self, coordinator_type: CoordinatorKind, key: str) -> None:
        """After NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE or a broken connection."""
        self._finder.forget(coordinator_type, key)

    # inside

    def _connection(self, node_id: int) -> Connection:
        if self._is_closed:
            raise Disconnected("the client is closed")
        node = self.node(node_id)
        if node is None:
            raise Disconnected(f"there is no node {node_id}")
        return self._connections.to(node_id, node)

    def _node_ids(self) -> list[int]:
        return list(self._bootstrap if self._is_bootstrapping else self.metadata.nodes)

    def _some_node(self) -> int:
        node_id = self.least_loaded()
        if node_id is None:
            raise Unreachable("no broker address is known")
        return node_id

    async def _ask_for_metadata(self, request: MetadataRequest) -> tuple[MetadataResponse, int]:
        node_id = self._some_node()
        response: MetadataResponse = await self.send(node_id, request)
        if response.error_code == ErrorCode.NONE and response.brokers:
            self._is_bootstrapping = False
            self._answered_s = asyncio.get_running_loop().time()
            nodes = {broker.node_id: Node(broker.node_id, broker.host, broker.port) for broker in response.brokers}
            self._connections.adopt(nodes)
        return response, self.version(node_id, MetadataRequest) or 0

    async def _ask_for_coordinator(self, make: Callable[[int], FindCoordinatorRequest]) -> FindCoordinatorResponse:
        node_id = self._some_node()
        await self._connection(node_id).channel.connect(self.settings.request_timeout_ms)
        request = make(self.version(node_id, FindCoordinatorRequest) or 0)
        response: FindCoordinatorResponse = await self.send(node_id, request)
        return response

    def _maybe_rebootstrap(self, error: ApiError | None) -> None:
        """A node asks for it; or none of those we know can be reached, or none has answered for too long."""
        if self.settings.metadata_recovery_strategy != _REBOOTSTRAP:
            return
        silent_s = asyncio.get_running_loop().time() - self._answered_s
        is_too_long = silent_s * 1000 >= self.settings.metadata_recovery_rebootstrap_trigger_ms
        if error is None or is_too_long or self._connections.are_all_failing(self._node_ids()):
            self._is_bootstrapping = True
            self._answered_s = asyncio.get_running_loop().time()

    async def _connect_to_bootstrap(self) -> None:
        """To the first that answers; each is begun when the one before failed, or takes long."""
        left = self.random.sample(list(self._bootstrap), len(self._bootstrap))
        attempts: dict[asyncio.Task[None], int] = {}
        reasons: dict[int, str] = {}
        try:
            while left or attempts:
                if left:
                    node_id = left.pop()
                    attempts[asyncio.ensure_future(self._connection(node_id).channel.connect())] = node_id
                stagger_s = _BOOTSTRAP_STAGGER_S if left else None
                finished, _ = await asyncio.wait(attempts, timeout=stagger_s, return_when=asyncio.FIRST_COMPLETED)
                for attempt in finished:
                    node_id, error = attempts.pop(attempt), attempt.exception()
                    if error is None:
                        return
                    reasons[node_id] = error.message if isinstance(error, ApiError) else str(error)
        finally:
            for attempt in attempts:
                attempt.cancel()
        message = "; ".join(reasons[node_id] for node_id in self._bootstrap if node_id in reasons)
        raise Unreachable(f"no broker answers: {message}")


def _log_name(settings: CommonConfig) -> str:
    """Return the client's name in log lines: its kind, and its client.id if it has one."""
    client_type = type(settings).__name__.removesuffix("Config").lower()
    return f"{client_type} {settings.client_id}" if settings.client_id else client_type
