"""bootstrap.checkpoint: the records that the first active controller of a new cluster writes into an empty log.

The file is a snapshot with a header, one batch of records and a footer. Formatting leaves it in every directory of a
node, so that any of them can become the metadata log's.
"""

from collections.abc import Sequence

from odradek.common.failures import InputError, ProtocolError
from odradek.common.ports import Buffer, FileSystem, write_atomically
from odradek.metadata.records.record_serde import MetadataRecord, decode_record, encode_record
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.raft.storage.snapshots import SnapshotWriter
from odradek.raft.values import BOOTSTRAP_SNAPSHOT_ID, OffsetAndEpoch
from odradek.records.batch import read_batches
from odradek.records.errors import CorruptRecord

BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"


class _Memory:
    """A `RawSnapshot` that stays in memory: the whole file is a few hundred bytes."""

    def __init__(self) -> None:
        self.data = bytearray()

    @property
    def id(self) -> OffsetAndEpoch:
        return BOOTSTRAP_SNAPSHOT_ID

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def append(self, data: Buffer) -> None:
        self.data += data

    def freeze(self) -> None:
        return None

    def close(self) -> None:
        return None


def write_bootstrap(files: FileSystem, log_dir: str, records: Sequence[MetadataRecord], wall_ms: int) -> None:
    memory = _Memory()
    writer = SnapshotWriter(memory, last_contained_log_timestamp=0, kraft_version=0, voters=None, wall_ms=wall_ms)
    writer.append([encode_record(record) for record in records])
    writer.freeze()
    write_atomically(files, f"{log_dir}/{BOOTSTRAP_CHECKPOINT}", bytes(memory.data))


def read_bootstrap(files: FileSystem, log_dir: str) -> list[MetadataRecord] | None:
    """Read the records; None if there is no such file. Raises InputError if it is damaged."""
    path = f"{log_dir}/{BOOTSTRAP_CHECKPOINT}"
    if not files.exists(path):
        return None
    records: list[MetadataRecord] = []
    try:
        for batch in read_batches(files.read_file(path)):
            batch.check()
            if not batch.is_control:
                records += [decode_record(record.value) for record in batch.records() if record.value is not None]
    except (CorruptRecord, ProtocolError) as error:
        raise InputError(f"{path}: {error}") from None
    return records


def feature_levels(records: Sequence[MetadataRecord]) -> dict[str, int]:
    """Return the features that bootstrap records set, by name."""
    return {
        record.message.name: record.message.feature_level
        for record in records
        if isinstance(record.message, FeatureLevelRecord)
    }
