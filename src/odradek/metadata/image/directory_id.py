"""Ids of log directories, and those that stand for no directory."""

from collections.abc import Sequence

from odradek.common.ids import ZERO_UUID

#: Where the replica lives is not known: the cluster came from a level without directories.
MIGRATING = ZERO_UUID
#: Its broker has not chosen yet.
UNASSIGNED = bytes(15) + b"\x01"
#: It was on a disk that is gone.
LOST = bytes(15) + b"\x02"


def is_online(directory: bytes, online: Sequence[bytes]) -> bool:
    """`online` empty means that the broker did not say, not that it has none: one without any would have halted."""
    if directory in (MIGRATING, UNASSIGNED):
        return True
    return directory != LOST and (not online or directory in online)
