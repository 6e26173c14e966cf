"""One replica of one partition on this broker.

States. A partition is *online*, as leader (`leader_log` is its log) or as follower (`leader_log` is None), or *offline*
(`log` is None: its directory has failed). `make_leader` and `make_follower` follow the metadata log; a change with an
older partition epoch than the one held is old news and is left alone. Leader epochs separate what different leaders
wrote: every request that names one is checked against this replica's (`log_for`).

High watermark. As leader: the smallest log end of the maximal ISR, and of every caught-up replica that is about to
join it, so that it does not have to wait for data it has just been promised; not while the ISR is smaller than
`min.insync.replicas` (KIP-966). It never goes back. As follower: what the leader says, within the own log.

ISR. A follower that has fetched up to the high watermark and to the start of the leader's epoch is added; one that has
not been caught up for `replica.lag.time.max.ms` is taken out. Both go through the controller (`alter_partition`).

Methods that may move the high watermark return whether it did: the manager then wakes those who wait for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from odradek.common.failures import check
from odradek.common.ids import TopicPartition, uuid_to_text
from odradek.common.ports import Buffer
from odradek.log.errors import FencedLeaderEpoch, KafkaStorageError
from odradek.log.offsets import AppendOrigin, OffsetMetadata
from odradek.log.producers.producer_append import TV_UNKNOWN
from odradek.log.producers.producer_entry import NO_VERIFICATION, VerificationGuard
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import AppendInfo
from odradek.metadata.image.directory_id import LOST, MIGRATING, UNASSIGNED
from odradek.metadata.image.partition_registration import NO_LEADER, Ids, LeaderRecoveryState, PartitionRegistration
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.alter_partition_request import BrokerState
from odradek.replica.alter_partition import IsrDecided
from odradek.replica.context import ReplicaContext
from odradek.replica.errors import NotEnoughReplicas, NotLeaderOrFollower, UnknownLeaderEpoch
from odradek.replica.follower_state import FollowerState
from odradek.replica.isr import NO_ISR, IsrState, PendingIsr, committed, pending, rolled_back
from odradek.replica.values import NO_EPOCH

logger = logging.getLogger("odradek.replica")

ACKS_ALL = -1

_REFUSED_UNTIL_TRIED_AGAIN = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA)
#: The metadata that explains these is on its way; the change stays pending until it is here.
_REFUSED_UNTIL_NEW_METADATA = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.NEW_LEADER_ELECTED,
)


class Partition:
    __slots__ = (
        "adding_replicas",
        "context",
        "followers",
        "hw_moved",
        "isr_state",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "leader_log",
        "log",
        "partition_epoch",
        "replicas",
        "topic_id",
        "topic_partition",
    )

    def __init__(self, context: ReplicaContext, topic_partition: TopicPartition, topic_id: bytes) -> None:
        self.context = context
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log: UnifiedLog | None = None
        #: The log while this replica leads, else None.
        self.leader_log: UnifiedLog | None = None
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.leader_epoch_start_offset: int | None = None
        self.replicas: Ids = ()
        self.adding_replicas: Ids = ()
        self.isr_state: IsrState = NO_ISR
        #: Of the other replicas, while this one leads.
        self.followers: dict[int, FollowerState] = {}
        #: Called when an answer of the controller has moved the high watermark.
        self.hw_moved: Callable[[TopicPartition], None] = _ignore

    def __repr__(self) -> str:
        return (
            f"Partition({self.topic_partition}, leader {self.leader_id}, epoch {self.leader_epoch}, "
            f"isr {self.isr_state.isr}, {self.log})"
        )

    @property
    def is_leader(self) -> bool:
        return self.leader_log is not None

    @property
    def min_isr(self) -> int:
        """A `min.insync.replicas` beyond the number of replicas could never be met."""
        assert self.log is not None
        return min(self.log.config.value.min_insync_replicas, len(self.followers) + 1)

    @property
    def is_under_min_isr(self) -> bool:
        return self.leader_log is not None and len(self.isr_state.isr) < self.min_isr

    @property
    def is_under_replicated(self) -> bool:
        return self.leader_log is not None and len(self.isr_state.isr) < len(self.replicas)

    # -- states

    def make_leader(self, registration: PartitionRegistration, is_new: bool) -> bool:
        """Lead from this registration on; return whether the high watermark moved. `is_new`: this broker cannot have
        held the replica before. Raises `KafkaStorageError`."""
        if registration.partition_epoch < self.partition_epoch:
            return False
        context = self.context
        now_ms = context.clock.monotonic_ms()
        was_leader = self.leader_log is not None
        is_new_epoch = registration.leader_epoch > self.leader_epoch
        self._set_assignment(registration)
        followers = [replica for replica in registration.replicas if replica != context.broker_id]
        self.followers = {replica: self.followers.get(replica) or FollowerState(replica) for replica in followers}
        if self.isr_state.pending is None or registration.partition_epoch > self.partition_epoch:
            # What was asked for on top of this very epoch, of which the controller's answer had told, stays asked for.
            self.isr_state = committed(registration.isr)
        log = self._open_log(registration, is_new)
        if is_new_epoch:
            self.leader_epoch_start_offset = log.offsets.log_end_offset
            log.epochs.begin(registration.leader_epoch, log.offsets.log_end_offset)
            for follower in self.followers.values():
                is_in_sync = follower.broker_id in registration.isr
                follower.reset(now_ms, log.offsets.log_end_offset, not was_leader, is_in_sync)
            detail = (
                f"leader at epoch {registration.leader_epoch} from offset {log.offsets.log_end_offset}, "
                f"high watermark {log.offsets.high_watermark}, isr {list(registration.isr)}"
            )
            context.lines.add(logging.INFO, "are led by this broker in a new epoch", self.topic_partition, detail)
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch
        self.leader_id = context.broker_id
        self.leader_log = log
        return self.maybe_increment_high_watermark(now_ms)

    def make_follower(self, registration: PartitionRegistration, is_new: bool) -> bool:
        """Follow from this registration on; return whether the leader epoch is a new one. `is_new` is as for
        `make_leader`. Raises `KafkaStorageError`."""
        if registration.partition_epoch < self.partition_epoch:
            return False
        is_new_epoch = registration.leader_epoch > self.leader_epoch
        self._set_assignment(registration)
        self.followers = {}
        self.isr_state = NO_ISR
        self.leader_log = None
        self.leader_epoch_start_offset = None
        self.leader_id = registration.leader
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch
        log = self._open_log(registration, is_new)
        if is_new_epoch:
            source = f"broker {registration.leader}" if registration.leader >= 0 else "nobody"
            detail = (
                f"follower of {source} at epoch {registration.leader_epoch} from offset {log.offsets.log_end_offset}, "
                f"high watermark {log.offsets.high_watermark}"
            )
            self.context.lines.add(logging.INFO, f"follow {source} in a new epoch", self.topic_partition, detail)
        return is_new_epoch

    def _set_assignment(self, registration: PartitionRegistration) -> None:
        self.replicas = registration.replicas
        self.adding_replicas = registration.adding_replicas

    def _open_log(self, registration: PartitionRegistration, is_new: bool) -> UnifiedLog:
        if self.log is not None and self.log.health.fault is None:
            return self.log
        logs = self.context.logs
        assigned: bytes | None = registration.directory(self.context.broker_id)
        if assigned in (MIGRATING, UNASSIGNED, LOST):
            # A replica that was here before this broker started may have a log in a directory that is offline.
            is_new, assigned = is_new and assigned == UNASSIGNED, None
        elif assigned is not None and logs.directory_path(assigned) is None:
            if logs.offline:
                raise KafkaStorageError(
                    f"{self.topic_partition} belongs in the log directory {uuid_to_text(assigned)}, which is offline"
                )
            assigned = None
        else:
            is_new = True
        self.log = logs.get_or_create(self.topic_partition, self.topic_id, is_new=is_new, directory_id=assigned)
        return self.log

    def replace_log(self, log: UnifiedLog) -> None:
        """The replica has moved to another directory: the same records, in other segments."""
        if self.leader_log is not None:
            self.leader_log = log
        self.log = log
        for follower in self.followers.values():
            follower.log_end_place = OffsetMetadata(follower.log_end_offset)

    def mark_offline(self) -> None:
        """The log directory has failed, or the replica is gone."""
        self.log = self.leader_log = None
        self.followers = {}
        self.isr_state = NO_ISR
        self.leader_id = NO_LEADER
        self.leader_epoch_start_offset = None

    # -- who may ask

    def local_log(self) -> UnifiedLog:
        log = self.log
        if log is None:
            raise NotLeaderOrFollower(f"The log of {self.topic_partition} is not available")
        return log

    def log_for(self, current_leader_epoch: int, only_leader: bool) -> UnifiedLog:
        """The log, for an asker that takes this broker to be at `current_leader_epoch` (-1: does not say)."""
        if current_leader_epoch != NO_EPOCH and current_leader_epoch != self.leader_epoch:
            self._refuse_epoch(current_leader_epoch)
        log = self.leader_log if only_leader else self.log
        if log is None:
            raise NotLeaderOrFollower(
                f"{self.topic_partition} is led by {self.leader_id} in epoch {self.leader_epoch}, not by this broker"
            )
        return log

    def _refuse_epoch(self, current_leader_epoch: int) -> None:
        said = f"{self.topic_partition} is at leader epoch {self.leader_epoch}, the request at {current_leader_epoch}"
        raise FencedLeaderEpoch(said) if current_leader_epoch < self.leader_epoch else UnknownLeaderEpoch(said)

    # -- append

    def check_may_append(self, now_ms: int) -> None:
        """Raise NotLeaderOrFollower if other brokers may lead the partition by now; for use when the broker's lease is
        over, see `controller_contact`."""
        contact = self.context.contact
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
            reason = f"no controller answers, and {self.topic_partition} is not fetched by broker {', '.join(silent)}"
        contact.note_refusal(reason, now_ms)
        raise NotLeaderOrFollower(f"{self.topic_partition} may be led by another broker: {reason}")

    def append_as_leader(
        self,
        records: Buffer,
        acks: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard = NO_VERIFICATION,
        transaction_version: int = TV_UNKNOWN,
    ) -> AppendInfo:
        """With `acks` all nothing is appended unless enough replicas are in sync. See `maybe_increment_high_watermark`
        for what follows."""
        log = self.leader_log
        if log is None:
            raise NotLeaderOrFollower(f"This broker does not lead {self.topic_partition}")
        if acks == ACKS_ALL and len(self.isr_state.isr) < self.min_isr:
            raise NotEnoughReplicas(
                f"The ISR {list(self.isr_state.isr)} of {self.topic_partition} is smaller than the {self.min_isr} that "
                "min.insync.replicas asks for"
            )
        return log.appender.append_as_leader(records, self.leader_epoch, origin, guard, transaction_version)

    def maybe_increment_high_watermark(self, now_ms: int) -> bool:
        log = self.leader_log
        if log is None or (self.followers and len(self.isr_state.isr) < self.min_isr):
            return False
        end_offset = lowest = log.offsets.log_end_offset
        if not self.followers:
            return end_offset > log.offsets.high_watermark and log.offsets.raise_high_watermark(end_offset)
        place: OffsetMetadata | None = None
        maximal = self.isr_state.maximal
        for broker_id, follower in self.followers.items():
            if follower.log_end_offset < lowest and (
                broker_id in maximal or self._is_about_to_join(follower, end_offset, now_ms)
            ):
                lowest = follower.log_end_offset
                place = follower.log_end_place
        if lowest <= log.offsets.high_watermark:
            return False
        return log.offsets.raise_high_watermark(log.reader.log_end_position if place is None else place)

    def _is_about_to_join(self, follower: FollowerState, end_offset: int, now_ms: int) -> bool:
        context = self.context
        is_caught_up = follower.is_caught_up(end_offset, now_ms, context.settings.replica_lag_time_max_ms)
        return is_caught_up and context.is_isr_eligible(follower.broker_id, follower.broker_epoch)

    def reached(self, required_offset: int) -> ErrorCode | None:
        """How an `acks` all append up to `required_offset` ends; None while it has to wait."""
        log = self.leader_log
        if log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if log.offsets.high_watermark < required_offset:
            return None
        enough = self.min_isr <= len(self.isr_state.maximal)
        return ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    # -- followers and the ISR

    def follower(self, broker_id: int, current_leader_epoch: int) -> FollowerState:
        found = self.followers.get(broker_id)
        if found is None:
            said = (
                f"Broker {broker_id} is no replica of {self.topic_partition} in leader epoch {self.leader_epoch} with "
                f"partition epoch {self.partition_epoch}"
            )
            raise UnknownLeaderEpoch(said) if current_leader_epoch != NO_EPOCH else NotLeaderOrFollower(said)
        return found

    def follower_fetched(
        self, follower: FollowerState, place: OffsetMetadata, log_start_offset: int, now_ms: int, broker_epoch: int
    ) -> bool:
        """Take note of a fetch; whether the high watermark moved."""
        log = self.leader_log
        if log is None or self.context.is_stale_epoch(follower.broker_id, broker_epoch):
            raise NotLeaderOrFollower(
                f"Broker {follower.broker_id} fetched {self.topic_partition} with the old broker epoch {broker_epoch}"
            )
        before = follower.log_end_offset
        follower.fetched(place, log_start_offset, now_ms, log.offsets.log_end_offset, broker_epoch)
        if follower.broker_id not in self.isr_state.maximal:
            self._maybe_expand_isr(follower, log)
        return follower.log_end_offset != before and self.maybe_increment_high_watermark(now_ms)

    def _maybe_expand_isr(self, follower: FollowerState, log: UnifiedLog) -> None:
        start = self.leader_epoch_start_offset
        is_in_sync = follower.log_end_offset >= log.offsets.high_watermark and start is not None
        if not is_in_sync or self.isr_state.is_inflight or follower.log_end_offset < (start or 0):
            return
        if self.context.is_isr_eligible(follower.broker_id, follower.broker_epoch):
            self._ask_for((*self.isr_state.isr, follower.broker_id))

    def maybe_shrink_isr(self, now_ms: int) -> None:
        log = self.leader_log
        if log is None or self.isr_state.is_inflight or len(self.isr_state.isr) <= 1:
            return
        kept = tuple(replica for replica in self.isr_state.isr if not self._is_out_of_sync(replica, log, now_ms))
        if len(kept) < len(self.isr_state.isr):
            self._ask_for(kept)

    def _is_out_of_sync(self, replica: int, log: UnifiedLog, now_ms: int) -> bool:
        if replica == self.context.broker_id:
            return False
        follower = self.followers.get(replica)
        max_lag_ms = self.context.settings.replica_lag_time_max_ms
        return follower is None or not follower.is_caught_up(log.offsets.log_end_offset, now_ms, max_lag_ms)

    def _ask_for(self, isr: Ids) -> None:
        """Pending from here on: what counts for the high watermark must change before the controller can."""
        asked = PendingIsr(isr, [self._with_epoch(replica) for replica in isr], self.leader_epoch, self.partition_epoch)
        state = self.isr_state
        self.isr_state = pending(state, asked)
        number = self.topic_partition.partition
        if not self.context.alter_partition.submit(self.topic_id, number, self, asked, state.recovery):
            self.isr_state = state
            return
        logger.info(
            "%s: asks for isr %s in place of %s at leader epoch %d, high watermark %d",
            *(self.topic_partition, list(isr), list(state.isr), self.leader_epoch),
            self.local_log().offsets.high_watermark,
        )

    def _with_epoch(self, replica: int) -> BrokerState:
        if replica == self.context.broker_id:
            return BrokerState(broker_id=replica, broker_epoch=self.context.broker_epoch)
        follower = self.followers.get(replica)
        epoch = follower.broker_epoch if follower is not None else None
        return BrokerState(broker_id=replica, broker_epoch=-1 if epoch is None else epoch)

    def isr_decided(self, asked: PendingIsr, decided: IsrDecided) -> None:
        """The controller's answer; ignored where the metadata log has been faster."""
        if self.isr_state.pending is not asked or decided.leader_epoch != self.leader_epoch:
            return
        if decided.partition_epoch < self.partition_epoch:
            return
        check(self.leader_log is not None, f"{self.topic_partition}: a change is pending of a replica that follows")
        self.isr_state = committed(decided.isr, LeaderRecoveryState(decided.leader_recovery_state))
        self.partition_epoch = decided.partition_epoch
        logger.info("%s: isr %s at epoch %d", self.topic_partition, list(decided.isr), decided.partition_epoch)
        if self.maybe_increment_high_watermark(self.context.clock.monotonic_ms()):
            self.hw_moved(self.topic_partition)

    def isr_refused(self, asked: PendingIsr, error_code: int) -> None:
        if self.isr_state.pending is not asked:
            return
        if error_code in _REFUSED_UNTIL_NEW_METADATA:
            return
        logger.info("%s: %s was refused: %s", self.topic_partition, asked, error_name(error_code))
        if error_code in _REFUSED_UNTIL_TRIED_AGAIN:
            self.isr_state = rolled_back(self.isr_state)
        else:
            number = self.topic_partition.partition
            self.context.alter_partition.submit(self.topic_id, number, self, asked, self.isr_state.recovery)


def _ignore(_: TopicPartition) -> None:
    pass
