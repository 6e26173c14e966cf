"""Listing of a data directory by names: files, their types and partitions.

No file is opened here. A target that a person names is a single file, the directory of a partition, or a whole data
directory; `find_target` tells them apart by what is inside, so that a copied and renamed directory works too. A
partition that cannot be looked into is remembered with the reason, and does not spoil the others.
"""

import os
import re
from dataclasses import dataclass
from enum import StrEnum

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.log import file_names

QUORUM_STATE = "quorum-state"
BOOTSTRAP_SNAPSHOT = "bootstrap.checkpoint"

_METADATA_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint((?:\.part|\.deleted)?)", re.ASCII)

#: The partition of a directory whose name says none.
UNKNOWN_PARTITION = -1

_NOWHERE = TopicPartition("", UNKNOWN_PARTITION)

#: Snapshots hold the records of this one, wherever they lie.
_METADATA_PARTITION = TopicPartition(file_names.CLUSTER_METADATA_TOPIC, 0)


class Kind(StrEnum):
    SEGMENT = "segment"
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TXN_INDEX = "transaction index"
    PRODUCER_SNAPSHOT = "producer snapshot"
    METADATA_SNAPSHOT = "metadata snapshot"
    EPOCHS = "leader epochs"
    OFFSETS = "offset checkpoint"
    PARTITION_METADATA = "partition metadata"
    META_PROPERTIES = "meta.properties"
    QUORUM_STATE = "quorum state"
    CLEAN_SHUTDOWN = "clean shutdown"
    UNKNOWN = "unknown file"


_SEGMENT_KINDS = {
    file_names.LOG_SUFFIX: Kind.SEGMENT,
    file_names.INDEX_SUFFIX: Kind.OFFSET_INDEX,
    file_names.TIME_INDEX_SUFFIX: Kind.TIME_INDEX,
    file_names.TXN_INDEX_SUFFIX: Kind.TXN_INDEX,
    file_names.SNAPSHOT_SUFFIX: Kind.PRODUCER_SNAPSHOT,
}

_FIXED_KINDS = {
    file_names.LEADER_EPOCH_CHECKPOINT: Kind.EPOCHS,
    file_names.RECOVERY_POINT_CHECKPOINT: Kind.OFFSETS,
    file_names.REPLICATION_CHECKPOINT: Kind.OFFSETS,
    file_names.LOG_START_CHECKPOINT: Kind.OFFSETS,
    file_names.CLEANER_CHECKPOINT: Kind.OFFSETS,
    file_names.PARTITION_METADATA: Kind.PARTITION_METADATA,
    file_names.META_PROPERTIES: Kind.META_PROPERTIES,
    file_names.CLEAN_SHUTDOWN: Kind.CLEAN_SHUTDOWN,
    QUORUM_STATE: Kind.QUORUM_STATE,
    BOOTSTRAP_SNAPSHOT: Kind.METADATA_SNAPSHOT,
}

#: What lies in the directory of a partition and never beside it.
_PARTITION_KINDS = (
    *_SEGMENT_KINDS.values(),
    *(Kind.EPOCHS, Kind.PARTITION_METADATA, Kind.QUORUM_STATE),
)


@dataclass(frozen=True, slots=True)
class LogFile:
    """`base_offset` is the number in the name; `suffix` says what is being done to the file (`.deleted`, …)."""

    path: str
    kind: Kind
    partition: TopicPartition
    base_offset: int = 0
    suffix: str = ""

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


@dataclass(frozen=True, slots=True)
class PartitionDir:
    """`unreadable` is empty, or why nothing is known of its files."""

    path: str
    partition: TopicPartition
    mark: str
    files: tuple[LogFile, ...]
    unreadable: str = ""

    def live(self, kind: Kind) -> list[LogFile]:
        """Files of one kind that are in use, by offset."""
        return sorted((f for f in self.files if f.kind is kind and not f.suffix), key=lambda f: f.base_offset)


@dataclass(frozen=True, slots=True)
class DataDir:
    """`strangers` are directories that are called like a partition, and hold nothing of Kafka's."""

    path: str
    files: tuple[LogFile, ...]
    partitions: tuple[PartitionDir, ...]
    strangers: tuple[str, ...]


def find_target(path: str) -> LogFile | PartitionDir | DataDir:
    """Raises InputError for a path that is nothing of Kafka's, OSError for one that cannot be looked at."""
    os.stat(path)
    path = path.rstrip("/") or "/"
    if not os.path.isdir(path):
        parent = os.path.dirname(os.path.abspath(path))
        return _file(path, _partition_of(parent)[0])
    entries = sorted(os.listdir(path))
    if _is_partition(path, entries):
        return _partition_dir(path, entries)
    target = _data_dir(path, entries)
    if file_names.META_PROPERTIES not in entries and not any(partition.files for partition in target.partitions):
        raise InputError(
            f"{path}: neither a data directory (no {file_names.META_PROPERTIES}, no partitions)"
            " nor the directory of a partition (no segments)"
        )
    return target


def kind_of(name: str) -> Kind:
    """Return the type of a file by its name alone."""
    return _file(name, _NOWHERE).kind


def _data_dir(path: str, entries: list[str]) -> DataDir:
    partitions: list[PartitionDir] = []
    strangers = []
    files = []
    for inner in (f"{path}/{name}" for name in entries):
        if not os.path.isdir(inner):
            files.append(_file(inner, _NOWHERE))
        elif _parsed(inner) is not None:
            partition = _look_into(inner)
            if partition is None:
                strangers.append(inner)
            else:
                partitions.append(partition)
    ordered = sorted(partitions, key=lambda p: (p.partition, p.mark, p.path))
    return DataDir(path, tuple(files), tuple(ordered), tuple(strangers))


def _look_into(path: str) -> PartitionDir | None:
    """None for a directory that only looks like that of a partition from outside."""
    try:
        entries = sorted(os.listdir(path))
    except OSError as error:
        return PartitionDir(path, *_partition_of(path), (), error.strerror or str(error))
    return _partition_dir(path, entries) if _is_partition(path, entries) else None


def _is_partition(path: str, entries: list[str]) -> bool:
    """Return whether a directory is a partition, by its files; if those are few or none, by its name, too."""
    if file_names.PARTITION_METADATA in entries or any(file_names.parse_segment_file(name) for name in entries):
        return True
    return _parsed(path) is not None and (not entries or any(kind_of(name) in _PARTITION_KINDS for name in entries))


def _parsed(directory: str) -> file_names.PartitionDirName | None:
    return file_names.parse_partition_dir(os.path.basename(os.path.abspath(directory)))


def _partition_of(directory: str) -> tuple[TopicPartition, str]:
    parsed = _parsed(directory)
    if parsed is None:
        return TopicPartition(os.path.basename(os.path.abspath(directory)), UNKNOWN_PARTITION), ""
    return parsed.topic_partition, parsed.mark


def _partition_dir(path: str, entries: list[str]) -> PartitionDir:
    partition, mark = _partition_of(path)
    return PartitionDir(path, partition, mark, tuple(_file(f"{path}/{name}", partition) for name in entries))


def _file(path: str, partition: TopicPartition) -> LogFile:
    name = os.path.basename(path)
    segment = file_names.parse_segment_file(name)
    if segment is not None:
        return LogFile(path, _SEGMENT_KINDS[segment.kind], partition, segment.base_offset, segment.suffix)
    snapshot = _METADATA_SNAPSHOT.fullmatch(name)
    if snapshot is not None:
        return LogFile(path, Kind.METADATA_SNAPSHOT, _METADATA_PARTITION, int(snapshot[1]), snapshot[3])
    kind = _FIXED_KINDS.get(name, Kind.UNKNOWN)
    return LogFile(path, kind, _METADATA_PARTITION if kind is Kind.METADATA_SNAPSHOT else partition)
