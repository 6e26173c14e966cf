"""What becomes of one partition: targets in, one PartitionChangeRecord out, or none if nothing changes.

The order of the steps is the meaning of it: a reassignment whose replicas have all caught up is completed first; then
the eligible leaders follow from the ISR (KIP-966: who leaves an ISR that is below min.insync.replicas has all that was
acknowledged and stays eligible); then a leader is elected among what is left; and what differs goes into the record.

* A clean leader is in the ISR, or in the ELR when the ISR is empty.
* The last known leader may be taken when ISR and ELR are both empty, and only then.
* An unclean leader is any live replica; only an election that allows it looks so far. Data may be lost, and the
  partition is RECOVERING until its new leader says otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.partition_registration import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    LeaderRecoveryState,
    PartitionRegistration,
)
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord


class Election(Enum):
    #: The preferred replica if it can lead; used by rebalancing.
    PREFERRED = "preferred"
    #: The leader stays if it can lead.
    ONLINE = "online"
    #: As ONLINE, and rather a stale leader than none.
    UNCLEAN = "unclean"


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """What the rules must know besides the partition itself."""

    topic_id: bytes
    partition_id: int
    #: Alive, not stopping, and the replica's directory online.
    is_acceptable_leader: Callable[[int], bool]
    metadata_version: MetadataVersion
    #: `min.insync.replicas` of the topic, at most its replication factor.
    min_isr: int
    is_elr_enabled: bool
    #: Where a new replica of a broker goes.
    default_directory: Callable[[int], bytes]


class _Elected(NamedTuple):
    leader: int
    unclean: bool = False


class CompletedReassignment(NamedTuple):
    replicas: list[int]
    isr: list[int]


def completed_reassignment(
    replicas: Sequence[int], removing: Sequence[int], adding: Sequence[int], isr: Sequence[int]
) -> CompletedReassignment | None:
    """The end of a reassignment, once every added replica is in sync.

    When replicas become fewer, all that stay must be in sync: ending earlier would shrink the ISR for nothing.
    """
    if not removing and not adding:
        return None
    new_isr = [replica for replica in isr if replica not in removing]
    new_replicas = [replica for replica in replicas if replica not in removing]
    if removing and not (new_isr and new_replicas):
        return None
    if any(replica not in new_isr for replica in adding):
        return None
    if len(adding) < len(removing) and any(replica not in new_isr for replica in new_replicas):
        return None
    return CompletedReassignment(new_replicas, new_isr)


@dataclass(slots=True)
class PartitionChange:
    """Set the targets that should differ from the partition as it is, then `build`."""

    partition: PartitionRegistration
    context: PartitionContext
    election: Election = Election.ONLINE
    target_isr: list[int] | None = None
    target_replicas: list[int] | None = None
    target_removing: list[int] | None = None
    target_adding: list[int] | None = None
    target_recovery_state: int | None = None
    #: New directories of some replicas.
    directories: dict[int, bytes] = field(default_factory=dict)
    #: Replicas that lost what they had not flushed: they are eligible for nothing.
    unclean_shutdown_replicas: tuple[int, ...] = ()

    def build(self) -> MetadataRecord | None:
        return _Builder(self).build()


class _Builder:
    """The targets as they become, step by step, and the record that says what differs."""

    def __init__(self, change: PartitionChange) -> None:
        partition = change.partition
        self.change, self.partition, self.context = change, partition, change.context
        self.isr = _or(change.target_isr, partition.isr)
        self.replicas = _or(change.target_replicas, partition.replicas)
        self.removing = _or(change.target_removing, partition.removing_replicas)
        self.adding = _or(change.target_adding, partition.adding_replicas)
        self.elr = list(partition.elr)
        self.record = PartitionChangeRecord(topic_id=change.context.topic_id, partition_id=change.context.partition_id)

    def build(self) -> MetadataRecord | None:
        self._complete_reassignment()
        self._follow_elr()
        self._elect()
        self._bump_leader_epoch_for_removed_replicas()
        self._write_elr()
        self._write_isr()
        self._bump_leader_epoch_for_isr_shrink()
        self._write_last_known_leader()
        self._write_assignment()
        recovery = self.change.target_recovery_state
        if recovery is not None and recovery != self.partition.leader_recovery_state:
            self.record.leader_recovery_state = recovery
        if _is_empty(self.record):
            return None
        return MetadataRecord(self.record, self.context.metadata_version.partition_change_record_version)

    def _complete_reassignment(self) -> None:
        done = completed_reassignment(self.replicas, self.removing, self.adding, self.isr)
        if done is not None:
            self.replicas, self.isr = done.replicas, done.isr
            self.removing, self.adding = [], []

    def _follow_elr(self) -> None:
        if not self.context.is_elr_enabled:
            return
        if len(self.isr) >= self.context.min_isr:
            self.elr = []
            return
        candidates = sorted({*self.elr, *self.partition.isr})
        unclean = self.change.unclean_shutdown_replicas
        self.elr = [
            replica
            for replica in candidates
            if replica not in self.isr and replica not in unclean and replica in self.replicas
        ]

    def _elect(self) -> None:
        elected = self._elected()
        if elected.leader == self.partition.leader:
            return
        if elected.leader in self.elr:
            self.isr = [elected.leader]
            self.elr.remove(elected.leader)
        self.record.leader = elected.leader
        if elected.unclean:
            # The others may hold what the new leader lacks: they must truncate to it before they are in sync.
            self.record.isr = [elected.leader]
            if self.partition.leader_recovery_state != LeaderRecoveryState.RECOVERING:
                self.record.leader_recovery_state = int(LeaderRecoveryState.RECOVERING)

    def _elected(self) -> _Elected:
        current = self.partition.leader
        candidates = [current, *self.replicas]
        if self.change.election is Election.PREFERRED:
            candidates.insert(0, self.replicas[0])
        for replica in candidates:
            if replica != NO_LEADER and self._is_valid_leader(replica):
                return _Elected(replica)
        if self._may_elect_last_known_leader():
            return _Elected(self.partition.last_known_elr[0], unclean=True)
        if self.change.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self.context.is_acceptable_leader(replica):
                    return _Elected(replica, unclean=True)
        return _Elected(NO_LEADER)

    def _is_valid_leader(self, replica: int) -> bool:
        eligible = replica in self.isr or (not self.isr and replica in self.elr)
        return eligible and self.context.is_acceptable_leader(replica)

    def _may_elect_last_known_leader(self) -> bool:
        if not self.context.is_elr_enabled or self.elr or self.isr or len(self.partition.last_known_elr) != 1:
            return False
        last = self.partition.last_known_elr[0]
        return last in self.replicas and self.context.is_acceptable_leader(last)

    def _bump_leader_epoch_for_removed_replicas(self) -> None:
        """A new leader epoch, so that a replica that is gone cannot go on fetching as one."""
        if self.record.leader == NO_LEADER_CHANGE and any(r not in self.replicas for r in self.partition.replicas):
            self.record.leader = self.partition.leader

    def _bump_leader_epoch_for_isr_shrink(self) -> None:
        """Brokers before 3.6 missed a shrunken ISR without it."""
        if not self.context.metadata_version.is_leader_epoch_bump_required_on_isr_shrink:
            return
        isr = self.record.isr
        if self.record.leader == NO_LEADER_CHANGE and isr is not None and any(r not in isr for r in self.partition.isr):
            self.record.leader = self.partition.leader

    def _write_elr(self) -> None:
        """An unclean election makes everybody else's data worthless; they are eligible no more."""
        is_unclean = self.record.isr is not None
        if is_unclean or not self.context.is_elr_enabled:
            self.elr = []
        if tuple(self.elr) != self.partition.elr:
            self.record.eligible_leader_replicas = list(self.elr)

    def _write_isr(self) -> None:
        """Without ELR the last of the ISR stays in it when it dies: it alone may lead again."""
        may_be_empty = bool(self.isr) or self.context.is_elr_enabled
        if self.record.isr is None and may_be_empty and tuple(self.isr) != self.partition.isr:
            self.record.isr = list(self.isr)

    def _write_last_known_leader(self) -> None:
        if not self.context.is_elr_enabled:
            return
        if self.record.leader == NO_LEADER and not self.partition.last_known_elr:
            self.record.last_known_elr = [self.partition.leader]
        elif self.record.leader >= 0 and self.partition.last_known_elr:
            self.record.last_known_elr = []

    def _write_assignment(self) -> None:
        partition, record = self.partition, self.record
        if self.replicas and self.context.metadata_version.is_directory_assignment_supported:
            directories = tuple(self._directory(replica) for replica in self.replicas)
            if directories != partition.directories:
                record.directories = list(directories)
        if self.replicas and tuple(self.replicas) != partition.replicas:
            record.replicas = list(self.replicas)
        if tuple(self.removing) != partition.removing_replicas:
            record.removing_replicas = list(self.removing)
        if tuple(self.adding) != partition.adding_replicas:
            record.adding_replicas = list(self.adding)

    def _directory(self, replica: int) -> bytes:
        if replica in self.change.directories:
            return self.change.directories[replica]
        if replica in self.partition.replicas:
            return self.partition.directory(replica)
        return self.context.default_directory(replica)


def _or(target: list[int] | None, current: Sequence[int]) -> list[int]:
    return list(current) if target is None else list(target)


def _is_empty(record: PartitionChangeRecord) -> bool:
    changes = (record.isr, record.replicas, record.removing_replicas, record.adding_replicas, record.directories)
    others = (record.eligible_leader_replicas, record.last_known_elr)
    return (
        all(change is None for change in (*changes, *others))
        and record.leader == NO_LEADER_CHANGE
        and record.leader_recovery_state < 0
    )
