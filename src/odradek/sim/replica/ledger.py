"""Invariants of replicas, checked after every step of every broker.

* **One leader an epoch.** Two brokers never append in the same leader epoch.
* **The high watermark is held.** A leader's high watermark is not above the log end of any member of the ISR that it
  counts, unless that member has lost its disk.
* **What was shown stays.** No replica cuts its log below a high watermark that it has shown.
* **One history.** Below the high watermark all replicas have the same batches, byte for byte.
* **What was acknowledged survives.** Every append that was acknowledged with `acks` all lies below the log end of every
  member of the ISR and of the ELR whose disk was not lost, and is in the one history at its offset.

A broker whose power went counts as one that has lost its disk, until it has registered anew, was out of ISR and ELR
then, and is in again: nobody may rely on it before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from odradek.common.ids import TopicPartition
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.records.batch import read_batches
from odradek.replica.partition import Partition
from odradek.replica.partition_leader import PartitionLeader
from odradek.sim.world.results import ensure

_READ_BYTES = 1 << 20


@dataclass(slots=True)
class _Seen:
    """One replica: up to where its log has been compared, the largest high watermark that it has shown, its end."""

    compared: int = 0
    exposed: int = 0
    end_offset: int = 0


@dataclass(slots=True)
class _Lost:
    """A broker that has lost its disk: in which registration, and whether a later one has been out of the ISR."""

    broker_epoch: int
    was_out: bool = False


@dataclass(slots=True)
class _Acked:
    offset: int
    value: bytes


@dataclass(slots=True)
class PartitionLedger:
    tp: TopicPartition
    #: The one history: batches by base offset, and where it ends.
    history: dict[int, bytes] = field(default_factory=dict)
    history_end: int = 0
    seen: dict[int, _Seen] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)
    acked: list[_Acked] = field(default_factory=list)
    acked_end: int = 0
    #: Brokers that have lost their disk since they came into the ISR.
    damaged: dict[int, _Lost] = field(default_factory=dict)
    registration: PartitionRegistration | None = None

    def replica(self, broker_id: int) -> _Seen:
        return self.seen.setdefault(broker_id, _Seen())

    # -- what happens

    def note_acked(self, offset: int, value: bytes) -> None:
        self.acked.append(_Acked(offset, value))
        self.acked_end = max(self.acked_end, offset + 1)
        self.check_keepers()

    def note_power_lost(self, broker_id: int, broker_epoch: int) -> None:
        self.damaged[broker_id] = _Lost(broker_epoch)
        self.seen[broker_id] = _Seen()

    def note_registration(self, registration: PartitionRegistration, broker_epochs: dict[int, int]) -> None:
        """Record a decision of the controller, committed or not."""
        self.registration = registration
        keepers = self.members()
        for broker_id, lost in list(self.damaged.items()):
            if broker_id in keepers:
                if lost.was_out:
                    del self.damaged[broker_id]
            elif broker_epochs.get(broker_id, -1) > lost.broker_epoch:
                lost.was_out = True
        self.check_keepers()

    def members(self) -> tuple[int, ...]:
        """Return the replicas that must have all acknowledged records."""
        registration = self.registration
        if registration is None:
            return ()
        return tuple(dict.fromkeys((*registration.isr, *registration.elr))) or registration.last_known_elr

    def keepers(self) -> list[int]:
        """Return the members that have not lost their disk."""
        return [member for member in self.members() if member not in self.damaged]

    @property
    def counts_on_damaged(self) -> bool:
        """The controller does not know yet that a member has lost its disk."""
        return len(self.keepers()) < len(self.members())

    # -- what must hold

    def check_keepers(self) -> None:
        for broker_id in self.members():
            if broker_id not in self.damaged:
                end_offset = self.replica(broker_id).end_offset
                ensure(
                    end_offset >= self.acked_end,
                    f"{self.tp}: broker {broker_id} of isr or elr {self.members()} ends at {end_offset}, but what is "
                    f"acknowledged at {self.acked_end}",
                )

    def check(self, broker_id: int, partition: Partition) -> None:
        """After each step of a broker."""
        log = partition.log
        if log is None or log.health.fault is not None:
            return
        seen = self.replica(broker_id)
        end_offset, high_watermark = log.offsets.log_end_offset, log.offsets.high_watermark
        if end_offset != seen.end_offset:
            seen.end_offset = end_offset
            ensure(
                end_offset >= seen.exposed,
                f"{self.tp}: broker {broker_id} has truncated its log to {end_offset}, below the high watermark "
                f"{seen.exposed} that it had exposed",
            )
        role = partition.role
        if isinstance(role, PartitionLeader):
            leader = self.leaders.setdefault(partition.leader_epoch, broker_id)
            ensure(
                leader == broker_id,
                f"{self.tp}: brokers {leader} and {broker_id} both lead in epoch {partition.leader_epoch}",
            )
            if high_watermark > seen.exposed:
                self._check_held(broker_id, role, high_watermark)
        seen.exposed = max(seen.exposed, high_watermark)
        if high_watermark > seen.compared:
            self._compare(broker_id, log, seen)

    def _check_held(self, broker_id: int, leader: PartitionLeader, high_watermark: int) -> None:
        for member in leader.isr_state.isr:
            if member != broker_id and member not in self.damaged:
                end_offset = self.replica(member).end_offset
                ensure(
                    high_watermark <= end_offset,
                    f"{self.tp}: leader {broker_id} has high watermark {high_watermark}, but {member} of its isr "
                    f"{leader.isr_state.isr} ends at {end_offset}",
                )

    def _compare(self, broker_id: int, log: UnifiedLog, seen: _Seen) -> None:
        offset, limit = max(seen.compared, log.offsets.log_start_offset), log.offsets.high_watermark
        while offset < limit:
            data = log.reader.fetch(log.reader.read(offset, _READ_BYTES, Isolation.HIGH_WATERMARK))
            for batch in read_batches(data):
                if batch.last_offset < offset or batch.last_offset >= limit:
                    continue
                self._compare_batch(broker_id, batch.base_offset, batch.last_offset, bytes(batch.buffer))
                offset = batch.last_offset + 1
            if batch.last_offset >= limit:
                break
        seen.compared = offset

    def _compare_batch(self, broker_id: int, base_offset: int, last_offset: int, content: bytes) -> None:
        content_in_history = self.history.get(base_offset)
        if content_in_history is None:
            ensure(
                base_offset >= self.history_end,
                f"{self.tp}: broker {broker_id} has a batch at {base_offset} that is not in the history",
            )
            self.history[base_offset] = content
            self.history_end = last_offset + 1
        ensure(
            content_in_history is None or content_in_history == content,
            f"{self.tp}: broker {broker_id} has another batch at {base_offset} than the history",
        )

    def check_acked(self) -> None:
        """At the end, when everything is below the high watermark."""
        values: dict[int, bytes] = {}
        for content in self.history.values():
            for batch in read_batches(content):
                values |= {record.offset: bytes(record.value or b"") for record in batch.records()}
        for acked in self.acked:
            ensure(
                values.get(acked.offset) == acked.value,
                f"{self.tp}: {acked.value!r} was acknowledged at {acked.offset}, where {values.get(acked.offset)!r} is",
            )
