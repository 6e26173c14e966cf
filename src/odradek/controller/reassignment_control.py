"""Reassignment of replicas to other brokers (KIP-455), and to other directories of a broker (KIP-858).

A reassignment starts by adding the new replicas to the old ones. It is completed when the new ones are in sync
(`partition_change_builder`), and can be cancelled until then.
"""

from odradek.controller.cluster_control import ClusterControl
from odradek.controller.configuration_control import ConfigurationControl
from odradek.controller.decision import SUCCESS, ControllerDecision, RequestRejected, item_result
from odradek.controller.feature_control import FeatureControl
from odradek.controller.partition_change_builder import PartitionTargets, partition_change_record
from odradek.controller.partition_contexts import PartitionContexts
from odradek.controller.partition_index import TopicIdPartition
from odradek.controller.rules.election import Election
from odradek.controller.topic_registry import TopicRegistry, TopicState
from odradek.metadata.image.partition_registration import LeaderRecoveryState, PartitionRegistration
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import assign_replicas_to_dirs_response as assigned
from odradek.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
)
from odradek.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from odradek.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from odradek.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from odradek.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


class ReassignmentControl:
    def __init__(
        self,
        registry: TopicRegistry,
        cluster: ClusterControl,
        configuration: ConfigurationControl,
        features: FeatureControl,
        contexts: PartitionContexts,
    ) -> None:
        self._registry = registry
        self._cluster = cluster
        self._configuration = configuration
        self._features = features
        self._contexts = contexts

    def alter(
        self, request: AlterPartitionReassignmentsRequest
    ) -> ControllerDecision[AlterPartitionReassignmentsResponse]:
        allow_change = request.allow_replication_factor_change
        records: list[MetadataRecord] = []
        responses = []
        seen: dict[tuple[str, int], None] = {}
        for topic in request.topics:
            partitions = []
            for target in topic.partitions:
                result = SUCCESS
                try:
                    _check_once(seen, topic.name, target.partition_index)
                    record = self._alter_partition(topic.name, target, allow_change)
                    records += [] if record is None else [record]
                except RequestRejected as rejection:
                    result = item_result(rejection)
                partitions.append(
                    ReassignablePartitionResponse(
                        partition_index=target.partition_index, error_code=result.code, error_message=result.message
                    )
                )
            responses.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
        response = AlterPartitionReassignmentsResponse(
            # As in Kafka, which does not process a request without topics.
            error_message=None if request.topics else "",
            allow_replication_factor_change=allow_change,
            responses=responses,
        )
        return ControllerDecision(records, response, is_atomic=True)

    def list_ongoing(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        requested: dict[str, list[int]] = {}
        if request.topics is None:
            for topic_id, partition_id in self._registry.index.reassigning:
                requested.setdefault(self._registry.topics[topic_id].name, []).append(partition_id)
        else:
            requested = {topic.name: topic.partition_indexes for topic in request.topics}
        topics = []
        for name, partition_ids in requested.items():
            ongoing = self._ongoing(name, partition_ids)
            if ongoing:
                topics.append(OngoingTopicReassignment(name=name, partitions=ongoing))
        return ListPartitionReassignmentsResponse(error_message=None, topics=topics)

    def assign_directories(
        self, request: AssignReplicasToDirsRequest
    ) -> ControllerDecision[assigned.AssignReplicasToDirsResponse]:
        """Write the directories in which a broker has its replicas; in an offline directory they are out of sync."""
        if not self._features.metadata_version.is_directory_assignment_supported:
            raise RequestRejected(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
        broker_id = request.broker_id
        self._cluster.check_broker_epoch(broker_id, request.broker_epoch)
        records: list[MetadataRecord] = []
        directories = []
        for directory in request.directories:
            topics = []
            for topic in directory.topics:
                results = [
                    assigned.PartitionData(
                        partition_index=partition.partition_index,
                        error_code=self._assign(
                            broker_id, directory.id, topic.topic_id, partition.partition_index, records
                        ),
                    )
                    for partition in topic.partitions
                ]
                topics.append(assigned.TopicData(topic_id=topic.topic_id, partitions=results))
            directories.append(assigned.DirectoryData(id=directory.id, topics=topics))
        return ControllerDecision(records, assigned.AssignReplicasToDirsResponse(directories=directories))

    def _assign(
        self, broker_id: int, directory: bytes, topic_id: bytes, partition_id: int, records: list[MetadataRecord]
    ) -> int:
        topic = self._registry.topics.get(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partitions.get(partition_id)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if broker_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        is_online = self._cluster.has_online_directory(broker_id, directory)
        offline = () if is_online else (broker_id,)
        key = TopicIdPartition(topic_id, partition_id)
        # A replica that was offline may be the only one that can lead.
        context = self._contexts.context(key, without=offline, directories={broker_id: directory})
        targets = PartitionTargets(
            isr=[replica for replica in partition.isr if replica not in offline], directories={broker_id: directory}
        )
        may_be_unclean = not is_online and self._configuration.is_unclean_election_enabled(topic.name)
        election = Election.UNCLEAN if may_be_unclean else Election.ONLINE
        record = partition_change_record(partition, context, targets, election)
        records += [] if record is None else [record]
        return ErrorCode.NONE

    def _alter_partition(self, name: str, target: ReassignablePartition, allow_change: bool) -> MetadataRecord | None:
        topic = self._registry.topic_named(name)
        if topic is None:
            raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
        partition = topic.partitions.get(target.partition_index)
        if partition is None:
            raise RequestRejected(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{target.partition_index}."
            )
        if target.replicas is None:
            return self._cancel(topic, target.partition_index, partition)
        self._cluster.check_manual_assignment(target.replicas, None)
        if not allow_change:
            _check_factor_unchanged(partition, target.replicas)
        return self._start(topic, target.partition_index, partition, target.replicas)

    def _start(
        self, topic: TopicState, partition_id: int, partition: PartitionRegistration, target: list[int]
    ) -> MetadataRecord | None:
        """Start a reassignment. Removed replicas stay, at the end, until the added ones are in sync."""
        removing = sorted(replica for replica in partition.replicas if replica not in target)
        adding = sorted(replica for replica in target if replica not in partition.replicas)
        targets = PartitionTargets(replicas=[*target, *removing], removing=removing, adding=adding)
        context = self._contexts.context(TopicIdPartition(topic.id, partition_id))
        return partition_change_record(partition, context, targets)

    def _cancel(self, topic: TopicState, partition_id: int, partition: PartitionRegistration) -> MetadataRecord | None:
        if not partition.is_reassigning:
            raise RequestRejected(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        replicas = [replica for replica in partition.replicas if replica not in partition.adding_replicas]
        isr = [replica for replica in partition.isr if replica not in partition.adding_replicas]
        unclean_enabled = self._configuration.is_unclean_election_enabled(topic.name)
        if not replicas:
            raise RequestRejected(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "Invalid replica assignment: addingReplicas contains all replicas.",
            )
        recovery_state = None
        if not isr and not any(replica in replicas for replica in partition.elr):
            # Only added replicas are in sync: cancelling loses the records that the old ones lack.
            if not unclean_enabled:
                raise RequestRejected(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Unable to revert partition assignment for {topic.name}:{partition_id} because it would require "
                    "an unclean leader election.",
                )
            isr = [replicas[0]]
            recovery_state = int(LeaderRecoveryState.RECOVERING)
        targets = PartitionTargets(isr=isr, replicas=replicas, removing=(), adding=(), recovery_state=recovery_state)
        context = self._contexts.context(TopicIdPartition(topic.id, partition_id))
        election = Election.UNCLEAN if unclean_enabled else Election.ONLINE
        return partition_change_record(partition, context, targets, election)

    def _ongoing(self, name: str, partition_ids: list[int]) -> list[OngoingPartitionReassignment]:
        topic = self._registry.topic_named(name)
        ongoing = []
        for partition_id in partition_ids if topic is not None else ():
            partition = topic.partitions.get(partition_id) if topic is not None else None
            if partition is not None and partition.is_reassigning:
                ongoing.append(
                    OngoingPartitionReassignment(
                        partition_index=partition_id,
                        replicas=list(partition.replicas),
                        adding_replicas=list(partition.adding_replicas),
                        removing_replicas=list(partition.removing_replicas),
                    )
                )
        return ongoing


def _check_once(seen: dict[tuple[str, int], None], name: str, partition_id: int) -> None:
    """Reject a partition that is in the request twice: the second change would be decided without the first."""
    if (name, partition_id) in seen:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, f"{name}:{partition_id} is in the request more than once.")
    seen[name, partition_id] = None


def _check_factor_unchanged(partition: PartitionRegistration, target: list[int]) -> None:
    planned = [replica for replica in partition.replicas if replica not in partition.removing_replicas]
    if len(planned) != len(target):
        raise RequestRejected(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(planned)} to {len(target)}",
        )
