"""The leader's role of a partition: appends, the high watermark, the ISR.

**High watermark.** The smallest log end offset of the maximal ISR, and of every caught-up replica that is eligible to
join it, so that a joining replica does not have to wait for data that it has just been promised; it does not advance
while the ISR is smaller than `min.insync.replicas` (KIP-966), and it never decreases.

**ISR.** A follower that has fetched up to the high watermark and to the start of the leader epoch is added; one that
has not been caught up for `replica.lag.time.max.ms` is removed. Both go through the controller (`alter_partition`).

Methods that may advance the high watermark return whether they did: the caller then checks the requests that wait for
it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from odradek.common.ids import TopicPartition
from odradek.common.ports import Buffer, Clock
from odradek.log.errors import OffsetOutOfRange
from odradek.log.manager.log_manager import LogManager
from odradek.log.offsets import AppendOrigin, OffsetMetadata
from odradek.log.producers.producer_append import TV_UNKNOWN
from odradek.log.producers.producer_entry import NO_VERIFICATION, VerificationGuard
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import AppendInfo, EpochEndOffset
from odradek.metadata.image.partition_registration import Ids, LeaderRecoveryState, PartitionRegistration
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.alter_partition_request import BrokerState
from odradek.replica.alter_partition import AlterPartitionOutbox, CommittedIsr
from odradek.replica.cluster_view import ClusterView
from odradek.replica.controller_contact import ControllerContact
from odradek.replica.errors import NotEnoughReplicas, NotLeaderOrFollower, UnknownLeaderEpoch
from odradek.replica.follower_state import FollowerState
from odradek.replica.isr import IsrState, PendingIsr, committed, pending, rolled_back
from odradek.replica.log_lines import PartitionLogLines
from odradek.replica.requests import NO_EPOCH, FetchEntry

logger = logging.getLogger("odradek.replica")

ACKS_ALL = -1

#: Errors after which the committed ISR holds and the change may be requested again.
_REJECTED_FOR_NOW = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA)
#: The metadata that explains these errors is on its way; the change stays pending until it arrives.
_REJECTED_UNTIL_NEW_METADATA = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.NEW_LEADER_ELECTED,
)


@dataclass(frozen=True, slots=True)
class PartitionDependencies:
    """The collaborators that all partitions of a broker share."""

    view: ClusterView
    clock: Clock
    logs: LogManager
    contact: ControllerContact
    alter_partition: AlterPartitionOutbox
    #: Log lines about many partitions, written when a metadata change has been applied.
    lines: PartitionLogLines
    max_lag_ms: int
    #: Called when a response of the controller has advanced the high watermark.
    on_high_watermark: Callable[[TopicPartition], None]


class PartitionLeader:
    """`log`, the epochs, `followers` and `isr_state` are public to read."""

    __slots__ = (
        "_dependencies",
        "_view",
        "followers",
        "isr_state",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "log",
        "partition_epoch",
        "replicas",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        log: UnifiedLog,
        registration: PartitionRegistration,
        dependencies: PartitionDependencies,
    ) -> None:
        self._dependencies = dependencies
        self._view = dependencies.view
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.leader_id = dependencies.view.broker_id
        self.log = log
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch
        self.isr_state: IsrState = committed(registration.isr)
        #: States of the other replicas.
        self.followers: dict[int, FollowerState] = {}
        self._set_assignment(registration)
        self._start_epoch(registration, is_new_leader=True)

    def __repr__(self) -> str:
        return f"PartitionLeader(epoch {self.leader_epoch}, isr {self.isr_state.isr}, {self.log})"

    @property
    def min_isr(self) -> int:
        """`min.insync.replicas`, at most the number of replicas: more could never be in sync."""
        return min(self.log.config.value.min_insync_replicas, len(self.followers) + 1)

    @property
    def is_under_min_isr(self) -> bool:
        return len(self.isr_state.isr) < self.min_isr

    @property
    def is_under_replicated(self) -> bool:
        return len(self.isr_state.isr) < len(self.replicas)

    # -- metadata

    def update(self, registration: PartitionRegistration, log: UnifiedLog) -> None:
        """Apply a later registration, under which this broker still leads."""
        is_new_epoch = registration.leader_epoch > self.leader_epoch
        if self.isr_state.pending is None or registration.partition_epoch > self.partition_epoch:
            # A change that was requested on top of this very epoch, which the controller's response had announced,
            # stays pending.
            self.isr_state = committed(registration.isr)
        self.log = log
        self._set_assignment(registration)
        if is_new_epoch:
            self._start_epoch(registration, is_new_leader=False)
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch

    def _set_assignment(self, registration: PartitionRegistration) -> None:
        self.replicas = registration.replicas
        self.followers = {
            replica: self.followers.get(replica) or FollowerState(replica)
            for replica in registration.replicas
            if replica != self.leader_id
        }

    def _start_epoch(self, registration: PartitionRegistration, *, is_new_leader: bool) -> None:
        log, now_ms = self.log, self._dependencies.clock.monotonic_ms()
        start_offset = self.leader_epoch_start_offset = log.offsets.log_end_offset
        log.epochs.begin(registration.leader_epoch, start_offset)
        for follower in self.followers.values():
            is_in_sync = follower.broker_id in registration.isr
            follower.reset(now_ms, start_offset, is_new_leader, is_in_sync)
        detail = (
            f"leader at epoch {registration.leader_epoch} from offset {start_offset}, "
            f"high watermark {log.offsets.high_watermark}, isr {list(registration.isr)}"
        )
        self._dependencies.lines.add(
            logging.INFO, "are led by this broker in a new epoch", self.topic_partition, detail
        )

    def replace_log(self, log: UnifiedLog) -> None:
        """Use the log in another directory: the same records, in other segments."""
        self.log = log
        for follower in self.followers.values():
            follower.forget_file_position()

    # -- appends

    def check_may_append(self, now_ms: int) -> None:
        """Raise NotLeaderOrFollower if another broker may lead the partition by now; for use when the broker's lease
        has expired, see `controller_contact`."""
        contact = self._dependencies.contact
        if contact.is_fenced:
            reason = "this broker is fenced"
        else:
            since_ms = now_ms - contact.session_timeout_ms
            silent = [
                str(broker_id)
                for broker_id, follower in self.followers.items()
                if broker_id in self.isr_state.isr and follower.previous_fetch_ms < since_ms
            ]
            if not silent:
                return
            reason = f"no controller responds, and {self.topic_partition} is not fetched by broker {', '.join(silent)}"
        contact.log_rejection(reason, now_ms)
        raise NotLeaderOrFollower(f"{self.topic_partition} may be led by another broker: {reason}")

    def append(
        self,
        records: Buffer,
        acks: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard = NO_VERIFICATION,
        transaction_version: int = TV_UNKNOWN,
    ) -> AppendInfo:
        """Append a batch; `advance_high_watermark` comes next. With `acks` all nothing is appended unless enough
        replicas are in sync."""
        if acks == ACKS_ALL and len(self.isr_state.isr) < self.min_isr:
            raise NotEnoughReplicas(
                f"The ISR {list(self.isr_state.isr)} of {self.topic_partition} is smaller than the {self.min_isr} that "
                "min.insync.replicas requires"
            )
        return self.log.appender.append_as_leader(records, self.leader_epoch, origin, guard, transaction_version)

    def advance_high_watermark(self, now_ms: int) -> bool:
        log = self.log
        if self.followers and len(self.isr_state.isr) < self.min_isr:
            return False
        end_offset = lowest = log.offsets.log_end_offset
        if not self.followers:
            return end_offset > log.offsets.high_watermark and log.offsets.raise_high_watermark(end_offset)
        lowest_end: OffsetMetadata | None = None
        maximal = self.isr_state.maximal
        for broker_id, follower in self.followers.items():
            if follower.log_end_offset < lowest and (
                broker_id in maximal or self._is_joining(follower, end_offset, now_ms)
            ):
                lowest = follower.log_end_offset
                lowest_end = follower.log_end
        if lowest <= log.offsets.high_watermark:
            return False
        return log.offsets.raise_high_watermark(log.reader.log_end_position if lowest_end is None else lowest_end)

    def _is_joining(self, follower: FollowerState, end_offset: int, now_ms: int) -> bool:
        is_caught_up = follower.is_caught_up(end_offset, now_ms, self._dependencies.max_lag_ms)
        return is_caught_up and self._view.is_isr_eligible(follower.broker_id, follower.broker_epoch)

    def reached(self, required_offset: int) -> ErrorCode | None:
        """Return the result of an append with `acks` all that ends at `required_offset`; None while it must wait."""
        if self.log.offsets.high_watermark < required_offset:
            return None
        is_enough = self.min_isr <= len(self.isr_state.maximal)
        return ErrorCode.NONE if is_enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def low_watermark(self) -> int:
        """Return the smallest log start offset of all live replicas."""
        low = self.log.offsets.log_start_offset
        for broker_id, follower in self.followers.items():
            if follower.log_start_offset < low and self._view.is_alive(broker_id):
                low = follower.log_start_offset
        return low

    # -- followers and the ISR

    def follower(self, broker_id: int, current_leader_epoch: int) -> FollowerState:
        follower = self.followers.get(broker_id)
        if follower is None:
            message = (
                f"Broker {broker_id} is not a replica of {self.topic_partition} in leader epoch {self.leader_epoch} "
                f"with partition epoch {self.partition_epoch}"
            )
            raise UnknownLeaderEpoch(message) if current_leader_epoch != NO_EPOCH else NotLeaderOrFollower(message)
        return follower

    def follower_fetched(
        self, follower: FollowerState, log_end: OffsetMetadata, log_start_offset: int, now_ms: int, broker_epoch: int
    ) -> bool:
        """Record a fetch; return whether the high watermark advanced."""
        if self._view.is_stale_epoch(follower.broker_id, broker_epoch):
            raise NotLeaderOrFollower(
                f"Broker {follower.broker_id} fetched {self.topic_partition} with the old broker epoch {broker_epoch}"
            )
        previous_end = follower.log_end_offset
        follower.fetched(log_end, log_start_offset, now_ms, self.log.offsets.log_end_offset, broker_epoch)
        if follower.broker_id not in self.isr_state.maximal:
            self._maybe_expand_isr(follower)
        return follower.log_end_offset != previous_end and self.advance_high_watermark(now_ms)

    def _maybe_expand_isr(self, follower: FollowerState) -> None:
        required_offset = max(self.log.offsets.high_watermark, self.leader_epoch_start_offset)
        if self.isr_state.is_inflight or follower.log_end_offset < required_offset:
            return
        if self._view.is_isr_eligible(follower.broker_id, follower.broker_epoch):
            self._request_isr((*self.isr_state.isr, follower.broker_id))

    def maybe_shrink_isr(self, now_ms: int) -> None:
        """Request an ISR without the replicas that have been behind for too long."""
        if self.isr_state.is_inflight or len(self.isr_state.isr) <= 1:
            return
        in_sync = tuple(replica for replica in self.isr_state.isr if not self._is_out_of_sync(replica, now_ms))
        if len(in_sync) < len(self.isr_state.isr):
            self._request_isr(in_sync)

    def _is_out_of_sync(self, replica: int, now_ms: int) -> bool:
        if replica == self.leader_id:
            return False
        follower, end_offset = self.followers.get(replica), self.log.offsets.log_end_offset
        return follower is None or not follower.is_caught_up(end_offset, now_ms, self._dependencies.max_lag_ms)

    def _request_isr(self, isr: Ids) -> None:
        """Make the change pending and submit it. The high watermark must respect it before the controller can."""
        with_epochs = [self._with_epoch(replica) for replica in isr]
        requested = PendingIsr(isr, with_epochs, self.leader_epoch, self.partition_epoch)
        state = self.isr_state
        self.isr_state = pending(state, requested)
        if not self._submit(requested):
            self.isr_state = state
            return
        logger.info(
            "%s: requests isr %s in place of %s at leader epoch %d, high watermark %d",
            *(self.topic_partition, list(isr), list(state.isr), self.leader_epoch),
            self.log.offsets.high_watermark,
        )

    def _submit(self, requested: PendingIsr) -> bool:
        partition_index, recovery = self.topic_partition.partition, self.isr_state.recovery
        return self._dependencies.alter_partition.submit(self.topic_id, partition_index, self, requested, recovery)

    def _with_epoch(self, replica: int) -> BrokerState:
        if replica == self.leader_id:
            return BrokerState(broker_id=replica, broker_epoch=self._view.broker_epoch)
        follower = self.followers.get(replica)
        epoch = follower.broker_epoch if follower is not None else None
        return BrokerState(broker_id=replica, broker_epoch=-1 if epoch is None else epoch)

    def resign(self) -> None:
        """Drop the pending change: another role has the log now, and a late response must not move its offsets."""
        self.isr_state = rolled_back(self.isr_state)

    def isr_accepted(self, requested: PendingIsr, committed_isr: CommittedIsr) -> None:
        """Apply the controller's response, unless the metadata log was faster."""
        if self.isr_state.pending is not requested or committed_isr.leader_epoch != self.leader_epoch:
            return
        if committed_isr.partition_epoch < self.partition_epoch:
            return
        isr, partition_epoch = committed_isr.isr, committed_isr.partition_epoch
        self.isr_state = committed(isr, LeaderRecoveryState(committed_isr.leader_recovery_state))
        self.partition_epoch = partition_epoch
        logger.info("%s: isr %s at epoch %d", self.topic_partition, list(isr), partition_epoch)
        if self.advance_high_watermark(self._dependencies.clock.monotonic_ms()):
            self._dependencies.on_high_watermark(self.topic_partition)

    def isr_rejected(self, requested: PendingIsr, error_code: int) -> None:
        if self.isr_state.pending is not requested or error_code in _REJECTED_UNTIL_NEW_METADATA:
            return
        logger.info("%s: %s was rejected: %s", self.topic_partition, requested, error_name(error_code))
        if error_code in _REJECTED_FOR_NOW:
            self.isr_state = rolled_back(self.isr_state)
        else:
            self._submit(requested)


def find_divergence(log: UnifiedLog, entry: FetchEntry) -> EpochEndOffset | None:
    """Return where the reader's log diverges from this one, by the epoch of its last record; None if it does not."""
    end = log.reader.end_offset_for_epoch(entry.last_fetched_epoch)
    if end is None or end.leader_epoch == NO_EPOCH:
        raise OffsetOutOfRange(
            f"The last fetched epoch {entry.last_fetched_epoch} of {entry.topic_partition} is unknown"
        )
    if entry.fetch_offset < log.offsets.log_start_offset:
        raise OffsetOutOfRange(
            f"Offset {entry.fetch_offset} of {entry.topic_partition} is below the log start "
            f"{log.offsets.log_start_offset}"
        )
    if end.leader_epoch < entry.last_fetched_epoch or end.end_offset < entry.fetch_offset:
        return end
    return None
