"""AlterPartition: a leader requests a new ISR, and the controller writes it.

The request carries the epochs on which it is based; any change since then makes it invalid. A replica that is fenced,
stopping, or of another incarnation than the leader saw (KIP-903) may not enter the ISR.
"""

from odradek.controller.cluster_control import ClusterControl
from odradek.controller.configuration_control import ConfigurationControl
from odradek.controller.decision import ControllerDecision, RequestRejected
from odradek.controller.partition_change_builder import PartitionTargets, partition_change_record
from odradek.controller.partition_contexts import PartitionContexts
from odradek.controller.partition_index import TopicIdPartition
from odradek.controller.rules.election import Election
from odradek.controller.topic_registry import TopicRegistry, TopicState
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
    def __init__(
        self,
        registry: TopicRegistry,
        cluster: ClusterControl,
        configuration: ConfigurationControl,
        contexts: PartitionContexts,
    ) -> None:
        self._registry = registry
        self._cluster = cluster
        self._configuration = configuration
        self._contexts = contexts

    def alter_partition(self, request: AlterPartitionRequest) -> ControllerDecision[response.AlterPartitionResponse]:
        self._cluster.check_broker_epoch(request.broker_id, request.broker_epoch)
        records: list[MetadataRecord] = []
        topics = []
        seen: dict[TopicIdPartition, None] = {}
        for topic_data in request.topics:
            topic = self._registry.topics.get(topic_data.topic_id)
            partitions = []
            for target in topic_data.partitions:
                key = TopicIdPartition(topic_data.topic_id, target.partition_index)
                try:
                    if key in seen:
                        raise RequestRejected(ErrorCode.INVALID_UPDATE_VERSION)  # stale since its first mention
                    seen[key] = None
                    partitions.append(self._alter(request.broker_id, topic, target, records))
                except RequestRejected as rejection:
                    partitions.append(
                        response.PartitionData(partition_index=target.partition_index, error_code=rejection.code)
                    )
            topics.append(response.TopicData(topic_id=topic_data.topic_id, partitions=partitions))
        return ControllerDecision(records, response.AlterPartitionResponse(topics=topics))

    def _alter(
        self, broker_id: int, topic: TopicState | None, target: PartitionData, records: list[MetadataRecord]
    ) -> response.PartitionData:
        if topic is None:
            raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = topic.partitions.get(target.partition_index)
        if partition is None:
            raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        isr = _isr_with_epochs(target)
        self._check(broker_id, partition, target, isr)
        context = self._contexts.context(TopicIdPartition(topic.id, target.partition_index))
        targets = PartitionTargets(isr=[state.broker_id for state in isr], recovery_state=target.leader_recovery_state)
        unclean = self._configuration.is_unclean_election_enabled(topic.name)
        election = Election.UNCLEAN if unclean else Election.ONLINE
        record = partition_change_record(partition, context, targets, election)
        if record is not None:
            records.append(record)
            assert isinstance(record.message, PartitionChangeRecord)
            partition = partition.merge(record.message)
            if record.message.leader not in (broker_id, NO_LEADER_CHANGE):
                # The change completed a reassignment that took the leadership from the sender.
                raise RequestRejected(ErrorCode.NEW_LEADER_ELECTED)
        return response.PartitionData(
            partition_index=target.partition_index,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            isr=list(partition.isr),
            leader_recovery_state=partition.leader_recovery_state,
            partition_epoch=partition.partition_epoch,
        )

    def _check(
        self, broker_id: int, partition: PartitionRegistration, target: PartitionData, isr: list[BrokerState]
    ) -> None:
        if target.leader_epoch > partition.leader_epoch or target.partition_epoch > partition.partition_epoch:
            raise RequestRejected(ErrorCode.NOT_CONTROLLER)  # based on a decision of a newer controller
        if target.leader_epoch < partition.leader_epoch:
            raise RequestRejected(ErrorCode.FENCED_LEADER_EPOCH)
        if broker_id != partition.leader:
            raise RequestRejected(ErrorCode.INVALID_REQUEST)
        if target.partition_epoch < partition.partition_epoch:
            raise RequestRejected(ErrorCode.INVALID_UPDATE_VERSION)
        ids = [state.broker_id for state in isr]
        is_well_formed = ids and len(dict.fromkeys(ids)) == len(ids) and all(i in partition.replicas for i in ids)
        if not is_well_formed or partition.leader not in ids:
            raise RequestRejected(ErrorCode.INVALID_REQUEST)
        recovering = target.leader_recovery_state == LeaderRecoveryState.RECOVERING
        if recovering and (len(ids) > 1 or partition.leader_recovery_state == LeaderRecoveryState.RECOVERED):
            raise RequestRejected(ErrorCode.INVALID_REQUEST)
        if not all(self._is_eligible(state) for state in isr):
            raise RequestRejected(ErrorCode.INELIGIBLE_REPLICA)

    def _is_eligible(self, state: BrokerState) -> bool:
        broker = self._cluster.brokers.get(state.broker_id)
        if broker is None or not broker.is_active:
            return False
        return state.broker_epoch in (_ANY_EPOCH, broker.epoch)


def _isr_with_epochs(target: PartitionData) -> list[BrokerState]:
    """Return the requested ISR; the request had only ids before v3."""
    return target.new_isr_with_epochs or [BrokerState(broker_id=broker_id) for broker_id in target.new_isr]
