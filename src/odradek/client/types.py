"""Partitions, committed offsets, and the types of keys and values."""

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.common.ids import TopicPartition

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with defaults, which Python has since 3.13

    #: Type of the keys of a producer or consumer; Any unless a function that serializes them says more.
    Key = TypeVar("Key", default=Any)
    #: Type of the values of a producer or consumer.
    Value = TypeVar("Value", default=Any)
else:
    from typing import TypeVar

    Key = TypeVar("Key")
    Value = TypeVar("Value")

__all__ = ["Key", "OffsetAndMetadata", "TopicPartition", "Value"]


class OffsetAndMetadata(NamedTuple):
    """Committed position of a group in a partition: the offset of the next record to read.

    `leader_epoch` is that of the last record that was read, where it is known: it tells a log that was cut off from one
    that goes on.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
