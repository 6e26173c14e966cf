"""Contract between the runtime and a coordinator.

A shard is the state of one coordinator for one partition of its internal topic. **Decide, log, replay:** an operation
looks at the state and returns a `Decision`, the records to write and the answer to give. The runtime appends the
records in one batch, calls `replay` with each of them at once, and gives the answer when they are committed. If the
append is refused nothing was replayed, and `on_done` is told why. If the partition is lost meanwhile the whole shard is
dropped, and the next leader loads it by replaying the log: so `replay` alone may change what must outlive the process.

What need not outlive it (members that wait to join, sessions) is soft state that operations may change themselves. An
answer that waits for others is a `Reply` of the shard's own, completed by a later operation or a timer.

**Timers are data**: a name, a delay and an operation. The runtime runs the operation as any other; scheduling a name
again replaces the timer. They go with the shard.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.common.randomness import Randomness
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.message import Message

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """A key of `coordinator-key` kind and its value; without a value the key is forgotten (a tombstone)."""

    key: Message
    value: Message | None = None
    value_version: int = 0


@dataclass(frozen=True, slots=True)
class Writer:
    """The transactional producer on whose behalf records are written; they count when its transaction is committed."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    #: Of the request that brought them: newer clients are verified more strictly.
    transaction_version: int = 0
    #: What the log handed out for the verification of the transaction, if it was verified; only the log looks inside.
    guard: object | None = None


NOBODY = Writer("", -1, -1)


@dataclass(frozen=True, slots=True)
class Decision(Generic[Answer]):
    answer: Answer
    records: tuple[CoordinatorRecord, ...] = ()
    #: False: the operation has changed the state itself, and the records only make it durable.
    is_replayed: bool = True
    #: Told once: None when the records (or else those before) are committed, or why they never will be: refused,
    #: or the shard is unloaded. Whoever asked may have given up waiting before; that changes nothing here.
    on_done: Callable[[ApiError | None], None] | None = None


Operation = Callable[[], Decision[Answer]]


class Timers(Protocol):
    def schedule(self, name: str, delay_ms: int, operation: Operation[None]) -> None:
        """In so many milliseconds, unless cancelled or scheduled anew. If it fails with an ApiError, or its records
        are refused, it is tried again a little later, unless it has scheduled the name anew."""
        ...

    def cancel(self, name: str) -> None:
        """Nothing happens if there is none of the name."""
        ...

    def is_scheduled(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class ShardContext:
    """Ports of a shard to the outside."""

    partition: int
    #: Of the partition's leadership that this shard belongs to.
    leader_epoch: int
    clock: Clock
    random: Randomness
    timers: Timers
    image: Callable[[], MetadataImage]


class Shard(Protocol):
    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """`producer_id` is -1 outside of transactions; within one the record counts once that is committed."""
        ...

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, is_committed: bool) -> None: ...

    def on_loaded(self) -> None:
        """All of the log was replayed; timers may begin, and operations come from now on."""
        ...

    def on_unloaded(self) -> None:
        """Leadership is gone: whoever waits is failed with NOT_COORDINATOR."""
        ...

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None: ...
