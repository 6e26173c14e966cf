"""What must hold of every record that a controller writes, checked against a model that only reads the log."""

from collections.abc import Sequence

from odradek.controller.controls import Controls
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.producer_ids_record import ProducerIdsRecord


class Violation(AssertionError):
    pass


def ensure(condition: bool, message: str) -> None:
    if not condition:
        raise Violation(message)


class RecordChecker:
    """Replays each record and looks at what it touched."""

    def __init__(self, controls: Controls) -> None:
        self.controls = controls
        self._epochs: dict[tuple[bytes, int], tuple[int, int]] = {}

    def check(self, records: Sequence[MetadataRecord], base_offset: int, proposed_isr: Sequence[int]) -> None:
        """`proposed_isr`: replicas that the leader itself has just declared to be in sync."""
        for index, (message, _) in enumerate(records):
            before = None
            if isinstance(message, PartitionChangeRecord):
                topic = self.controls.registry.topics.get(message.topic_id)
                before = None if topic is None else topic.partitions.get(message.partition_id)
            if isinstance(message, ProducerIdsRecord):
                ensure(message.next_producer_id > self.controls.producer_ids.next_id, "producer ids went back")
            self.controls.replay(message, base_offset + index)
            if isinstance(message, PartitionChangeRecord) and before is not None:
                self._check_change(message, before, proposed_isr)
            self._check_leaders(message.API_KEY)

    def _check_change(
        self, message: PartitionChangeRecord, before: PartitionRegistration, proposed_isr: Sequence[int]
    ) -> None:
        topic = self.controls.registry.topics[message.topic_id]
        after = topic.partitions[message.partition_id]
        where = f"{topic.name}-{message.partition_id}: {before} -> {after}"
        ensure(after.leader_epoch >= before.leader_epoch, f"the leader epoch went back: {where}")
        ensure(after.partition_epoch > before.partition_epoch, f"the partition epoch did not grow: {where}")
        ensure(before.leader == after.leader or after.leader_epoch > before.leader_epoch, f"no new epoch: {where}")
        if after.leader >= 0 and after.leader != before.leader:
            is_clean = after.leader in (*before.isr, *before.elr, *proposed_isr)
            may = self.controls.configuration.is_unclean_election_enabled(topic.name)
            last_known = not before.elr and before.last_known_elr == (after.leader,)
            ensure(is_clean or may or last_known, f"an unclean election where none is allowed: {where}")
            ensure(is_clean or after.leader_recovery_state == 1, f"an unclean leader that need not recover: {where}")

    def _check_leaders(self, key: int) -> None:
        """After every single record: whoever reads a beginning of a batch must not be misled."""
        if key not in (1, 3, 5, 7, 17, 0):
            return
        cluster = self.controls.cluster
        for topic in self.controls.registry.topics.values():
            for number, p in topic.partitions.items():
                where = f"{topic.name}-{number}: {p}"
                key_ = (topic.id, number)
                leader_epoch, partition_epoch = self._epochs.get(key_, (-1, -1))
                ensure(p.leader_epoch >= leader_epoch and p.partition_epoch >= partition_epoch, f"epochs: {where}")
                self._epochs[key_] = (p.leader_epoch, p.partition_epoch)
                ensure(all(replica in p.replicas for replica in (*p.isr, *p.elr)), f"isr beyond replicas: {where}")
                ensure(not any(replica in p.isr for replica in p.elr), f"isr and elr overlap: {where}")
                ensure(len(p.directories) == len(p.replicas), f"directories: {where}")
                ensure(len(dict.fromkeys(p.replicas)) == len(p.replicas), f"a replica twice: {where}")
                if p.leader >= 0:
                    ensure(p.leader in p.isr, f"a leader outside the isr: {where}")
                    broker = cluster.brokers.get(p.leader)
                    ensure(broker is not None and not broker.fenced, f"a fenced broker leads: {where}")
