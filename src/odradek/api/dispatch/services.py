"""What handlers may ask of the node: one small interface per part of it.

The parts themselves live above and below this room; the composition root hands them to handlers in `Services`. A
handler that needs a part which this node does not have (a broker has no controller of its own) is not registered on
its listeners.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.shard import NOBODY, Decision, Writer
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.message import Message
from odradek.protocol.schema import Versions

Answer = TypeVar("Answer")
Shard_co = TypeVar("Shard_co", covariant=True)


class Node(NamedTuple):
    """A node and where it can be reached."""

    id: int
    host: str
    port: int


class Quorum(Protocol):
    """This node's replica of the metadata log."""

    async def handle(self, request: Message, version: int, listener_name: str) -> Any:
        """The response to a request of Raft's: Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot of the
        metadata log, DescribeQuorum, and the changes of voters."""
        ...

    @property
    def leader_epoch(self) -> int: ...

    def leader(self) -> Node | None:
        """The active controller, as this node knows it."""
        ...

    def voters(self) -> list[Node]: ...


class Controller(Protocol):
    """The controller of this node, active or not."""

    async def handle(self, request: Message, *, deadline_ms: int | None = None) -> Any:
        """The response, once what was decided is durable. Raises ApiError: NOT_CONTROLLER where another one is active.

        After `deadline_ms` of the monotonic clock nobody waits for it any more.
        """
        ...

    def heartbeat_connection_lost(self, broker_id: int, broker_epoch: int) -> None: ...


class Forwarder(Protocol):
    """A broker's way to the active controller."""

    async def forward(self, request: bytes, principal: str, client_address: str, timeout_ms: int) -> bytes:
        """A whole request with its header goes in an Envelope; the response with its header comes back. Tried again
        until there is an active controller that takes it. Raises ApiError."""
        ...

    async def send(self, request: Message, timeout_ms: int) -> Any:
        """A request of this node's own, tried again likewise."""
        ...

    @property
    def controller_versions(self) -> Mapping[int, Versions] | None:
        """What the active controller serves, by API key; None while that is not known."""
        ...


class TopicCreator(Protocol):
    """Makes topics that clients asked for and that are not there."""

    def create(self, names: Iterable[str], principal: str, client_address: str) -> None:
        """Begins, and does not wait: those who asked see the topic when they ask again. Nothing is begun twice."""
        ...


class Coordinator(Protocol[Shard_co]):
    """The groups, or the transactions, that this broker coordinates. Keys are their ids. All methods raise ApiError:
    NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, and what an operation raises."""

    @property
    def topic(self) -> str: ...

    def partition_for(self, key: str) -> int: ...

    async def write(
        self,
        key: str,
        operation: Callable[[Shard_co], Decision[Answer]],
        *,
        timeout_ms: int | None = None,
        writer: Writer = NOBODY,
    ) -> Answer:
        """The answer, once the records of the decision are committed."""
        ...

    async def read(self, key: str, operation: Callable[[Shard_co], Answer]) -> Answer:
        """From what is committed."""
        ...

    async def read_all(self, operation: Callable[[Shard_co], Answer]) -> list[Answer]:
        """Of each partition of the internal topic that is led here."""
        ...


class Verifier(Protocol):
    """A broker's way to the coordinators of transactions, before it appends for one of them (KIP-890)."""

    async def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        adds: bool,
    ) -> dict[TopicPartition, int]:
        """An error code for each of the partitions, which are added to the transaction, or else should be in it."""
        ...


#: The image of what is committed, as far as this node has read.
Image = Callable[[], MetadataImage]
