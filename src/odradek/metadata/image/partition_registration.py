"""One partition as the metadata log has it: who holds it, who is in sync, who leads."""

from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from odradek.common.failures import check
from odradek.metadata.image.directory_id import MIGRATING
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.partition_record import PartitionRecord

NO_LEADER = -1
NO_LEADER_CHANGE = -2

Ids = tuple[int, ...]

Shared = TypeVar("Shared", bound=tuple[object, ...])

#: Tuples in use more than once; forgotten all at once when there are too many, which costs memory and nothing else.
_SHARED: dict[Any, Any] = {}
_SHARED_MAX = 1 << 16


class LeaderRecoveryState(IntEnum):
    """RECOVERING: elected without having been in sync; it must look over its log before it is trusted."""

    RECOVERED = 0
    RECOVERING = 1


class PartitionRegistration(NamedTuple):
    """A named tuple because there may be hundreds of thousands: made in half the time of a data class, and smaller."""

    replicas: Ids
    directories: tuple[bytes, ...]
    isr: Ids
    removing_replicas: Ids
    adding_replicas: Ids
    elr: Ids
    last_known_elr: Ids
    leader: int
    leader_recovery_state: int
    leader_epoch: int
    partition_epoch: int

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def preferred_replica(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding_replicas or self.removing_replicas)

    def directory(self, replica: int) -> bytes:
        """ValueError if the broker holds no replica."""
        return self.directories[self.replicas.index(replica)]

    def merge(self, record: PartitionChangeRecord) -> "PartitionRegistration":
        """The partition after the record; a new leader, even the same one, makes a new leader epoch."""
        replicas = self.replicas if record.replicas is None else _shared(tuple(record.replicas))
        directories = self.directories if record.directories is None else tuple(record.directories)
        has_leader_change = record.leader != NO_LEADER_CHANGE
        isr = self.isr if record.isr is None else tuple(record.isr)
        elr, last_known = record.eligible_leader_replicas, record.last_known_elr
        return PartitionRegistration(
            replicas=replicas,
            directories=_shared(_known_directories(directories, len(replicas))),
            isr=_shared(isr),
            removing_replicas=_changed(self.removing_replicas, record.removing_replicas),
            adding_replicas=_changed(self.adding_replicas, record.adding_replicas),
            elr=_changed(self.elr, elr),
            last_known_elr=_changed(self.last_known_elr, last_known),
            leader=record.leader if has_leader_change else self.leader,
            leader_recovery_state=(
                self.leader_recovery_state if record.leader_recovery_state < 0 else record.leader_recovery_state
            ),
            leader_epoch=self.leader_epoch + has_leader_change,
            partition_epoch=self.partition_epoch + 1,
        )

    def to_record(self, topic_id: bytes, partition_id: int, options: WriterOptions) -> MetadataRecord:
        record = PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing_replicas),
            adding_replicas=list(self.adding_replicas),
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
        )
        version = options.metadata_version
        if version.is_elr_supported:
            # Written while there are any, even if the feature was switched off since: who loads a snapshot must know
            # what those know who replayed the log.
            record.eligible_leader_replicas = list(self.elr) or None
            record.last_known_elr = list(self.last_known_elr) or None
        elif self.elr or self.last_known_elr:
            options.lose("eligible leader replicas")
        if version.is_directory_assignment_supported:
            record.directories = list(self.directories)
        elif any(directory != MIGRATING for directory in self.directories):
            options.lose("the directory assignment state of one or more replicas")
        return MetadataRecord(record, version.partition_record_version)


def partition_from_record(record: PartitionRecord) -> PartitionRegistration:
    replicas = _shared(tuple(record.replicas))
    return PartitionRegistration(
        replicas,
        _shared(_known_directories(tuple(record.directories), len(replicas))),
        replicas if record.isr == record.replicas else _shared(tuple(record.isr)),
        tuple(record.removing_replicas),
        tuple(record.adding_replicas),
        tuple(record.eligible_leader_replicas or ()),
        tuple(record.last_known_elr or ()),
        record.leader,
        record.leader_recovery_state,
        record.leader_epoch,
        record.partition_epoch,
    )


def _shared(values: Shared) -> Shared:
    """The same tuple for the same values: thousands of partitions have the same replicas, ISR and directories."""
    if len(_SHARED) >= _SHARED_MAX:
        _SHARED.clear()
    found: Shared = _SHARED.setdefault(values, values)
    return found


def _changed(current: Ids, change: list[int] | None) -> Ids:
    return current if change is None else tuple(change)


def _known_directories(directories: tuple[bytes, ...], replicas: int) -> tuple[bytes, ...]:
    """One for each replica; all unknown if the record did not say any."""
    if len(directories) == replicas:
        return directories
    check(all(directory == MIGRATING for directory in directories), "as many directories as replicas")
    return (MIGRATING,) * replicas
