"""The time index of a segment: timestamp to offset. Skeleton of signatures."""

from odradek.common.ports import FileSystem
from odradek.log.offsets import TimestampOffset


class TimeIndex:
    def __init__(self, files: FileSystem, path: str, base_offset: int, max_bytes: int = 10 * 1024 * 1024) -> None:
        raise NotImplementedError

    @property
    def entry_count(self) -> int:
        raise NotImplementedError

    @property
    def last_entry(self) -> TimestampOffset:
        raise NotImplementedError

    @property
    def is_full(self) -> bool:
        raise NotImplementedError

    def entry(self, slot: int) -> TimestampOffset:
        raise NotImplementedError

    def lookup(self, timestamp: int) -> TimestampOffset:
        raise NotImplementedError

    def maybe_append(self, timestamp: int, offset: int, *, even_if_full: bool = False) -> None:
        raise NotImplementedError
