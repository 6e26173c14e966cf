"""Sequence numbers of an idempotent producer, by partition. Pure.

A leader takes a producer's batches of one epoch only in the order of their sequences. Each partition has the sequence
of its next batch, the last that was acknowledged, and the batches in flight in the order of their sequences: when
several fail together, they are sent again in that order, one at a time.

A batch that was sent and then given up on leaves its sequence *unresolved*: it may have been written or not. Nothing
new is sent to the partition until those in flight have told.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.types import TopicPartition
from odradek.common.failures import check
from odradek.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from odradek.records.record import NO_SEQUENCE, add_to_sequence

_NO_OFFSET = -1


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int

    @property
    def is_valid(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID


NOBODY = ProducerIdentity(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def _in_sequence(batch: ProducerBatch) -> tuple[int, int, int]:
    return batch.producer_id, batch.producer_epoch, batch.base_sequence


class PartitionSequences:
    __slots__ = ("identity", "in_flight", "last_acked_offset", "last_acked_sequence", "next_sequence", "unresolved")

    def __init__(self) -> None:
        #: With which batches go to this partition.
        self.identity = NOBODY
        self.next_sequence = 0
        self.last_acked_sequence = NO_SEQUENCE
        self.last_acked_offset = _NO_OFFSET
        self.in_flight: list[ProducerBatch] = []
        #: The sequence after a batch of which nobody knows whether it was written.
        self.unresolved: int | None = None

    def assign(self, batch: ProducerBatch, *, is_transactional: bool) -> None:
        """The next sequence; the batch is in flight from now on."""
        batch.set_producer(*self.identity, self.next_sequence, is_transactional=is_transactional)
        self.next_sequence = add_to_sequence(self.next_sequence, batch.count)
        self.track(batch)

    def track(self, batch: ProducerBatch) -> None:
        self.in_flight.append(batch)
        self.in_flight.sort(key=_in_sequence)

    def acknowledged(self, last_sequence: int, last_offset: int) -> None:
        self.last_acked_sequence = max(self.last_acked_sequence, last_sequence)
        self.last_acked_offset = max(self.last_acked_offset, last_offset)

    def is_next(self, sequence: int) -> bool:
        """Whether it follows the last that was acknowledged."""
        return sequence - self.last_acked_sequence == 1

    def start_at_beginning(self, identity: ProducerIdentity) -> None:
        """Those in flight too, in their order."""
        sequence = 0
        for batch in self.in_flight:
            batch.reset_sequence(*identity, sequence)
            sequence += batch.count
        self.identity = identity
        self.next_sequence = sequence
        self.last_acked_sequence = NO_SEQUENCE

    def close_gap(self, failed: ProducerBatch) -> None:
        """A batch was refused for good: later ones take its place."""
        check(self.next_sequence >= failed.count, f"{failed.place}: the sequence would become negative")
        self.next_sequence -= failed.count
        for batch in self.in_flight:
            if batch.base_sequence >= failed.base_sequence:
                sequence = batch.base_sequence - failed.count
                check(sequence >= 0, f"{failed.place}: the sequence of a batch would become negative")
                batch.reset_sequence(batch.producer_id, batch.producer_epoch, sequence)


class Sequences:
    """Of all partitions."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, PartitionSequences] = {}
        #: Where something may be unresolved.
        self._unresolved: dict[TopicPartition, None] = {}

    def of(self, place: TopicPartition) -> PartitionSequences:
        found = self._partitions.get(place)
        if found is None:
            found = self._partitions[place] = PartitionSequences()
        return found

    def known(self, place: TopicPartition) -> PartitionSequences | None:
        return self._partitions.get(place)

    def forget(self, place: TopicPartition) -> None:
        self._partitions.pop(place, None)

    def clear(self) -> None:
        self._partitions.clear()

    def remove_in_flight(self, batch: ProducerBatch) -> None:
        found = self._partitions.get(batch.place)
        if found is not None and batch in found.in_flight:
            found.in_flight.remove(batch)

    def split(self, whole: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        """They share its sequences, so that nothing overtakes them."""
        self.remove_in_flight(whole)
        found, sequence = self.of(whole.place), whole.base_sequence
        for part in parts:
            identity = (whole.producer_id, whole.producer_epoch)
            part.set_producer(*identity, sequence, is_transactional=whole.is_transactional)
            found.track(part)
            sequence = add_to_sequence(sequence, part.count)

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        found, after = self.of(batch.place), batch.last_sequence + 1
        found.unresolved = after if found.unresolved is None else max(found.unresolved, after)
        self._unresolved[batch.place] = None

    def resolve(self, on_gap: Callable[[TopicPartition], None]) -> None:
        """Look again at what is unresolved, where nothing is in flight any more; `on_gap` hears where something is
        missing."""
        for place in list(self._unresolved):
            found = self._partitions.get(place)
            if found is None or found.unresolved is None:
                del self._unresolved[place]
            elif not found.in_flight:
                del self._unresolved[place]
                found.unresolved = None
                if not found.is_next(found.next_sequence):
                    on_gap(place)

    def may_drain(self, first: ProducerBatch, identity: ProducerIdentity) -> bool:
        """Whether the first batch that waits for a partition may be sent.

        New ones wait while some of another epoch are in flight, and while something is unresolved. They wait for the
        answer to the very first as well: a leader that does not know the producer takes any sequence, so that the
        second would be taken where the first was refused by a leader that was none yet. Of those that were sent
        before, only the one with the lowest sequence goes."""
        found = self.of(first.place)
        if not first.has_sequence:
            is_known = found.identity == identity and found.last_acked_sequence != NO_SEQUENCE
            return found.unresolved is None and (is_known or not found.in_flight)
        return not found.in_flight or found.in_flight[0].base_sequence == first.base_sequence
