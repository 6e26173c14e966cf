"""The offset index of a segment: offset to position. Skeleton of signatures."""

from odradek.common.ports import File, FileSystem
from odradek.log.offsets import OffsetPosition


class OffsetIndex:
    def __init__(self, files: FileSystem, path: str, base_offset: int, max_bytes: int = 10 * 1024 * 1024) -> None:
        raise NotImplementedError

    @property
    def entry_count(self) -> int:
        raise NotImplementedError

    @property
    def last_offset(self) -> int:
        raise NotImplementedError

    @property
    def is_full(self) -> bool:
        raise NotImplementedError

    def entry(self, slot: int) -> OffsetPosition:
        raise NotImplementedError

    def lookup(self, offset: int) -> OffsetPosition:
        """The last entry at or before `offset`, or (base offset, 0)."""
        raise NotImplementedError

    def fetch_upper_bound(self, position: int) -> OffsetPosition | None:
        raise NotImplementedError

    def append(self, offset: int, position: int) -> None:
        raise NotImplementedError

    def truncate_to(self, offset: int) -> None:
        raise NotImplementedError

    def reset(self) -> None:
        raise NotImplementedError

    def sanity_check(self) -> None:
        raise NotImplementedError

    def write(self) -> File | None:
        """Write what is pending; the file to sync, or None if nothing changed since the last sync."""
        raise NotImplementedError
