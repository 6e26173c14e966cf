"""Verification of batches that begin a transaction in their partition (KIP-890).

A producer's first batch of a transaction is appended only after the transaction coordinator has confirmed that the
partition belongs to the transaction: otherwise a delayed batch could begin a transaction that is never ended. The guard
that stands for the confirmation is passed along with the append.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from odradek.common.failures import ApiError, ProtocolError
from odradek.common.ids import TopicPartition
from odradek.log.producers.producer_entry import NO_VERIFICATION as NO_VERIFICATION
from odradek.log.producers.producer_entry import VerificationGuard
from odradek.protocol.error_codes import ErrorCode
from odradek.records.batch import TRANSACTIONAL_BIT, read_batch
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.requests import ProduceEntry

_NO_PRODUCER = -1

Guards = dict[TopicPartition, VerificationGuard]


@dataclass(frozen=True, slots=True)
class Verification:
    """The partitions to verify with the coordinator; none if `guards` is empty."""

    producer_id: int = _NO_PRODUCER
    producer_epoch: int = _NO_PRODUCER
    guards: Guards = field(default_factory=dict)
    #: Error codes of partitions to which nothing can be appended anyway.
    errors: dict[TopicPartition, int] = field(default_factory=dict)


class TransactionVerification:
    __slots__ = ("_hosted",)

    def __init__(self, partitions: HostedPartitions) -> None:
        self._hosted = partitions

    def start_all(self, entries: Sequence[ProduceEntry], adds: bool) -> Verification:
        """Start the verification of transactional batches. `adds`: the coordinator adds the partitions, instead of
        confirming that they were added. Raises ApiError if there is more than one producer."""
        verification: Verification | None = None
        for entry in entries:
            try:
                batch = read_batch(entry.records, 0)
            except (ApiError, ProtocolError):
                continue  # the append reports what is wrong with it
            if batch.producer_id == _NO_PRODUCER or not batch.attributes & TRANSACTIONAL_BIT:
                continue
            producer = (batch.producer_id, batch.producer_epoch)
            verification = verification or Verification(*producer)
            if producer != (verification.producer_id, verification.producer_epoch):
                raise ApiError(
                    "Transactional records contained more than one producer ID", ErrorCode.INVALID_PRODUCER_ID_MAPPING
                )
            tp = entry.topic_partition
            try:
                guard = self.start(tp, batch.producer_id, batch.producer_epoch, batch.base_sequence, adds)
            except ApiError as error:
                verification.errors[tp] = error.code
            else:
                if guard is not NO_VERIFICATION:
                    verification.guards[tp] = guard
        return verification or Verification()

    def start(
        self, tp: TopicPartition, producer_id: int, producer_epoch: int, sequence: int, adds: bool
    ) -> VerificationGuard:
        """Return the guard; `NO_VERIFICATION` if the transaction has already begun in the partition. Raises
        ApiError."""
        log = self._hosted.find(tp).leader().log
        if not adds and not log.producers.verification_enabled:
            return NO_VERIFICATION
        return log.appender.start_verification(producer_id, sequence, producer_epoch, adds)
