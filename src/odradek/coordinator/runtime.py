"""The shards of one coordinator on this node: loading and unloading with leadership, writing, waiting, and time.

See `shard` for what a coordinator is promised. The runtime is pure: records go to a `PartitionLog`, a driver calls
`high_watermark_moved`, `tick` at `deadline_ms`, and loads in slices with `load_step`.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from odradek.coordinator.reply import Reply
from odradek.coordinator.shard import NOBODY, CoordinatorRecord, Decision, Shard, ShardContext, Writer

Answer = TypeVar("Answer")
AnyShard = TypeVar("AnyShard", bound=Shard)


class PartitionLog(Protocol):
    """The partitions of the internal topic, as far as this node leads them. Every method may raise ApiError."""

    def append(self, partition: int, records: tuple[CoordinatorRecord, ...], writer: Writer) -> int:
        """In one batch; the offset after its last record."""
        ...

    def high_watermark(self, partition: int) -> int: ...


class CoordinatorRuntime(Generic[AnyShard]):
    """`write`, `read` for handlers; the rest is for the driver."""

    def __init__(self, topic: str, log: PartitionLog, new_shard: Callable[[ShardContext], AnyShard]) -> None: ...

    def write(
        self,
        partition: int,
        operation: Callable[[AnyShard], Decision[Answer]],
        *,
        timeout_ms: int,
        writer: Writer = NOBODY,
    ) -> Reply[Answer]:
        """The answer, when the records are committed. Fails with NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE (the log refuses for now), or what the operation raises."""
        raise NotImplementedError

    def read(self, partition: int, operation: Callable[[AnyShard], Answer]) -> Reply[Answer]:
        """From what is committed: it waits for what was appended before it was asked."""
        raise NotImplementedError
