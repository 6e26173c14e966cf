"""Identity of a producer over time: its producer id, its epoch, and when the epoch must be raised. Pure.

An idempotent producer raises its epoch by itself when a gap in its sequences cannot be closed. A transactional one gets
each epoch from the coordinator; here it only notes that one is due.
"""

from odradek.client.producer.partition_sequences import SequenceTable
from odradek.client.producer.producer_identity import NO_IDENTITY, ProducerIdentity
from odradek.client.producer.transaction_features import TransactionFeatures
from odradek.client.types import TopicPartition

_EPOCH_MAX = 2**15 - 1


class ProducerIdentityKeeper:
    def __init__(self, sequences: SequenceTable, features: TransactionFeatures) -> None:
        self.identity = NO_IDENTITY
        self.is_bump_due = False
        self._sequences = sequences
        self._features = features
        #: Partitions whose sequences restart with the next epoch.
        self._to_renumber: dict[TopicPartition, None] = {}

    def replace(self, identity: ProducerIdentity, *, restarts_sequences: bool) -> None:
        self.identity = identity
        if restarts_sequences:
            self._sequences.clear()

    def request_bump(self) -> None:
        """Ask for a new epoch, unless the end of the transaction brings one anyway (version 2)."""
        if not self._features.is_version_2:
            self.is_bump_due = True

    def require_bump(self) -> None:
        self.is_bump_due = True

    def clear_bump(self) -> None:
        self.is_bump_due = False

    def renumber(self, partition: TopicPartition) -> None:
        """Restart the sequences of a partition with a higher epoch. Not for transactions."""
        self.is_bump_due = True
        self._to_renumber[partition] = None

    def raise_epoch(self) -> bool:
        """Raise the epoch without the coordinator; return False if a new producer id is needed instead."""
        self.is_bump_due = False
        is_exhausted = self.identity.epoch >= _EPOCH_MAX
        if is_exhausted:
            self.identity = NO_IDENTITY
        elif self.identity.is_valid:
            self.identity = ProducerIdentity(self.identity.producer_id, self.identity.epoch + 1)
        for partition in self._to_renumber:
            self._sequences.of(partition).renumber(self.identity)
        self._to_renumber.clear()
        return not is_exhausted
