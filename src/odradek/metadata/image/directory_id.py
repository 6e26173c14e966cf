"""Ids of log directories, and the reserved ids that are not of a directory."""

from collections.abc import Sequence

from odradek.common.ids import ZERO_UUID

#: The directory of the replica is unknown: the cluster was upgraded from a metadata.version without directories.
MIGRATING = ZERO_UUID
#: The broker has not assigned a directory yet.
UNASSIGNED = bytes(15) + b"\x01"
#: The directory was on a failed disk.
LOST = bytes(15) + b"\x02"


def is_online(directory: bytes, online: Sequence[bytes]) -> bool:
    """Return whether the directory is online. An empty `online` means that the broker did not report its directories: a
    broker without any halts."""
    if directory in (MIGRATING, UNASSIGNED):
        return True
    return directory != LOST and (not online or directory in online)
