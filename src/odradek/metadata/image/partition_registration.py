"""Registration of a partition in the metadata log: its replicas, ISR and leader."""

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

#: Tuples in use more than once; dropped all at once when there are too many, which costs memory and nothing else.
_SHARED: dict[Any, Any] = {}
_SHARED_MAX = 1 << 16


class LeaderRecoveryState(IntEnum):
    """RECOVERING: elected without having been in sync; it must recover its log before it is trusted."""

    RECOVERED = 0
    RECOVERING = 1


class PartitionRegistration(NamedTuple):
    """A named tuple: hundreds of thousands may exist, and it is smaller and built faster than a data class."""

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
        """Return the directory of a replica. Raises ValueError if the broker has no replica."""
        return self.directories[self.replicas.index(replica)]

    def merge(self, record: PartitionChangeRecord) -> "PartitionRegistration":
        """Return the partition after the record. A record with a leader, even the same one, bumps the leader epoch."""
        replicas = self.replicas if record.replicas is None else _shared(tuple(record.replicas))
        directories = self.directories if record.directories is None else tuple(record.directories)
        has_leader_change = record.leader != NO_LEADER_CHANGE
        isr = self.isr if record.isr is None else tuple(record.isr)
        return PartitionRegistration(
            replicas=replicas,
            directories=_shared(_directories_of(directories, len(replicas))),
            isr=_shared(isr),
            removing_replicas=_changed(self.removing_replicas, record.removing_replicas),
            adding_replicas=_changed(self.adding_replicas, record.adding_replicas),
            elr=_changed(self.elr, record.eligible_leader_replicas),
            last_known_elr=_changed(self.last_known_elr, record.last_known_elr),
            leader=record.leader if has_leader_change else self.leader,
            leader_recovery_state=(
                self.leader_recovery_state if record.leader_recovery_state < 0 else record.leader_recovery_state
            ),
            leader_epoch=self.leader_epoch + has_leader_change,
            partition_epoch=self.partition_epoch + 1,
        )

    def to_record(self, topic_id: bytes, partition_id: int, options: WriterOptions) -> MetadataRecord:
        version = options.metadata_version
        if not version.is_elr_supported and (self.elr or self.last_known_elr):
            options.lose("eligible leader replicas")
        has_directories = version.is_directory_assignment_supported
        if not has_directories and any(directory != MIGRATING for directory in self.directories):
            options.lose("the directory assignment state of one or more replicas")
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
            directories=list(self.directories) if has_directories else [],
            # Written while there are any, even if the feature was switched off since: a node that loads a snapshot must
            # know the same as one that replayed the log.
            eligible_leader_replicas=(list(self.elr) or None) if version.is_elr_supported else None,
            last_known_elr=(list(self.last_known_elr) or None) if version.is_elr_supported else None,
        )
        return MetadataRecord(record, version.partition_record_version)


def partition_from_record(record: PartitionRecord) -> PartitionRegistration:
    replicas = _shared(tuple(record.replicas))
    return PartitionRegistration(
        replicas,
        _shared(_directories_of(tuple(record.directories), len(replicas))),
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
    """Return one tuple for all that are equal: thousands of partitions have the same replicas, ISR and directories."""
    if len(_SHARED) >= _SHARED_MAX:
        _SHARED.clear()
    shared: Shared = _SHARED.setdefault(values, values)
    return shared


def _changed(current: Ids, change: list[int] | None) -> Ids:
    return current if change is None else tuple(change)


def _directories_of(directories: tuple[bytes, ...], replicas: int) -> tuple[bytes, ...]:
    """Return a directory for each replica; all MIGRATING if the record has none."""
    if len(directories) == replicas:
        return directories
    check(all(directory == MIGRATING for directory in directories), "as many directories as replicas")
    return (MIGRATING,) * replicas
