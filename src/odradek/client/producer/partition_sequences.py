"""Sequence numbers of an idempotent producer, by partition. Pure.

A leader accepts a producer's batches of one epoch only in the order of their sequences. Each partition has the sequence
of its next batch, the last one that was acknowledged, and the batches in flight in the order of their sequences: when
several fail together, they are sent again in that order, one at a time.

A batch that was sent and then expired leaves its sequence *unresolved*: it may have been written or not. No new batch
is sent to the partition until those in flight have completed.
"""

from collections.abc import Sequence

from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.producer_identity import NO_IDENTITY, ProducerIdentity
from odradek.client.types import TopicPartition
from odradek.common.failures import check
from odradek.records.record import NO_SEQUENCE, add_to_sequence

_NO_OFFSET = -1


def _sequence_order(batch: ProducerBatch) -> tuple[int, int, int]:
    return batch.producer_id, batch.producer_epoch, batch.base_sequence


class PartitionSequences:
    """Sequences and batches in flight of one partition."""

    __slots__ = ("identity", "in_flight", "last_acked_offset", "last_acked_sequence", "next_sequence", "unresolved")

    def __init__(self) -> None:
        #: Producer id and epoch of the batches to this partition.
        self.identity = NO_IDENTITY
        self.next_sequence = 0
        self.last_acked_sequence = NO_SEQUENCE
        self.last_acked_offset = _NO_OFFSET
        self.in_flight: list[ProducerBatch] = []
        #: The sequence after a batch that may or may not have been written.
        self.unresolved: int | None = None

    def assign(self, batch: ProducerBatch, *, is_transactional: bool) -> None:
        """Give the batch the next sequence; it is in flight from now on."""
        batch.set_producer(*self.identity, self.next_sequence, is_transactional=is_transactional)
        self.next_sequence = add_to_sequence(self.next_sequence, batch.count)
        self.track(batch)

    def track(self, batch: ProducerBatch) -> None:
        self.in_flight.append(batch)
        self.in_flight.sort(key=_sequence_order)

    def acknowledge(self, last_sequence: int, last_offset: int) -> None:
        self.last_acked_sequence = max(self.last_acked_sequence, last_sequence)
        self.last_acked_offset = max(self.last_acked_offset, last_offset)

    def is_next(self, sequence: int) -> bool:
        """Return whether the sequence follows the last one that was acknowledged."""
        return sequence - self.last_acked_sequence == 1

    def restart(self, identity: ProducerIdentity) -> None:
        """Number from 0 under a new identity; batches in flight are renumbered in their order."""
        sequence = 0
        for batch in self.in_flight:
            batch.reset_sequence(*identity, sequence)
            sequence += batch.count
        self.identity = identity
        self.next_sequence = sequence
        self.last_acked_sequence = NO_SEQUENCE

    def renumber(self, identity: ProducerIdentity) -> None:
        """Restart, and forget what was unresolved under the previous epoch."""
        self.restart(identity)
        self.unresolved = None

    def close_gap(self, failed: ProducerBatch) -> None:
        """Move later batches down by the sequences of a batch that was rejected for good."""
        check(self.next_sequence >= failed.count, f"{failed.topic_partition}: the sequence would become negative")
        self.next_sequence -= failed.count
        for batch in self.in_flight:
            if batch.base_sequence >= failed.base_sequence:
                sequence = batch.base_sequence - failed.count
                check(sequence >= 0, f"{failed.topic_partition}: the sequence of a batch would become negative")
                batch.reset_sequence(batch.producer_id, batch.producer_epoch, sequence)

    def mark_unresolved(self, next_sequence: int) -> None:
        self.unresolved = next_sequence if self.unresolved is None else max(self.unresolved, next_sequence)

    def resolve(self) -> bool:
        """Clear the unresolved sequence, and return whether batches are missing before the next one."""
        self.unresolved = None
        return not self.is_next(self.next_sequence)


class SequenceTable:
    """Sequences of all partitions."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, PartitionSequences] = {}
        #: Partitions with sequences that may be unresolved.
        self._unresolved: dict[TopicPartition, None] = {}

    def of(self, partition: TopicPartition) -> PartitionSequences:
        sequences = self._partitions.get(partition)
        if sequences is None:
            sequences = self._partitions[partition] = PartitionSequences()
        return sequences

    def get(self, partition: TopicPartition) -> PartitionSequences | None:
        return self._partitions.get(partition)

    def forget(self, partition: TopicPartition) -> None:
        self._partitions.pop(partition, None)

    def clear(self) -> None:
        self._partitions.clear()

    def remove_in_flight(self, batch: ProducerBatch) -> None:
        sequences = self._partitions.get(batch.topic_partition)
        if sequences is not None and batch in sequences.in_flight:
            sequences.in_flight.remove(batch)

    def split(self, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        """Divide the sequences of a batch among its parts, so that no other batch overtakes them."""
        self.remove_in_flight(batch)
        sequences, sequence = self.of(batch.topic_partition), batch.base_sequence
        identity = (batch.producer_id, batch.producer_epoch)
        for part in parts:
            part.set_producer(*identity, sequence, is_transactional=batch.is_transactional)
            sequences.track(part)
            sequence = add_to_sequence(sequence, part.count)

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        self.of(batch.topic_partition).mark_unresolved(batch.last_sequence + 1)
        self._unresolved[batch.topic_partition] = None

    def resolve(self) -> list[TopicPartition]:
        """Resolve partitions without batches in flight, and return those in which records are missing."""
        gaps = []
        for partition in list(self._unresolved):
            sequences = self._partitions.get(partition)
            if sequences is None or sequences.unresolved is None:
                del self._unresolved[partition]
            elif not sequences.in_flight:
                del self._unresolved[partition]
                if sequences.resolve():
                    gaps.append(partition)
        return gaps
