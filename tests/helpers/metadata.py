"""Metadata logs and snapshots as files, and records to build clusters from."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.metadata.loader import MetadataBatch
from odradek.metadata.record_serde import MetadataRecord, decode_record, encode_record
from odradek.protocol import codec
from odradek.protocol.message import Message
from odradek.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from odradek.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from odradek.records.batch import read_batches
from odradek.records.builder import BatchBuilder, control_batch
from odradek.records.control import ControlType


def read_metadata_log(path: Path) -> Iterator[MetadataBatch]:
    """Batches of a `.log` or `.checkpoint` file; control records are left out, their offsets are not."""
    for batch in read_batches(path.read_bytes()):
        batch.check()
        records = [] if batch.is_control else [decode_record(r.value or b"") for r in batch.records()]
        yield MetadataBatch(
            batch.base_offset, batch.last_offset, batch.leader_epoch, batch.max_timestamp, batch.size_bytes, records
        )


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
