"""AlterPartition: a leader tells which replicas are in sync, and the controller makes it so.

The request carries the epochs it was decided at; anything decided since makes it void. A replica that is fenced,
stopping, or another incarnation than the leader saw (KIP-903) may not enter the ISR.
"""

from odradek.controller.decision import Decision, Refused
from odradek.controller.partition_change import Election, PartitionChange
from odradek.controller.partition_index import TopicIdPartition
from odradek.controller.replication_state import ReplicationState, TopicState
from odradek.metadata.image.partition_registration import (
    NO_LEADER_CHANGE,
    LeaderRecoveryState,
    PartitionRegistration,
)
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import alter_partition_response as response
from odradek.protocol.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord

_ANY_EPOCH = -1


class IsrControl:
    def __init__(self, state: ReplicationState) -> None:
        self._state = state

    def alter_partition(self, request: AlterPartitionRequest) -> Decision[response.AlterPartitionResponse]:
        self._state.cluster.check_broker_epoch(request.broker_id, request.broker_epoch)
        records: list[MetadataRecord] = []
        topics = []
        seen: dict[TopicIdPartition, None] = {}
        for asked_topic in request.topics:
            topic = self._state.topics.get(asked_topic.topic_id)
            partitions = []
            for asked in asked_topic.partitions:
                key = TopicIdPartition(asked_topic.topic_id, asked.partition_index)
                try:
                    if key in seen:
                        raise Refused(ErrorCode.INVALID_UPDATE_VERSION)  # stale since its first mention
                    seen[key] = None
                    partitions.append(self._alter(request.broker_id, topic, asked, records))
                except Refused as refused:
                    partitions.append(
                        response.PartitionData(partition_index=asked.partition_index, error_code=refused.code)
                    )
            topics.append(response.TopicData(topic_id=asked_topic.topic_id, partitions=partitions))
        return Decision(records, response.AlterPartitionResponse(topics=topics))

    def _alter(
        self, broker_id: int, topic: TopicState | None, asked: PartitionData, records: list[MetadataRecord]
    ) -> response.PartitionData:
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = topic.partitions.get(asked.partition_index)
        if partition is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        isr = _isr_with_epochs(asked)
        self._check(broker_id, partition, asked, isr)
        change = PartitionChange(partition, self._state.context(TopicIdPartition(topic.id, asked.partition_index)))
        change.target_isr = [state.broker_id for state in isr]
        change.target_recovery_state = asked.leader_recovery_state
        if self._state.configuration.is_unclean_election_enabled(topic.name):
            change.election = Election.UNCLEAN
        record = change.build()
        if record is not None:
            records.append(record)
            assert isinstance(record.message, PartitionChangeRecord)
            partition = partition.merge(record.message)
            if record.message.leader not in (broker_id, NO_LEADER_CHANGE):
                # The change ended a reassignment and, with it, the asker's leadership.
                raise Refused(ErrorCode.NEW_LEADER_ELECTED)
        return response.PartitionData(
            partition_index=asked.partition_index,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            isr=list(partition.isr),
            leader_recovery_state=partition.leader_recovery_state,
            partition_epoch=partition.partition_epoch,
        )

    def _check(
        self, broker_id: int, partition: PartitionRegistration, asked: PartitionData, isr: list[BrokerState]
    ) -> None:
        if asked.leader_epoch > partition.leader_epoch or asked.partition_epoch > partition.partition_epoch:
            raise Refused(ErrorCode.NOT_CONTROLLER)  # a newer controller has decided what this one does not know
        if asked.leader_epoch < partition.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        if broker_id != partition.leader:
            raise Refused(ErrorCode.INVALID_REQUEST)
        if asked.partition_epoch < partition.partition_epoch:
            raise Refused(ErrorCode.INVALID_UPDATE_VERSION)
        ids = [state.broker_id for state in isr]
        proper = ids and len(dict.fromkeys(ids)) == len(ids) and all(i in partition.replicas for i in ids)
        if not proper or partition.leader not in ids:
            raise Refused(ErrorCode.INVALID_REQUEST)
        recovering = asked.leader_recovery_state == LeaderRecoveryState.RECOVERING
        if recovering and (len(ids) > 1 or partition.leader_recovery_state == LeaderRecoveryState.RECOVERED):
            raise Refused(ErrorCode.INVALID_REQUEST)
        if not all(self._is_eligible(state) for state in isr):
            raise Refused(ErrorCode.INELIGIBLE_REPLICA)

    def _is_eligible(self, state: BrokerState) -> bool:
        broker = self._state.cluster.brokers.get(state.broker_id)
        if broker is None or not broker.is_active:
            return False
        return state.broker_epoch in (_ANY_EPOCH, broker.epoch)


def _isr_with_epochs(asked: PartitionData) -> list[BrokerState]:
    """Before v3 the request had ids only."""
    return asked.new_isr_with_epochs or [BrokerState(broker_id=broker_id) for broker_id in asked.new_isr]
