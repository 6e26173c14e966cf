"""From what holds metadata to its image: a snapshot file, the directory of a metadata log, or a log that was fetched.

A directory does not say what is committed. Its image is that of all whole batches: a moment ahead of the quorum if the
node leads it.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from odradek.client.admin.metadata_log_fetch import FetchedLog
from odradek.common.failures import InputError, ProtocolError
from odradek.inspection.metadata_files import blaming, file_batches, find_metadata_files
from odradek.metadata.image.image import MetadataImage, MetadataProvenance
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.records.record_serde import MetadataRecord, decode_record
from odradek.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from odradek.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from odradek.raft.storage.control_records import read_control_records
from odradek.raft.storage.snapshots import parse_snapshot_file_name
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import Batch, Record, read_batches

#: A running node drops old files every few minutes; it does not happen this often while we look.
_LOOKS_MAX = 5


def image_from_path(path: str) -> MetadataImage:
    """Raises InputError where there is no metadata, and DamagedFile where it is damaged; both name the file."""
    if not os.path.isdir(path):
        return _image_from_file(path)
    for _ in range(_LOOKS_MAX - 1):
        try:
            return _image_from_directory(path)
        except FileNotFoundError:
            continue
    return _image_from_directory(path)


def image_from_fetched(fetched: FetchedLog) -> MetadataImage:
    """Raises Fault or ProtocolError if what was fetched is no metadata log."""
    loader = MetadataLoader()
    snapshot = fetched.snapshot
    if snapshot is not None:
        _load_snapshot(loader, read_batches(snapshot.data), OffsetAndEpoch(snapshot.epoch, snapshot.end_offset))
    _load_log(loader, fetched.batches)
    return loader.image


def _image_from_directory(path: str) -> MetadataImage:
    files = find_metadata_files(path)
    loader = MetadataLoader()
    if files.snapshot is not None:
        with blaming(files.snapshot_path):
            _load_snapshot(loader, file_batches(files.snapshot_path), files.snapshot)
    with blaming(path):
        _load_log(loader, chain.from_iterable(map(file_batches, files.segment_paths)))
    return loader.image


def _image_from_file(path: str) -> MetadataImage:
    """A segment will do if it is the log's first: Kafka's shell takes one for a snapshot too."""
    batches = file_batches(path)
    first = next(batches, None)
    if first is None:
        raise InputError(f"{path} holds no batches; right would be a metadata snapshot or the directory of a log")
    loader = MetadataLoader()
    with blaming(path):
        if _begins_snapshot(first):
            _load_snapshot(loader, chain((first,), batches), parse_snapshot_file_name(os.path.basename(path)))
        elif first.base_offset == 0:
            _load_log(loader, chain((first,), batches))
        else:
            directory = os.path.dirname(path) or "."
            raise InputError(f"{path} begins at offset {first.base_offset}; what is before it may be in {directory}")
    return loader.image


def _begins_snapshot(batch: Batch) -> bool:
    return batch.is_control and any(
        isinstance(each.message, SnapshotHeaderRecord) for each in read_control_records(batch)
    )


def _load_snapshot(loader: MetadataLoader, batches: Iterable[Batch], snapshot_id: OffsetAndEpoch | None) -> None:
    """Without an id it is not known up to where in the log it goes."""
    records: list[MetadataRecord] = []
    time_ms, is_whole = -1, False
    for batch in batches:
        if not batch.is_control:
            records += _records(batch)
            continue
        for _, message in read_control_records(batch):
            is_whole = is_whole or isinstance(message, SnapshotFooterRecord)
            if isinstance(message, SnapshotHeaderRecord):
                time_ms = message.last_contained_log_timestamp
    if not is_whole:
        raise ProtocolError("the snapshot has no footer: it is not whole")
    offset, epoch = (-1, -1) if snapshot_id is None else (snapshot_id.offset - 1, snapshot_id.epoch)
    loader.load_snapshot(MetadataProvenance(offset, epoch, time_ms), records, None)


def _load_log(loader: MetadataLoader, batches: Iterable[Batch]) -> None:
    """From the image's offset on; what comes before it is passed over."""
    loader.load_batches(_following(loader.image.offset + 1, batches), None)


def _following(expected: int, batches: Iterable[Batch]) -> Iterator[MetadataBatch]:
    for batch in batches:
        if batch.last_offset < expected:
            continue
        if batch.base_offset != expected:
            raise ProtocolError(f"offset {expected} is missing: a batch begins at {batch.base_offset}")
        expected = batch.next_offset
        yield MetadataBatch(
            batch.base_offset,
            batch.last_offset,
            batch.leader_epoch,
            batch.max_timestamp,
            batch.size_bytes,
            [] if batch.is_control else _records(batch),
        )


def _records(batch: Batch) -> list[MetadataRecord]:
    return [_record(record) for record in batch.records()]


def _record(record: Record) -> MetadataRecord:
    try:
        return decode_record(record.value or b"")
    except ProtocolError as error:
        raise ProtocolError(f"what is at offset {record.offset} is no metadata record: {error}") from None
