"""Metadata logs and snapshots as files, and records to build clusters from."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from odradek.common.ports import Buffer
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.records.record_serde import MetadataRecord, decode_record, encode_record
from odradek.protocol import codec
from odradek.protocol.message import Message
from odradek.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from odradek.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from odradek.raft.storage.raft_log import RaftLog
from odradek.raft.storage.snapshots import read_snapshot
from odradek.records.batch import read_batches
from odradek.records.builder import BatchBuilder, control_batch
from odradek.records.control import ControlType


def read_metadata_log(path: Path) -> Iterator[MetadataBatch]:
    """Batches of a `.log` or `.checkpoint` file; control records are left out, their offsets are not."""
    yield from _metadata_batches(path.read_bytes())


def _metadata_batches(data: Buffer) -> Iterator[MetadataBatch]:
    for batch in read_batches(data):
        batch.check()
        records = [] if batch.is_control else [decode_record(r.value or b"") for r in batch.records()]
        yield MetadataBatch(
            batch.base_offset, batch.last_offset, batch.leader_epoch, batch.max_timestamp, batch.size_bytes, records
        )


def image_in(log: RaftLog) -> MetadataImage:
    """What a log stands for: the snapshot at its start, and everything behind it."""
    loader, start = MetadataLoader(), log.earliest_snapshot_id
    if log.start_offset and start is not None:
        batches = read_snapshot(log, start)
        records = [decode_record(value) for batch in batches for value in batch.values]
        loader.load_snapshot(MetadataProvenance(start.offset - 1, start.epoch, 0), records, None)
    offset = log.start_offset
    while offset < log.end_offset:
        found = list(_metadata_batches(log.read(offset, 1 << 20, committed=False)))
        loader.load_batches(found, high_watermark=None)
        offset = found[-1].last_offset + 1
    return loader.image


def snapshot_provenance(path: Path) -> MetadataProvenance:
    """From the name: the offset after the last one contained, and the epoch."""
    end_offset, epoch = path.stem.split("-")
    return MetadataProvenance(int(end_offset) - 1, int(epoch), 0)


def records_of(batches: Iterable[MetadataBatch]) -> Iterator[MetadataRecord]:
    for batch in batches:
        yield from batch.records


def replayed(messages: Iterable[Message], image: MetadataImage = EMPTY) -> MetadataImage:
    delta = MetadataDelta(image)
    for message in messages:
        delta.replay(message)
    return delta.apply(MetadataProvenance())


def snapshot_bytes(records: Iterable[MetadataRecord], timestamp: int, epoch: int) -> bytes:
    """A whole snapshot file with its header and footer."""
    header = codec.encode(SnapshotHeaderRecord(version=0, last_contained_log_timestamp=timestamp), 0)
    pieces = [control_batch([(ControlType.SNAPSHOT_HEADER, header)], timestamp, leader_epoch=epoch)]
    offset = 1
    builder = BatchBuilder(base_offset=offset, leader_epoch=epoch)
    for record in records:
        builder.append(timestamp, None, encode_record(record))
        offset += 1
    pieces.append(builder.build())
    footer = codec.encode(SnapshotFooterRecord(version=0), 0)
    end = control_batch([(ControlType.SNAPSHOT_FOOTER, footer)], timestamp, base_offset=offset, leader_epoch=epoch)
    return b"".join((*pieces, end))
