"""The files of a metadata log, read while a node may be writing them.

Nothing is locked, mapped or changed. A segment's last batch may be half written, and ends it then. Files are read in
pieces, not mapped: a node that truncates its log would take a mapping away under us.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from odradek.common.failures import ApiError, Fault, InputError, ProtocolError
from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.log import names
from odradek.log.errors import DamagedFile
from odradek.raft.snapshots import parse_snapshot_file_name
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import OVERHEAD_BYTES, Batch, read_batches, size_at

PARTITION_DIR = names.partition_dir(TopicPartition(names.CLUSTER_METADATA_TOPIC, 0))

_CHUNK_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class MetadataFiles:
    """What makes an image: the newest snapshot, if there is one, and the segments that go on from its end."""

    snapshot: OffsetAndEpoch | None
    snapshot_path: str
    segment_paths: tuple[str, ...]


def find_metadata_files(path: str) -> MetadataFiles:
    """In the directory of a metadata log, or in a data directory that holds one."""
    inner = f"{path}/{PARTITION_DIR}"
    directory = inner if os.path.isdir(inner) else path
    entries = os.listdir(directory)
    snapshots = {name: found for name in entries if (found := parse_snapshot_file_name(name)) is not None}
    newest = max(snapshots, key=lambda name: snapshots[name].offset, default="")
    snapshot = snapshots.get(newest)
    parsed = [(name, names.parse_segment_file(name)) for name in entries]
    segments = sorted((each.base_offset, name) for name, each in parsed if each and each[1:] == (names.LOG_SUFFIX, ""))
    if snapshot is None and not segments:
        raise InputError(f"{path}: there is no metadata log in it; right would be a data directory or {PARTITION_DIR}")
    start = 0 if snapshot is None else snapshot.offset
    # The last that begins at the snapshot's end or before it, and those after it.
    before = [base_offset for base_offset, _ in segments if base_offset <= start]
    first = before[-1] if before else start
    wanted = tuple(f"{directory}/{name}" for base_offset, name in segments if base_offset >= first)
    return MetadataFiles(snapshot, f"{directory}/{newest}", wanted)


def file_batches(path: str) -> Iterator[Batch]:
    """Every whole batch of a file, its CRC checked. Raises DamagedFile with its place where there is none."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for ever
        raise InputError(f"{path} is no regular file")
    file = OsFileSystem().open(path, writable=False)
    position = 0
    try:
        while chunk := file.read(position, _CHUNK_BYTES):
            with blaming(path, position):
                wanted_bytes = size_at(chunk, 0) if len(chunk) >= OVERHEAD_BYTES else OVERHEAD_BYTES
                if wanted_bytes > len(chunk):
                    chunk = file.read(position, wanted_bytes)
            before = position
            for batch in read_batches(chunk):
                with blaming(path, position):
                    batch.check()
                yield batch
                position += batch.size_bytes
            if position == before:
                return
    finally:
        file.close()


@contextmanager
def blaming(path: str, position: int | None = None) -> Iterator[None]:
    """What is wrong inside is wrong with this file."""
    try:
        yield
    except DamagedFile:
        raise
    except (ApiError, ProtocolError, Fault) as error:
        raise DamagedFile(path, position, str(error)) from None
