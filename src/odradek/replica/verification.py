"""Which batches of a request begin a transaction in their partition, and need their coordinator's word first (KIP-890).

A producer's first batch of a transaction is appended only after the coordinator has said that the partition belongs to
it: otherwise a batch that was late could begin a transaction that nobody ends. The guard that stands for the answer is
handed in with the append.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from odradek.common.failures import ApiError, ProtocolError
from odradek.common.ids import TopicPartition
from odradek.log.producers.producer_entry import NO_VERIFICATION as NO_VERIFICATION
from odradek.log.producers.producer_entry import VerificationGuard
from odradek.protocol.error_codes import ErrorCode
from odradek.records.batch import TRANSACTIONAL_BIT, read_batch
from odradek.replica.replica_manager import ReplicaManager
from odradek.replica.values import NO_EPOCH, ProduceEntry

_NO_PRODUCER = -1

Guards = dict[TopicPartition, VerificationGuard]


@dataclass(frozen=True, slots=True)
class Verification:
    """Nothing is to be asked where there are no guards."""

    producer_id: int = _NO_PRODUCER
    producer_epoch: int = _NO_PRODUCER
    guards: Guards = field(default_factory=dict)
    #: Codes of partitions that cannot be appended to anyway.
    errors: dict[TopicPartition, int] = field(default_factory=dict)


def start_verifications(manager: ReplicaManager, entries: Sequence[ProduceEntry], adds: bool) -> Verification:
    """`adds`: the coordinator adds the partitions, instead of saying whether they were added. Raises ApiError if there
    is more than one producer."""
    found: Verification | None = None
    for entry in entries:
        try:
            batch = read_batch(entry.records, 0)
        except (ApiError, ProtocolError):
            continue  # the append says what is wrong with it
        if batch.producer_id == _NO_PRODUCER or not batch.attributes & TRANSACTIONAL_BIT:
            continue
        producer = (batch.producer_id, batch.producer_epoch)
        found = found or Verification(*producer)
        if producer != (found.producer_id, found.producer_epoch):
            raise ApiError(
                "Transactional records contained more than one producer ID", ErrorCode.INVALID_PRODUCER_ID_MAPPING
            )
        tp = entry.topic_partition
        try:
            guard = start_verification(manager, tp, batch.producer_id, batch.producer_epoch, batch.base_sequence, adds)
        except ApiError as error:
            found.errors[tp] = error.code
        else:
            if guard is not NO_VERIFICATION:
                found.guards[tp] = guard
    return found or Verification()


def start_verification(
    manager: ReplicaManager, tp: TopicPartition, producer_id: int, producer_epoch: int, sequence: int, adds: bool
) -> VerificationGuard:
    """`NO_VERIFICATION` where the transaction has begun in the partition already. Raises ApiError."""
    log = manager.find(tp).log_for(NO_EPOCH, only_leader=True)
    if not adds and not log.producers.verification_enabled:
        return NO_VERIFICATION
    return log.appender.start_verification(producer_id, sequence, producer_epoch, adds)
