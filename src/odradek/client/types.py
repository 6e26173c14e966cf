"""Places in topics, and what a group remembers of them."""

from typing import NamedTuple

from odradek.common.ids import TopicPartition

__all__ = ["OffsetAndMetadata", "TopicPartition"]


class OffsetAndMetadata(NamedTuple):
    """What a group commits for a partition: the offset of the next record to read.

    `leader_epoch` is that of the last record that was read, where it is known: it tells a log that was cut off from one
    that goes on.
    """

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
