"""One replica of one partition on this broker, in the role that the metadata log gives it.

A replica leads (`PartitionLeader`), follows (`PartitionFollower`) or is offline (`OfflineReplica`): its log directory
has failed, its log is damaged, or it has no log yet. `become_leader` and `become_follower` apply registrations of the
metadata log; one with an older partition epoch than the current one is ignored. Leader epochs separate what different
leaders wrote: every request that names one is checked against the epoch of this replica (`leader`, `readable`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from odradek.common.ids import TopicPartition, uuid_to_text
from odradek.log.errors import FencedLeaderEpoch, KafkaStorageError
from odradek.log.unified_log import UnifiedLog
from odradek.metadata.image.directory_id import LOST, MIGRATING, UNASSIGNED
from odradek.metadata.image.partition_registration import NO_LEADER, PartitionRegistration
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.errors import NotLeaderOrFollower, UnknownLeaderEpoch
from odradek.replica.partition_follower import PartitionFollower
from odradek.replica.partition_leader import PartitionDependencies, PartitionLeader
from odradek.replica.requests import NO_EPOCH


@dataclass(frozen=True, slots=True)
class OfflineReplica:
    """A replica without a log."""

    leader_epoch: int = -1
    partition_epoch: int = -1
    leader_id: int = NO_LEADER
    log: None = None

    def reached(self, _: int) -> ErrorCode:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER


class Partition:
    __slots__ = ("_dependencies", "role", "topic_id", "topic_partition")

    def __init__(self, topic_partition: TopicPartition, topic_id: bytes, dependencies: PartitionDependencies) -> None:
        self._dependencies = dependencies
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.role: PartitionLeader | PartitionFollower | OfflineReplica = OfflineReplica()

    def __repr__(self) -> str:
        return f"Partition({self.topic_partition}, {self.role})"

    @property
    def log(self) -> UnifiedLog | None:
        return self.role.log

    @property
    def is_leader(self) -> bool:
        return isinstance(self.role, PartitionLeader)

    @property
    def leader_epoch(self) -> int:
        return self.role.leader_epoch

    @property
    def leader_id(self) -> int:
        return self.role.leader_id

    # -- roles

    def become_leader(self, registration: PartitionRegistration, is_new: bool) -> bool:
        """Lead under this registration; return whether the high watermark advanced. `is_new`: this broker cannot have
        had the replica before. Raises `KafkaStorageError`."""
        role = self.role
        if registration.partition_epoch < role.partition_epoch:
            return False
        log = self._open_log(registration, is_new)
        if isinstance(role, PartitionLeader):
            role.update(registration, log)
        else:
            role = PartitionLeader(self.topic_partition, self.topic_id, log, registration, self._dependencies)
            self.role = role
        return role.advance_high_watermark(self._dependencies.clock.monotonic_ms())

    def become_follower(self, registration: PartitionRegistration, is_new: bool) -> bool:
        """Follow under this registration; return whether the leader epoch is a new one. `is_new` is as for
        `become_leader`. Raises `KafkaStorageError`."""
        role = self.role
        if registration.partition_epoch < role.partition_epoch:
            return False
        is_new_epoch = registration.leader_epoch > role.leader_epoch
        log = self._open_log(registration, is_new)
        self._resign()
        self.role = PartitionFollower(self.topic_partition, log, registration, self._dependencies.logs)
        if is_new_epoch:
            leader = f"broker {registration.leader}" if registration.leader >= 0 else "no broker"
            detail = (
                f"follower of {leader} at epoch {registration.leader_epoch} from offset {log.offsets.log_end_offset}, "
                f"high watermark {log.offsets.high_watermark}"
            )
            self._dependencies.lines.add(logging.INFO, f"follow {leader} in a new epoch", self.topic_partition, detail)
        return is_new_epoch

    def go_offline(self) -> None:
        """Drop the log: its directory has failed, it is damaged, or the replica is deleted."""
        self._resign()
        self.role = OfflineReplica(self.role.leader_epoch, self.role.partition_epoch)

    def _resign(self) -> None:
        if isinstance(self.role, PartitionLeader):
            self.role.resign()

    def _open_log(self, registration: PartitionRegistration, is_new: bool) -> UnifiedLog:
        log = self.role.log
        if log is not None and log.health.fault is None:
            return log
        logs = self._dependencies.logs
        assigned: bytes | None = registration.directory(self._dependencies.view.broker_id)
        if assigned in (MIGRATING, UNASSIGNED, LOST):
            # A replica that was here before this broker started may have a log in a directory that is offline.
            is_new, assigned = is_new and assigned == UNASSIGNED, None
        elif assigned is not None and logs.directory_path(assigned) is None:
            if logs.offline:
                raise KafkaStorageError(
                    f"{self.topic_partition} is assigned to the log directory {uuid_to_text(assigned)}, "
                    "which is offline"
                )
            assigned = None
        else:
            is_new = True
        return logs.get_or_create(self.topic_partition, self.topic_id, is_new=is_new, directory_id=assigned)

    def replace_log(self, log: UnifiedLog) -> None:
        """Use the log in another directory, to which the replica has moved."""
        if not isinstance(self.role, OfflineReplica):
            self.role.replace_log(log)

    # -- access for requests

    def local_log(self) -> UnifiedLog:
        log = self.role.log
        if log is None:
            raise NotLeaderOrFollower(f"The log of {self.topic_partition} is not available")
        return log

    def follower(self) -> PartitionFollower:
        role = self.role
        if not isinstance(role, PartitionFollower):
            raise NotLeaderOrFollower(f"This broker does not follow {self.topic_partition}")
        return role

    def leader(self, current_leader_epoch: int = NO_EPOCH) -> PartitionLeader:
        """Return the leader's role, for a request with `current_leader_epoch` (-1: it has none). Raises ApiError."""
        role = self.role
        if current_leader_epoch != NO_EPOCH and current_leader_epoch != role.leader_epoch:
            self._reject_epoch(current_leader_epoch)
        if not isinstance(role, PartitionLeader):
            raise self._not_here()
        return role

    def readable(self, current_leader_epoch: int) -> UnifiedLog:
        """Return the log of the leader or follower, for a request with `current_leader_epoch`. Raises ApiError."""
        role = self.role
        if current_leader_epoch != NO_EPOCH and current_leader_epoch != role.leader_epoch:
            self._reject_epoch(current_leader_epoch)
        if role.log is None:
            raise self._not_here()
        return role.log

    def _reject_epoch(self, current_leader_epoch: int) -> None:
        message = (
            f"{self.topic_partition} is at leader epoch {self.leader_epoch}, the request at {current_leader_epoch}"
        )
        raise FencedLeaderEpoch(message) if current_leader_epoch < self.leader_epoch else UnknownLeaderEpoch(message)

    def _not_here(self) -> NotLeaderOrFollower:
        role = self.role
        return NotLeaderOrFollower(
            f"{self.topic_partition} is led by {role.leader_id} in epoch {role.leader_epoch}, not by this broker"
        )
