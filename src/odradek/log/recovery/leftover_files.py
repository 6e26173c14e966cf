"""The first passes of loading: what an interrupted deletion, compaction or split left behind.

The suffix of a file says how far the work had come. `.deleted`: no longer part of the log. `.cleaned`: unfinished,
and the segments it was made from are still there. `.swap`: finished and synced, and takes the place of the segments
whose offsets it covers, however many of them are still there.
"""

from __future__ import annotations

from odradek.common.ports import FileSystem
from odradek.log.batch_chain import walk_chain
from odradek.log.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    SegmentFileName,
    parse_segment_file,
    segment_path,
)
from odradek.log.values import CorruptLog

#: Snapshots of the metadata log are looked after by the metadata log.
_METADATA_SNAPSHOT_DELETED = ".checkpoint" + DELETED_SUFFIX

_MARKS = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)
_INDEX_KINDS = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)


def segment_files(files: FileSystem, directory: str) -> list[tuple[str, SegmentFileName]]:
    """Path and parsed name of every file that belongs to a segment, in the order of names."""
    parsed_files = ((f"{directory}/{name}", parse_segment_file(name)) for name in files.list_dir(directory))
    return [(path, parsed) for path, parsed in parsed_files if parsed is not None and not files.is_dir(path)]


def is_tidy(files: FileSystem, directory: str) -> bool:
    """Return whether the passes below have nothing to do, as for nearly all logs of a node that starts."""
    names = files.list_dir(directory)
    if any(name.endswith(_MARKS) for name in names):
        return False
    logs = [name.removesuffix(LOG_SUFFIX) for name in names if name.endswith(LOG_SUFFIX)]
    return all(name.partition(".")[0] in logs for name in names if name.endswith(_INDEX_KINDS))


def sweep(files: FileSystem, directory: str) -> list[str]:
    """First pass: remove what was deleted or unfinished; the paths that went.

    A split that did not finish leaves `.swap` beside `.cleaned`: such a `.swap` is unfinished as well."""
    removed = [
        f"{directory}/{name}"
        for name in files.list_dir(directory)
        if name.endswith(DELETED_SUFFIX)
        and not name.endswith(_METADATA_SNAPSHOT_DELETED)
        and not files.is_dir(f"{directory}/{name}")
    ]
    entries = segment_files(files, directory)
    cleaned = [name.base_offset for _, name in entries if name.suffix == CLEANED_SUFFIX]
    if cleaned:
        removed += [path for path, name in entries if name.suffix == SWAP_SUFFIX and name.base_offset >= min(cleaned)]
        removed += [path for path, name in entries if name.suffix == CLEANED_SUFFIX]
    for path in removed:
        files.remove(path)
    return removed


def finish_swaps(files: FileSystem, directory: str) -> list[str]:
    """Second and third pass: remove the segments that a `.swap` replaces, and give it its name; the paths that went."""
    entries = segment_files(files, directory)
    swaps = [(path, name) for path, name in entries if name.suffix == SWAP_SUFFIX]
    if not swaps:
        return []
    ranges = [_covered(files, path, name.base_offset) for path, name in swaps if name.kind == LOG_SUFFIX]
    removed = []
    if ranges:
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        removed = [path for path, name in entries if not name.suffix and low <= name.base_offset < high]
        for path in removed:
            files.remove(path)
    for path, _ in swaps:
        files.rename(path, path.removesuffix(SWAP_SUFFIX))
    files.sync_dir(directory)
    return removed


def _covered(files: FileSystem, path: str, base_offset: int) -> tuple[int, int]:
    """The offsets that a swapped segment takes. It was synced before it got its name, so it must be whole."""
    chain = walk_chain(files.map_file(path), base_offset)
    if chain.reason:
        raise CorruptLog(path, chain.valid_bytes, chain.reason)
    return base_offset, chain.next_offset


def remove_orphans(files: FileSystem, directory: str) -> list[str]:
    """Indexes without a log file; the paths that went."""
    orphans = [
        path
        for path, name in segment_files(files, directory)
        if name.kind in _INDEX_KINDS
        and not name.suffix
        and not files.exists(segment_path(directory, name.base_offset, LOG_SUFFIX))
    ]
    for path in orphans:
        files.remove(path)
    return orphans


def remove_segment_files(files: FileSystem, directory: str, base_offset: int) -> None:
    """A segment and its snapshot, while nobody reads from it."""
    for kind in (LOG_SUFFIX, *_INDEX_KINDS, SNAPSHOT_SUFFIX):
        path = segment_path(directory, base_offset, kind)
        if files.exists(path):
            files.remove(path)
