"""The files of a metadata log, read while a node may be writing them.

Nothing is locked or changed. A segment's last batch may be half written, and ends it then. Batches are read and not
mapped: a node that truncates its log would take a mapping away under us.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from odradek.common.failures import ApiError, Fault, InputError, ProtocolError
from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.log import file_names
from odradek.log.errors import DamagedFile
from odradek.raft.storage.snapshots import parse_snapshot_file_name
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import OVERHEAD_BYTES, Batch, read_batch, size_at

PARTITION_DIR = file_names.partition_dir(TopicPartition(file_names.CLUSTER_METADATA_TOPIC, 0))


@dataclass(frozen=True, slots=True)
class MetadataFiles:
    """Files of an image: the newest snapshot, if there is one, and the segments that continue from its end."""

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
    parsed = [(name, file_names.parse_segment_file(name)) for name in entries]
    segments = sorted(
        (each.base_offset, name) for name, each in parsed if each and each[1:] == (file_names.LOG_SUFFIX, "")
    )
    if snapshot is None and not segments:
        raise InputError(f"{path}: there is no metadata log in it; right would be a data directory or {PARTITION_DIR}")
    start = 0 if snapshot is None else snapshot.offset
    # The last that begins at the snapshot's end or before it, and those after it.
    earlier = [base_offset for base_offset, _ in segments if base_offset <= start]
    first = earlier[-1] if earlier else start
    segment_paths = tuple(f"{directory}/{name}" for base_offset, name in segments if base_offset >= first)
    return MetadataFiles(snapshot, f"{directory}/{newest}", segment_paths)


def file_batches(path: str) -> Iterator[Batch]:
    """Every whole batch of a file, its CRC checked. Raises DamagedFile with its place where there is none."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for ever
        raise InputError(f"{path} is no regular file")
    file = OsFileSystem().open(path, writable=False)
    try:
        position, end = 0, file.size()
        while position + OVERHEAD_BYTES <= end:
            with blaming(path, position):
                size_bytes = size_at(file.read(position, OVERHEAD_BYTES), 0)
                if position + size_bytes > end:
                    return
                batch = read_batch(file.read(position, size_bytes))
                batch.check()
            yield batch
            position += size_bytes
    finally:
        file.close()


@contextmanager
def blaming(path: str, position: int | None = None) -> Iterator[None]:
    """Attribute errors raised inside to this file."""
    try:
        yield
    except DamagedFile:
        raise
    except (ApiError, ProtocolError, Fault) as error:
        raise DamagedFile(path, position, str(error)) from None
