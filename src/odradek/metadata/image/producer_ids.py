"""First producer id that is not in any allocated block."""

from collections.abc import Iterator
from dataclasses import dataclass

from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.producer_ids_record import ProducerIdsRecord


@dataclass(frozen=True, slots=True)
class ProducerIdsImage:
    #: -1 until the first block is allocated.
    next_producer_id: int = -1

    @property
    def is_empty(self) -> bool:
        return self.next_producer_id < 0

    def records(self) -> Iterator[MetadataRecord]:
        if self.next_producer_id >= 0:
            record = ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id)
            yield MetadataRecord(record, 0)


class ProducerIdsDelta:
    def __init__(self, image: ProducerIdsImage) -> None:
        self.image = image
        self.next_producer_id = image.next_producer_id
        self._is_touched = False

    def replay(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id
        self._is_touched = True

    def finish_snapshot(self) -> None:
        """Reset to -1 if the snapshot has no record: it was taken before any block was allocated."""
        if not self._is_touched:
            self.next_producer_id = -1

    def apply(self) -> ProducerIdsImage:
        return ProducerIdsImage(self.next_producer_id)
