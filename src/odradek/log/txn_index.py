"""The transaction index of a segment: its aborted transactions. Skeleton of signatures."""

from odradek.common.ports import FileSystem
from odradek.log.offsets import AbortedTxn


class TxnIndex:
    def __init__(self, files: FileSystem, path: str, start_offset: int) -> None:
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        raise NotImplementedError

    def append(self, aborted: AbortedTxn) -> None:
        raise NotImplementedError

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        raise NotImplementedError

    def entries(self) -> list[AbortedTxn]:
        raise NotImplementedError

    def sanity_check(self) -> None:
        raise NotImplementedError
