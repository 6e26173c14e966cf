"""Loader of committed batches and snapshots into images, which it passes to publishers.

Raft calls in the order of the log: `load_snapshot` when the node starts from one or has fallen behind, `load_batches`
for what was committed after it. Each call ends with one new image and one update, except inside a transaction: records
between BeginTransaction and EndTransaction become visible together, or not at all if AbortTransaction ends them.

Publishers are not called while the node catches up for the first time. Then each gets the image as one delta from the
empty image, and after that each change.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from odradek.common.failures import check
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.metadata.publishing.publisher import LeaderAndEpoch, LoaderManifest, ManifestKind, MetadataPublisher
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.message import Message
from odradek.protocol.messages.abort_transaction_record import AbortTransactionRecord
from odradek.protocol.messages.begin_transaction_record import BeginTransactionRecord
from odradek.protocol.messages.end_transaction_record import EndTransactionRecord


@dataclass(frozen=True, slots=True)
class MetadataBatch:
    """A committed batch of the metadata log. One of control records only has no `records`, but it takes offsets."""

    base_offset: int
    last_offset: int
    epoch: int
    append_time_ms: int
    size_bytes: int
    records: Sequence[MetadataRecord]


class _Transaction(Enum):
    NONE = "none"
    OPEN = "open"
    ENDED = "ended"
    ABORTED = "aborted"


_MARKERS = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


class MetadataLoader:
    def __init__(self, image: MetadataImage = EMPTY) -> None:
        #: Latest image: all committed records except those of an open transaction.
        self.image = image
        self.leader_and_epoch = LeaderAndEpoch()
        self.is_catching_up = True
        self._publishers: list[MetadataPublisher] = []
        self._new_publishers: list[MetadataPublisher] = []
        self._delta = MetadataDelta(image)
        self._last = image.provenance
        self._transaction = _Transaction.NONE
        self._batches = 0
        self._size_bytes = 0
        #: Records of a transaction that has not ended, with their offsets; its BeginTransaction record is the first.
        self.open_transaction: list[tuple[Message, int]] = []

    def add_publisher(self, publisher: MetadataPublisher) -> None:
        """Add a publisher. It gets its first update once the node has caught up, immediately if it has."""
        self._new_publishers.append(publisher)
        if not self.is_catching_up:
            self._start_new_publishers()

    def remove_publisher(self, publisher: MetadataPublisher) -> None:
        for group in (self._publishers, self._new_publishers):
            if publisher in group:
                group.remove(publisher)

    def controller_changed(self, leader_and_epoch: LeaderAndEpoch) -> None:
        self.leader_and_epoch = leader_and_epoch
        for publisher in self._publishers:
            publisher.on_controller_change(leader_and_epoch)

    def load_batches(self, batches: Iterable[MetadataBatch], high_watermark: int | None) -> None:
        """Load committed batches. The node has caught up at `high_watermark`; None while that is unknown."""
        for batch in batches:
            self._load_batch(batch, high_watermark)
        if self._transaction is _Transaction.OPEN:
            return
        self._publish(self._last, high_watermark)

    def load_snapshot(
        self, provenance: MetadataProvenance, records: Iterable[MetadataRecord], high_watermark: int | None
    ) -> None:
        """Load a snapshot. `provenance` has the last offset that it contains."""
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record.message)
        delta.finish_snapshot()
        self._delta, self._transaction, self.open_transaction = delta, _Transaction.NONE, []
        self._publish(provenance, high_watermark, ManifestKind.SNAPSHOT)

    def _load_batch(self, batch: MetadataBatch, high_watermark: int | None) -> None:
        for index, (message, _) in enumerate(batch.records):
            is_begin = isinstance(message, BeginTransactionRecord)
            if is_begin and (index or self._batches) and self._transaction is not _Transaction.OPEN:
                # Publish the records before the transaction: they stay even if it is aborted.
                offset = batch.base_offset + index - 1
                provenance = MetadataProvenance(offset, batch.epoch, batch.append_time_ms, is_batch_aligned=index == 0)
                self._publish(provenance, high_watermark)
            self._replay(message)
            if self._transaction is _Transaction.OPEN:
                self.open_transaction.append((message, batch.base_offset + index))
        self._last = MetadataProvenance(batch.last_offset, batch.epoch, batch.append_time_ms)
        self._batches += 1
        self._size_bytes += batch.size_bytes

    def _replay(self, message: Message) -> None:
        is_open = self._transaction is _Transaction.OPEN
        if not isinstance(message, _MARKERS):
            if not is_open and self._transaction is not _Transaction.NONE:
                self._drop_aborted()
                self._transaction = _Transaction.NONE
            self._delta.replay(message)
        elif isinstance(message, BeginTransactionRecord):
            check(not is_open, "a transaction of metadata records begins inside another one")
            self._transaction = _Transaction.OPEN
        else:
            check(is_open, f"{type(message).__name__} without a transaction")
            self.open_transaction = []
            aborted = isinstance(message, AbortTransactionRecord)
            self._transaction = _Transaction.ABORTED if aborted else _Transaction.ENDED

    def _publish(
        self,
        provenance: MetadataProvenance,
        high_watermark: int | None,
        manifest_kind: ManifestKind = ManifestKind.LOG_DELTA,
    ) -> None:
        self._drop_aborted()
        delta, self.image = self._delta, self._delta.apply(provenance)
        manifest = LoaderManifest(manifest_kind, provenance, self.leader_and_epoch, self._batches, self._size_bytes)
        self._delta, self._last, self._transaction = MetadataDelta(self.image), provenance, _Transaction.NONE
        self._batches = self._size_bytes = 0
        if self._still_catching_up(high_watermark):
            return
        for publisher in self._publishers:
            publisher.on_metadata_update(delta, self.image, manifest)
        self._start_new_publishers()

    def _drop_aborted(self) -> None:
        """Drop the delta of an aborted transaction. Records before it were published when the transaction began."""
        if self._transaction is _Transaction.ABORTED:
            self._delta = MetadataDelta(self.image)

    def _still_catching_up(self, high_watermark: int | None) -> bool:
        """Return whether the node is catching up. It is while the image is empty: the first offsets have no records."""
        if self.is_catching_up and high_watermark is not None:
            self.is_catching_up = self.image.offset < high_watermark - 1 or self.image.is_empty
        return self.is_catching_up

    def _start_new_publishers(self) -> None:
        if not self._new_publishers:
            return
        delta = MetadataDelta.from_nothing_to(self.image)
        manifest = LoaderManifest(ManifestKind.SNAPSHOT, self.image.provenance, self.leader_and_epoch)
        while self._new_publishers:
            publisher = self._new_publishers.pop(0)
            publisher.on_metadata_update(delta, self.image, manifest)
            publisher.on_controller_change(self.leader_and_epoch)
            self._publishers.append(publisher)
