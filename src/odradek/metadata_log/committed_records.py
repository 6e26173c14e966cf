"""Loading of committed records into the image of a node that is not a controller.

Records are decoded here. One that this node cannot read was written by a newer cluster, and what it means is not
known: the node must not continue without it, so that is a Fault.
"""

from collections.abc import Iterator

from odradek.common.failures import Fault, ProtocolError
from odradek.metadata.image.image import MetadataProvenance
from odradek.metadata.publishing.loader import MetadataBatch, MetadataLoader
from odradek.metadata.publishing.publisher import LeaderAndEpoch
from odradek.metadata.records.record_serde import MetadataRecord, decode_record
from odradek.raft import values
from odradek.raft.effects import CommittedBatch, LoadSnapshot
from odradek.raft.raft import Raft


class MetadataFollower:
    """A `raft_driver.StateMachine`."""

    def __init__(self, raft: Raft, loader: MetadataLoader) -> None:
        self._raft = raft
        self._loader = loader

    def committed(self, batches: tuple[CommittedBatch, ...]) -> None:
        self._loader.load_batches(metadata_batches(batches), self._raft.high_watermark)

    def load_snapshot(self, load: LoadSnapshot) -> None:
        if not load.is_bootstrap:
            self._loader.load_snapshot(*snapshot_of(self._raft, load.id), self._raft.high_watermark)

    def leader_changed(self, leader: values.LeaderAndEpoch) -> None:
        self._loader.controller_changed(LeaderAndEpoch(*leader))


def metadata_batches(batches: tuple[CommittedBatch, ...]) -> list[MetadataBatch]:
    return [
        MetadataBatch(
            batch.base_offset, batch.last_offset, batch.epoch, batch.append_time_ms, batch.size_bytes, _records(batch)
        )
        for batch in batches
    ]


def snapshot_of(raft: Raft, snapshot_id: values.OffsetAndEpoch) -> tuple[MetadataProvenance, Iterator[MetadataRecord]]:
    """Return the provenance of a snapshot, and its records; only one batch is in memory at a time."""
    batches = raft.read_snapshot(snapshot_id)
    header = next(batches)
    # When it was written: near enough to when its last record was, and nothing but the age of snapshots rests on it.
    provenance = MetadataProvenance(snapshot_id.offset - 1, snapshot_id.epoch, header.append_time_ms)
    return provenance, (record for batch in batches for record in _records(batch))


def _records(batch: CommittedBatch) -> list[MetadataRecord]:
    """Return the records: those that a leader has appended, or decoded ones."""
    if batch.objects is not None:
        return list(batch.objects)  # type: ignore[arg-type]
    try:
        return [decode_record(value) for value in batch.values]
    except ProtocolError as error:
        raise Fault(f"the metadata log at offset {batch.base_offset} cannot be understood: {error}") from error
