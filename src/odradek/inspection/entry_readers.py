"""The entries of the small files of a data directory as dictionaries: what JSON prints a line, and text as pairs."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from odradek.common.ids import TopicPartition, uuid_to_text
from odradek.inspection.directory_listing import Kind, LogFile
from odradek.inspection.index_entries import (
    read_offset_index,
    read_producer_snapshot,
    read_quorum_state,
    read_time_index,
    read_txn_index,
)
from odradek.inspection.safe_reading import LimitedFiles, as_damage
from odradek.log.manager import checkpoint_files
from odradek.log.manager.checkpoint_files import EpochEntry
from odradek.log.manager.meta_properties import read_meta_properties

Entry = dict[str, Any]

_files = LimitedFiles()


def read_entries(file: LogFile) -> Iterator[Entry]:
    """Raises DamagedFile, InputError or OSError, also on the way."""
    with as_damage(file.path):
        yield from READERS[file.kind](file)


def read_epochs(file: LogFile) -> list[EpochEntry]:
    with as_damage(file.path):
        return checkpoint_files.read_epoch_checkpoint(_files, os.path.dirname(file.path) or ".")


def read_offsets(file: LogFile) -> dict[TopicPartition, int]:
    with as_damage(file.path):
        return checkpoint_files.read_offset_checkpoint(_files, file.path)


def _offset_entries(file: LogFile) -> Iterator[Entry]:
    for offset, position in read_offset_index(file.path, file.base_offset):
        yield {"offset": offset, "position": position}


def _time_entries(file: LogFile) -> Iterator[Entry]:
    for timestamp, offset in read_time_index(file.path, file.base_offset):
        yield {"timestamp": timestamp, "offset": offset}


def _txn_entries(file: LogFile) -> Iterator[Entry]:
    for aborted in read_txn_index(file.path):
        yield aborted._asdict()


def _producer_entries(file: LogFile) -> Iterator[Entry]:
    for entry in read_producer_snapshot(file.path):
        yield {name: getattr(entry, name) for name in PRODUCER_FIELDS}


#: In the order of the file.
PRODUCER_FIELDS = (
    *("producer_id", "epoch", "last_sequence", "last_offset", "offset_delta", "timestamp"),
    *("coordinator_epoch", "current_txn_first_offset"),
)


def _epoch_entries(file: LogFile) -> Iterator[Entry]:
    for epoch, start_offset in read_epochs(file):
        yield {"epoch": epoch, "start_offset": start_offset}


def _checkpoint_entries(file: LogFile) -> Iterator[Entry]:
    for partition, offset in sorted(read_offsets(file).items()):
        yield {"topic": partition.topic, "partition": partition.partition, "offset": offset}


def _partition_metadata(file: LogFile) -> Iterator[Entry]:
    metadata = checkpoint_files.read_partition_metadata(_files, os.path.dirname(file.path) or ".")
    if metadata is not None:
        yield {"version": metadata.version, "topic_id": uuid_to_text(metadata.topic_id)}


def _meta_properties(file: LogFile) -> Iterator[Entry]:
    meta = read_meta_properties(_files, os.path.dirname(file.path) or ".")
    if meta is not None:
        directory_id = None if meta.directory_id is None else uuid_to_text(meta.directory_id)
        yield {
            "version": meta.version,
            "cluster_id": meta.cluster_id,
            "node_id": meta.node_id,
            "directory_id": directory_id,
        }


def _clean_shutdown(file: LogFile) -> Iterator[Entry]:
    marker = checkpoint_files.read_clean_shutdown(_files, os.path.dirname(file.path) or ".")
    if marker is not None:
        yield {"broker_epoch": marker.broker_epoch}


def _quorum_state(file: LogFile) -> Iterator[Entry]:
    yield read_quorum_state(file.path)


READERS: dict[Kind, Callable[[LogFile], Iterator[Entry]]] = {
    Kind.OFFSET_INDEX: _offset_entries,
    Kind.TIME_INDEX: _time_entries,
    Kind.TXN_INDEX: _txn_entries,
    Kind.PRODUCER_SNAPSHOT: _producer_entries,
    Kind.EPOCHS: _epoch_entries,
    Kind.OFFSETS: _checkpoint_entries,
    Kind.PARTITION_METADATA: _partition_metadata,
    Kind.META_PROPERTIES: _meta_properties,
    Kind.QUORUM_STATE: _quorum_state,
    Kind.CLEAN_SHUTDOWN: _clean_shutdown,
}
