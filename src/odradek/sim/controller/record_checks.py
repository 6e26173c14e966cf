"""Invariants of the records that a controller writes, checked against a model that only reads the log."""

from collections.abc import Sequence

from odradek.controller.controls import Controls
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.record_types import MetadataRecordType as RecordType
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.producer_ids_record import ProducerIdsRecord
from odradek.sim.world.results import ensure

#: Types of records after which a partition may have another leader, or a broker another state.
_TYPES_OF_LEADERSHIP = (
    RecordType.REGISTER_BROKER_RECORD,
    RecordType.UNREGISTER_BROKER_RECORD,
    RecordType.PARTITION_RECORD,
    RecordType.PARTITION_CHANGE_RECORD,
    RecordType.FENCE_BROKER_RECORD,
    RecordType.BROKER_REGISTRATION_CHANGE_RECORD,
)


class RecordChecker:
    """Replays each record and checks the state that it changed."""

    def __init__(self, controls: Controls) -> None:
        self.controls = controls
        self._epochs: dict[tuple[bytes, int], tuple[int, int]] = {}

    def check(self, records: Sequence[MetadataRecord], base_offset: int, proposed_isr: Sequence[int]) -> None:
        """Check records. `proposed_isr` are replicas that the leader has just declared to be in sync."""
        for index, (message, _) in enumerate(records):
            previous = None
            if isinstance(message, PartitionChangeRecord):
                topic = self.controls.registry.topics.get(message.topic_id)
                previous = None if topic is None else topic.partitions.get(message.partition_id)
            if isinstance(message, ProducerIdsRecord):
                ensure(message.next_producer_id > self.controls.producer_ids.next_id, "producer ids went back")
            self.controls.replay(message, base_offset + index)
            if isinstance(message, PartitionChangeRecord) and previous is not None:
                self._check_change(message, previous, proposed_isr)
            self._check_leaders(message.API_KEY)

    def _check_change(
        self, message: PartitionChangeRecord, previous: PartitionRegistration, proposed_isr: Sequence[int]
    ) -> None:
        topic = self.controls.registry.topics[message.topic_id]
        updated = topic.partitions[message.partition_id]
        change = f"{topic.name}-{message.partition_id}: {previous} -> {updated}"
        ensure(updated.leader_epoch >= previous.leader_epoch, f"the leader epoch went back: {change}")
        ensure(updated.partition_epoch > previous.partition_epoch, f"the partition epoch did not grow: {change}")
        ensure(
            previous.leader == updated.leader or updated.leader_epoch > previous.leader_epoch, f"no new epoch: {change}"
        )
        if updated.leader >= 0 and updated.leader != previous.leader:
            is_clean = updated.leader in (*previous.isr, *previous.elr, *proposed_isr)
            may_be_unclean = self.controls.configuration.is_unclean_election_enabled(topic.name)
            last_known = not previous.elr and previous.last_known_elr == (updated.leader,)
            ensure(is_clean or may_be_unclean or last_known, f"an unclean election that is not allowed: {change}")
            ensure(
                is_clean or updated.leader_recovery_state == 1,
                f"an unclean leader that does not have to recover: {change}",
            )

    def _check_leaders(self, record_type: int) -> None:
        """Check all partitions after every single record: a prefix of a batch must be consistent, too."""
        if record_type not in _TYPES_OF_LEADERSHIP:
            return
        cluster = self.controls.cluster
        for topic in self.controls.registry.topics.values():
            for index, p in topic.partitions.items():
                change = f"{topic.name}-{index}: {p}"
                key = (topic.id, index)
                leader_epoch, partition_epoch = self._epochs.get(key, (-1, -1))
                ensure(p.leader_epoch >= leader_epoch and p.partition_epoch >= partition_epoch, f"epochs: {change}")
                self._epochs[key] = (p.leader_epoch, p.partition_epoch)
                ensure(all(replica in p.replicas for replica in (*p.isr, *p.elr)), f"isr beyond replicas: {change}")
                ensure(not any(replica in p.isr for replica in p.elr), f"isr and elr overlap: {change}")
                ensure(len(p.directories) == len(p.replicas), f"directories: {change}")
                ensure(len(dict.fromkeys(p.replicas)) == len(p.replicas), f"a duplicate replica: {change}")
                if p.leader >= 0:
                    ensure(p.leader in p.isr, f"a leader outside the isr: {change}")
                    broker = cluster.brokers.get(p.leader)
                    ensure(broker is not None and not broker.fenced, f"a fenced broker leads: {change}")
