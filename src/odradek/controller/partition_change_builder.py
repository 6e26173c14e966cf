"""Change of one partition: targets in, one PartitionChangeRecord out, or none if nothing changes.

The order of the steps matters. A reassignment whose replicas are all in sync is completed first. Then the eligible
leader replicas follow from the ISR (KIP-966), and a leader is elected among the rest. The differences go into the
record. After an unclean election the partition is RECOVERING until its new leader reports that it has recovered.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from odradek.controller.rules.election import (
    Election,
    ElectionCandidates,
    completed_reassignment,
    eligible_leader_replicas,
)
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.partition_registration import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    LeaderRecoveryState,
    PartitionRegistration,
)
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord

_NO_RECOVERY_STATE_CHANGE = -1


@dataclass(frozen=True, slots=True)
class PartitionContext:
    """State of the cluster that a change of a partition depends on."""

    topic_id: bytes
    partition_id: int
    #: Returns whether a broker is alive, not stopping, and has the replica's directory online.
    is_acceptable_leader: Callable[[int], bool]
    metadata_version: MetadataVersion
    #: `min.insync.replicas` of the topic, at most its replication factor.
    min_isr: int
    is_elr_enabled: bool
    #: Returns the directory for a new replica on a broker.
    default_directory: Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class PartitionTargets:
    """Targets that differ from the partition as it is; None keeps the current value."""

    isr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    removing: Sequence[int] | None = None
    adding: Sequence[int] | None = None
    recovery_state: int | None = None
    #: New directories of some replicas.
    directories: Mapping[int, bytes] = field(default_factory=dict)
    #: Replicas that lost unflushed records: they are not eligible.
    unclean_shutdown_replicas: Sequence[int] = ()


NO_TARGETS = PartitionTargets()


def partition_change_record(
    partition: PartitionRegistration,
    context: PartitionContext,
    targets: PartitionTargets = NO_TARGETS,
    election: Election = Election.ONLINE,
) -> MetadataRecord | None:
    """Return the record that changes the partition to the targets; None if nothing changes."""
    return PartitionChangeBuilder(partition, context, targets, election).build()


class PartitionChangeBuilder:
    """Works out the new values step by step. Fields with `new_` are None unless the record sets them."""

    def __init__(
        self, partition: PartitionRegistration, context: PartitionContext, targets: PartitionTargets, election: Election
    ) -> None:
        self.partition, self.context, self.targets, self.election = partition, context, targets, election
        self.isr = _target_or(targets.isr, partition.isr)
        self.replicas = _target_or(targets.replicas, partition.replicas)
        self.removing = _target_or(targets.removing, partition.removing_replicas)
        self.adding = _target_or(targets.adding, partition.adding_replicas)
        self.elr = list(partition.elr)
        self.new_leader = NO_LEADER_CHANGE
        self.new_recovery_state = _NO_RECOVERY_STATE_CHANGE
        self.new_isr: list[int] | None = None
        self.new_elr: list[int] | None = None
        self.new_last_known_elr: list[int] | None = None

    def build(self) -> MetadataRecord | None:
        self._complete_reassignment()
        self._update_elr()
        self._elect()
        self._bump_leader_epoch_for_removed_replicas()
        self._set_elr()
        self._set_isr()
        self._bump_leader_epoch_for_isr_shrink()
        self._set_last_known_leader()
        recovery = self.targets.recovery_state
        if recovery is not None and recovery != self.partition.leader_recovery_state:
            self.new_recovery_state = recovery
        partition = self.partition
        record = PartitionChangeRecord(
            topic_id=self.context.topic_id,
            partition_id=self.context.partition_id,
            isr=self.new_isr,
            leader=self.new_leader,
            replicas=_changed(self.replicas, partition.replicas) if self.replicas else None,
            removing_replicas=_changed(self.removing, partition.removing_replicas),
            adding_replicas=_changed(self.adding, partition.adding_replicas),
            leader_recovery_state=self.new_recovery_state,
            directories=self._new_directories(),
            eligible_leader_replicas=self.new_elr,
            last_known_elr=self.new_last_known_elr,
        )
        if _is_empty(record):
            return None
        return MetadataRecord(record, self.context.metadata_version.partition_change_record_version)

    def _complete_reassignment(self) -> None:
        completed = completed_reassignment(self.replicas, self.removing, self.adding, self.isr)
        if completed is not None:
            self.replicas, self.isr = completed.replicas, completed.isr
            self.removing, self.adding = [], []

    def _update_elr(self) -> None:
        if self.context.is_elr_enabled:
            self.elr = eligible_leader_replicas(
                (*self.elr, *self.partition.isr),
                self.replicas,
                self.isr,
                self.context.min_isr,
                self.targets.unclean_shutdown_replicas,
            )

    def _elect(self) -> None:
        candidates = ElectionCandidates(
            leader=self.partition.leader,
            replicas=self.replicas,
            isr=self.isr,
            elr=self.elr,
            last_known_elr=self.partition.last_known_elr,
            is_elr_enabled=self.context.is_elr_enabled,
            is_acceptable=self.context.is_acceptable_leader,
        )
        elected = candidates.elect(self.election)
        if elected.leader == self.partition.leader:
            return
        if elected.leader in self.elr:
            self.isr = [elected.leader]
            self.elr.remove(elected.leader)
        self.new_leader = elected.leader
        if elected.is_unclean:
            # The others may have records that the new leader lacks: they must truncate to it before they are in sync.
            self.new_isr = [elected.leader]
            if self.partition.leader_recovery_state != LeaderRecoveryState.RECOVERING:
                self.new_recovery_state = int(LeaderRecoveryState.RECOVERING)

    def _bump_leader_epoch_for_removed_replicas(self) -> None:
        """Bump the leader epoch, so that a removed replica cannot go on fetching as a follower."""
        if self.new_leader == NO_LEADER_CHANGE and any(r not in self.replicas for r in self.partition.replicas):
            self.new_leader = self.partition.leader

    def _bump_leader_epoch_for_isr_shrink(self) -> None:
        """Bump the leader epoch for brokers before 3.6, which miss a smaller ISR without it."""
        if not self.context.metadata_version.is_leader_epoch_bump_required_on_isr_shrink:
            return
        isr = self.new_isr
        if self.new_leader == NO_LEADER_CHANGE and isr is not None and any(r not in isr for r in self.partition.isr):
            self.new_leader = self.partition.leader

    def _set_elr(self) -> None:
        """Set the ELR if it changed. After an unclean election no other replica is eligible."""
        is_unclean = self.new_isr is not None
        if is_unclean or not self.context.is_elr_enabled:
            self.elr = []
        self.new_elr = _changed(self.elr, self.partition.elr)

    def _set_isr(self) -> None:
        """Set the ISR if it changed. Without ELR the last member stays in it when it dies: only it may lead again."""
        may_be_empty = bool(self.isr) or self.context.is_elr_enabled
        if self.new_isr is None and may_be_empty:
            self.new_isr = _changed(self.isr, self.partition.isr)

    def _set_last_known_leader(self) -> None:
        if not self.context.is_elr_enabled:
            return
        if self.new_leader == NO_LEADER and not self.partition.last_known_elr:
            self.new_last_known_elr = [self.partition.leader]
        elif self.new_leader >= 0 and self.partition.last_known_elr:
            self.new_last_known_elr = []

    def _new_directories(self) -> list[bytes] | None:
        if not self.replicas or not self.context.metadata_version.is_directory_assignment_supported:
            return None
        directories = [self._directory(replica) for replica in self.replicas]
        return None if tuple(directories) == self.partition.directories else directories

    def _directory(self, replica: int) -> bytes:
        if replica in self.targets.directories:
            return self.targets.directories[replica]
        if replica in self.partition.replicas:
            return self.partition.directory(replica)
        return self.context.default_directory(replica)


def _target_or(target: Sequence[int] | None, current: Sequence[int]) -> list[int]:
    return list(current) if target is None else list(target)


def _changed(replicas: list[int], current: tuple[int, ...]) -> list[int] | None:
    """Return a copy for the record; None if nothing changed."""
    return None if tuple(replicas) == current else list(replicas)


def _is_empty(record: PartitionChangeRecord) -> bool:
    changes = (record.isr, record.replicas, record.removing_replicas, record.adding_replicas, record.directories)
    others = (record.eligible_leader_replicas, record.last_known_elr)
    return (
        all(change is None for change in (*changes, *others))
        and record.leader == NO_LEADER_CHANGE
        and record.leader_recovery_state < 0
    )
