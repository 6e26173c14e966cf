"""What lies in a data directory, by its names: which files there are, of which kind, of which partition.

Nothing is opened here. A target that a person names is a single file, the directory of a partition, or a whole data
directory; `find_target` tells them apart by what is inside, so that a copied and renamed directory works too.
"""

import os
import re
from dataclasses import dataclass
from enum import StrEnum

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.log import names

QUORUM_STATE = "quorum-state"
BOOTSTRAP_SNAPSHOT = "bootstrap.checkpoint"

_METADATA_SNAPSHOT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint((?:\.part|\.deleted)?)", re.ASCII)

#: The partition of a directory whose name says none.
UNKNOWN_PARTITION = -1


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
    names.LOG_SUFFIX: Kind.SEGMENT,
    names.INDEX_SUFFIX: Kind.OFFSET_INDEX,
    names.TIME_INDEX_SUFFIX: Kind.TIME_INDEX,
    names.TXN_INDEX_SUFFIX: Kind.TXN_INDEX,
    names.SNAPSHOT_SUFFIX: Kind.PRODUCER_SNAPSHOT,
}

_FIXED_KINDS = {
    names.LEADER_EPOCH_CHECKPOINT: Kind.EPOCHS,
    names.RECOVERY_POINT_CHECKPOINT: Kind.OFFSETS,
    names.REPLICATION_CHECKPOINT: Kind.OFFSETS,
    names.LOG_START_CHECKPOINT: Kind.OFFSETS,
    names.CLEANER_CHECKPOINT: Kind.OFFSETS,
    names.PARTITION_METADATA: Kind.PARTITION_METADATA,
    names.META_PROPERTIES: Kind.META_PROPERTIES,
    names.CLEAN_SHUTDOWN: Kind.CLEAN_SHUTDOWN,
    QUORUM_STATE: Kind.QUORUM_STATE,
    BOOTSTRAP_SNAPSHOT: Kind.METADATA_SNAPSHOT,
}


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
    path: str
    partition: TopicPartition
    mark: str
    files: tuple[LogFile, ...]

    def live(self, kind: Kind) -> list[LogFile]:
        """Files of one kind that are in use, by offset."""
        return sorted((f for f in self.files if f.kind is kind and not f.suffix), key=lambda f: f.base_offset)


@dataclass(frozen=True, slots=True)
class DataDir:
    path: str
    files: tuple[LogFile, ...]
    partitions: tuple[PartitionDir, ...]


def find_target(path: str) -> LogFile | PartitionDir | DataDir:
    """Raises InputError for a path that is nothing of Kafka's, OSError for one that cannot be looked at."""
    os.stat(path)
    path = path.rstrip("/") or "/"
    if not os.path.isdir(path):
        parent = os.path.dirname(os.path.abspath(path))
        return _file(path, _partition_of(parent)[0])
    entries = sorted(os.listdir(path))
    if _is_partition(entries) or (not entries and _parsed(path) is not None):
        return _partition_dir(path)
    inner = [f"{path}/{name}" for name in entries if os.path.isdir(f"{path}/{name}")]
    partitions = [_partition_dir(directory) for directory in inner if _parsed(directory) is not None]
    if not partitions and names.META_PROPERTIES not in entries:
        raise InputError(
            f"{path}: neither a data directory (no {names.META_PROPERTIES}, no partitions)"
            " nor the directory of a partition (no segments)"
        )
    plain = [f"{path}/{name}" for name in entries if os.path.isfile(f"{path}/{name}")]
    ordered = sorted(partitions, key=lambda p: (p.partition, p.mark, p.path))
    return DataDir(path, tuple(_file(name, TopicPartition("", UNKNOWN_PARTITION)) for name in plain), tuple(ordered))


def _is_partition(entries: list[str]) -> bool:
    return names.PARTITION_METADATA in entries or any(names.parse_segment_file(name) for name in entries)


def _parsed(directory: str) -> names.PartitionDirName | None:
    return names.parse_partition_dir(os.path.basename(os.path.abspath(directory)))


def _partition_of(directory: str) -> tuple[TopicPartition, str]:
    parsed = _parsed(directory)
    if parsed is None:
        return TopicPartition(os.path.basename(os.path.abspath(directory)), UNKNOWN_PARTITION), ""
    return parsed.topic_partition, parsed.mark


def _partition_dir(path: str) -> PartitionDir:
    partition, mark = _partition_of(path)
    files = [_file(f"{path}/{name}", partition) for name in sorted(os.listdir(path))]
    return PartitionDir(path, partition, mark, tuple(files))


def _file(path: str, partition: TopicPartition) -> LogFile:
    name = os.path.basename(path)
    segment = names.parse_segment_file(name)
    if segment is not None:
        return LogFile(path, _SEGMENT_KINDS[segment.kind], partition, segment.base_offset, segment.suffix)
    snapshot = _METADATA_SNAPSHOT.fullmatch(name)
    if snapshot is not None:
        return LogFile(path, Kind.METADATA_SNAPSHOT, partition, int(snapshot[1]), snapshot[3])
    return LogFile(path, _FIXED_KINDS.get(name, Kind.UNKNOWN), partition)
