"""Marker of the end of the metadata log when it was closed cleanly, with all of it synced.

Without it a damaged batch near the end looks like the torn tail of a crash, and is cut: a voter would forget what it
has acknowledged. With it, damage below that end is a fault of the disk, and the node halts. The note is made when the
log is closed and taken away when it is opened, so it speaks of nothing but what was left; and only as long as the last
segment has the size that it had, since Apache Kafka, which may have worked on the directory meanwhile, does not know
of it.
"""

from typing import NamedTuple

from odradek.common.ports import FileSystem, write_atomically

SYNCED_END_FILE = "odradek-synced-end"


class SyncedEnd(NamedTuple):
    offset: int
    segment: str
    size_bytes: int


def write_synced_end(files: FileSystem, directory: str, end: SyncedEnd) -> None:
    write_atomically(files, f"{directory}/{SYNCED_END_FILE}", f"{end.offset} {end.segment} {end.size_bytes}\n".encode())


def take_synced_end(files: FileSystem, directory: str) -> int:
    """Return the synced offset, 0 if it is unknown, and remove the marker."""
    path = f"{directory}/{SYNCED_END_FILE}"
    if not files.exists(path):
        return 0
    found = _parse(files.read_file(path))
    files.remove(path)
    files.sync_dir(directory)
    if found is None:
        return 0
    segment = f"{directory}/{found.segment}"
    is_as_left = files.exists(segment) and files.size(segment) == found.size_bytes
    return found.offset if is_as_left else 0


def _parse(data: bytes) -> SyncedEnd | None:
    words = data.decode(errors="replace").split()
    if len(words) != 3 or not (words[0].isdigit() and words[2].isdigit()) or "/" in words[1]:
        return None
    return SyncedEnd(int(words[0]), words[1], int(words[2]))
