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
from types import TracebackType
from typing import Any, Self

from odradek.client.backoff import Backoff
from odradek.client.coordinator_kind import CoordinatorKind
from odradek.client.metadata_cache import MetadataCache, Node, TopicMetadata
from odradek.client.settings import CommonSettings
from odradek.protocol.message import Message

__all__ = ["CoordinatorKind", "NetworkClient"]


class NetworkClient:
    """Everything is called from the loop that `start` was called on."""

    metadata: MetadataCache

    def __init__(self, settings: CommonSettings, *, randomness: random.Random | None = None) -> None:
        self.settings = settings
        #: retry.backoff.ms; with `random` for whoever repeats requests.
        self.backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self.random = randomness or random.Random()
        self.metadata = MetadataCache(settings.metadata_max_age_ms, settings.metadata_max_idle_ms)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Connects to a bootstrap address that answers and learns the cluster from it.

        Raises Unreachable with each address and what became of it.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Whoever waits is told (Disconnected). May be called twice."""
        raise NotImplementedError

    async def send(
        self, node_id: int, request: Message, timeout_ms: float | None = None, *, version: int | None = None
    ) -> Any:
        """The response, to a request that is sent at most once; within request.timeout.ms unless said otherwise.

        Raises Disconnected (also where there is no such node), RequestTimedOut, VersionsDiffer.
        """
        raise NotImplementedError

    def post(self, node_id: int, request: Message, timeout_ms: float) -> "asyncio.Future[Any] | None":
        """Sends at once if the connection is up and has a free place; else None, and a connection is begun.

        The future has the response, or raises as `send`. Raises VersionsDiffer itself.
        """
        raise NotImplementedError

    def post_and_forget(self, node_id: int, request: Message) -> bool:
        """As `post`, for a request that has no response: Produce with acks=0. False if it was not sent."""
        raise NotImplementedError

    def is_ready(self, node_id: int) -> bool:
        """Whether `post` would send: connected, a free place, not throttled."""
        raise NotImplementedError

    def connect(self, node_id: int) -> None:
        """Begins to, unless it is connected, connecting or backing off; what becomes of it is not told."""
        raise NotImplementedError

    async def ready(self, node_id: int, timeout_ms: float) -> bool:
        """Waits until `is_ready`, or until the time is up; False then, or after a failed attempt to connect."""
        raise NotImplementedError

    def version(self, node_id: int, api: type[Message]) -> int | None:
        """The highest version of a request that both have; None while there was no connection, or if there is none."""
        raise NotImplementedError

    def node(self, node_id: int) -> Node | None:
        """Where a node id leads: a broker, a bootstrap address, a coordinator's own connection."""
        raise NotImplementedError

    def in_flight(self, node_id: int) -> int:
        raise NotImplementedError

    def least_loaded(self) -> int | None:
        """The node with the fewest requests in flight, connected ones first; None if all back off."""
        raise NotImplementedError

    async def send_to_any(self, request: Message, timeout_ms: float | None = None) -> Any:
        """To the least loaded node that is up, once. Raises as `send`, and Unreachable if there is none."""
        raise NotImplementedError

    async def refresh_metadata(self, timeout_ms: float | None = None) -> None:
        """Now: returns with an answer that was asked for after the call. Raises RequestTimedOut, saying what failed."""
        raise NotImplementedError

    def request_update(self) -> None:
        """Some time soon, with back-off."""
        raise NotImplementedError

    async def updated(self, version: int) -> None:
        """Returns when `metadata.version` is beyond this one."""
        raise NotImplementedError

    async def topic(self, name: str, timeout_ms: float) -> TopicMetadata:
        """Waits until the topic is known. From then on it is in use (`MetadataCache.use_topic`).

        Raises UnknownTopic when the time is up, Refused where no time helps (a name that cannot be, no permission).
        """
        raise NotImplementedError

    async def coordinator(self, kind: CoordinatorKind, key: str, timeout_ms: float) -> int:
        """The node id to send to; kept until it is forgotten. A group's coordinator has a connection of its own, so
        that heartbeats do not wait behind fetches: its id is no broker's id.

        Raises RequestTimedOut, saying what failed; Refused where no time helps.
        """
        raise NotImplementedError

    def forget_coordinator(self, kind: CoordinatorKind, key: str) -> None:
        """After NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE or a broken connection."""
        raise NotImplementedError
