"""Small values that the parts of the log hand to each other."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from odradek.common.ports import File

NO_TIMESTAMP = -1
UNKNOWN_SEGMENT = -1


class AppendOrigin(IntEnum):
    """Origin of an append, which determines how much is checked."""

    REPLICATION = 0  # the leader has checked already
    COORDINATOR = 1  # epochs are checked, sequences are not: coordinators write none
    CLIENT = 2  # everything is checked
    RAFT_LEADER = 3  # as a client, but the offsets are assigned already


class OffsetMetadata(NamedTuple):
    """An offset and, where it is known, its place: the segment and the position in it."""

    message_offset: int
    segment_base_offset: int = UNKNOWN_SEGMENT
    position: int = -1

    @property
    def is_offset_only(self) -> bool:
        return self.segment_base_offset == UNKNOWN_SEGMENT


class OffsetPosition(NamedTuple):
    """An entry of the offset index."""

    offset: int
    position: int


class TimestampOffset(NamedTuple):
    """An entry of the time index."""

    timestamp: int
    offset: int


class BatchPosition(NamedTuple):
    """Position of a batch in its segment."""

    base_offset: int
    position: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FoundTimestamp:
    """The answer to a search by time: the first record that is late enough."""

    timestamp: int
    offset: int
    leader_epoch: int | None


class FileRange:
    """A stretch of a file that is read (or handed to a socket) when it is needed."""

    __slots__ = ("file", "length", "position")

    def __init__(self, file: File, position: int, length: int) -> None:
        self.file = file
        self.position = position
        self.length = length

    def read(self) -> bytes:
        return self.file.read(self.position, self.length)

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"FileRange({self.file.path}, {self.position}, {self.length})"


class AbortedTxn(NamedTuple):
    """An entry of the transaction index. `last_offset` is that of the abort marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(frozen=True, slots=True)
class CompletedTxn:
    """A transaction whose marker is being appended; `last_offset` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool
