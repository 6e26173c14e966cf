"""State of one producer in a partition.

Sequences run from 0 to 2^31 - 1 and start over. The last five batches are kept, since a producer may have that many
requests in flight and repeat any of them; a repetition is answered with where the batch already lies.
"""

from typing import NamedTuple

from odradek.records.batch import NO_PRODUCER_EPOCH
from odradek.records.record import NO_SEQUENCE, NO_TIMESTAMP, add_to_sequence

#: `max.in.flight.requests.per.connection` of an idempotent producer is at most five.
BATCHES_TO_RETAIN = 5

NO_COORDINATOR_EPOCH = -1


class BatchMetadata(NamedTuple):
    """One remembered batch."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return add_to_sequence(self.last_sequence, -self.offset_delta)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """`batches` holds at most five, oldest first, all of `producer_epoch`. `current_txn_first_offset` is None outside
    of a transaction."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        current_txn_first_offset: int | None = None,
        batches: list[BatchMetadata] | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.batches: list[BatchMetadata] = [] if batches is None else batches

    @property
    def is_empty(self) -> bool:
        return not self.batches

    @property
    def first_sequence(self) -> int:
        return self.batches[0].first_sequence if self.batches else NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def first_data_offset(self) -> int:
        return self.batches[0].first_offset if self.batches else -1

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1].offset_delta if self.batches else 0

    def find_duplicate(self, producer_epoch: int, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        """The remembered batch with exactly this range of sequences."""
        if producer_epoch != self.producer_epoch:
            return None
        for batch in self.batches:
            if batch[0] == last_sequence and batch.first_sequence == first_sequence:
                return batch
        return None

    def __repr__(self) -> str:
        return (
            f"ProducerEntry({self.producer_id}, epoch {self.producer_epoch}, coordinator epoch "
            f"{self.coordinator_epoch}, last timestamp {self.last_timestamp}, transaction from "
            f"{self.current_txn_first_offset}, {self.batches})"
        )


class VerificationGuard:
    """Stands for one verification of a transaction with its coordinator (KIP-890); equal only to itself, so that an
    answer to an older question is never taken for one to a newer."""

    __slots__ = ()


#: Handed in where no verification took place; it never verifies anything.
NO_VERIFICATION = VerificationGuard()


class VerificationEntry:
    """A producer whose transaction is being verified before its first batch is let in.

    The lowest sequence seen is remembered: a batch that must be tried again must not be overtaken by a later one."""

    __slots__ = ("epoch", "guard", "lowest_sequence", "supports_epoch_bump", "timestamp")

    def __init__(self, timestamp: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> None:
        self.timestamp = timestamp
        self.guard = VerificationGuard()
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump

    def note(self, sequence: int, epoch: int) -> None:
        """A further batch waits for the verification. A higher epoch starts its sequences anew."""
        if epoch > self.epoch or (epoch == self.epoch and sequence < self.lowest_sequence):
            self.epoch = epoch
            self.lowest_sequence = sequence

    def verify(self, guard: VerificationGuard) -> bool:
        return guard is self.guard and guard is not NO_VERIFICATION
