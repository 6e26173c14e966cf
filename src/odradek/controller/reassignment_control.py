"""Moving replicas: to other brokers (KIP-455), and to other directories of a broker (KIP-858).

A reassignment is begun by adding the new replicas to the old ones; it ends by itself when the new ones are in sync
(`partition_change`), and can be taken back until then.
"""

from odradek.controller.decision import DONE, Decision, Refused, outcome_of
from odradek.controller.partition_change import Election, PartitionChange
from odradek.controller.partition_index import TopicIdPartition
from odradek.controller.replication_state import ReplicationState, TopicState
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
    def __init__(self, state: ReplicationState) -> None:
        self._state = state

    def alter(self, request: AlterPartitionReassignmentsRequest) -> Decision[AlterPartitionReassignmentsResponse]:
        allow_change = request.allow_replication_factor_change
        records: list[MetadataRecord] = []
        responses = []
        seen: dict[tuple[str, int], None] = {}
        for topic in request.topics:
            partitions = []
            for asked in topic.partitions:
                outcome = DONE
                try:
                    _check_once(seen, topic.name, asked.partition_index)
                    record = self._alter_partition(topic.name, asked, allow_change)
                    records += [] if record is None else [record]
                except Refused as refused:
                    outcome = outcome_of(refused)
                partitions.append(
                    ReassignablePartitionResponse(
                        partition_index=asked.partition_index, error_code=outcome.code, error_message=outcome.message
                    )
                )
            responses.append(ReassignableTopicResponse(name=topic.name, partitions=partitions))
        response = AlterPartitionReassignmentsResponse(
            # As in Kafka, which does not look at a request for nothing.
            error_message=None if request.topics else "",
            allow_replication_factor_change=allow_change,
            responses=responses,
        )
        return Decision(records, response, is_atomic=True)

    def list_ongoing(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        asked: dict[str, list[int]] = {}
        if request.topics is None:
            for topic_id, partition_id in self._state.index.reassigning:
                asked.setdefault(self._state.topics[topic_id].name, []).append(partition_id)
        else:
            asked = {topic.name: topic.partition_indexes for topic in request.topics}
        topics = []
        for name, partition_ids in asked.items():
            ongoing = self._ongoing(name, partition_ids)
            if ongoing:
                topics.append(OngoingTopicReassignment(name=name, partitions=ongoing))
        return ListPartitionReassignmentsResponse(error_message=None, topics=topics)

    def assign_directories(
        self, request: AssignReplicasToDirsRequest
    ) -> Decision[assigned.AssignReplicasToDirsResponse]:
        """A broker says in which of its directories replicas live; in one that is offline they are out of sync."""
        if not self._state.features.metadata_version.is_directory_assignment_supported:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
        broker_id = request.broker_id
        self._state.cluster.check_broker_epoch(broker_id, request.broker_epoch)
        records: list[MetadataRecord] = []
        directories = []
        for asked in request.directories:
            topics = []
            for topic in asked.topics:
                results = [
                    assigned.PartitionData(
                        partition_index=partition.partition_index,
                        error_code=self._assign(
                            broker_id, asked.id, topic.topic_id, partition.partition_index, records
                        ),
                    )
                    for partition in topic.partitions
                ]
                topics.append(assigned.TopicData(topic_id=topic.topic_id, partitions=results))
            directories.append(assigned.DirectoryData(id=asked.id, topics=topics))
        return Decision(records, assigned.AssignReplicasToDirsResponse(directories=directories))

    def _assign(
        self, broker_id: int, directory: bytes, topic_id: bytes, partition_id: int, records: list[MetadataRecord]
    ) -> int:
        topic = self._state.topics.get(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partitions.get(partition_id)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if broker_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        is_online = self._state.cluster.has_online_directory(broker_id, directory)
        gone = () if is_online else (broker_id,)
        key = TopicIdPartition(topic_id, partition_id)
        # A replica that was lost and is back may be the only one that can lead.
        context = self._state.context(key, without=gone, directories={broker_id: directory})
        change = PartitionChange(partition, context)
        change.directories[broker_id] = directory
        change.target_isr = [replica for replica in partition.isr if replica not in gone]
        if not is_online and self._state.configuration.is_unclean_election_enabled(topic.name):
            change.election = Election.UNCLEAN
        record = change.build()
        records += [] if record is None else [record]
        return ErrorCode.NONE

    def _alter_partition(self, name: str, asked: ReassignablePartition, allow_change: bool) -> MetadataRecord | None:
        topic = self._state.topic_named(name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
        partition = topic.partitions.get(asked.partition_index)
        if partition is None:
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{asked.partition_index}."
            )
        if asked.replicas is None:
            return self._cancel(topic, asked.partition_index, partition)
        self._state.check_manual_assignment(asked.replicas, None)
        if not allow_change:
            _check_factor_unchanged(partition, asked.replicas)
        return self._begin(topic, asked.partition_index, partition, asked.replicas)

    def _begin(
        self, topic: TopicState, partition_id: int, partition: PartitionRegistration, target: list[int]
    ) -> MetadataRecord | None:
        """Removed replicas stay, at the end, until the added ones are in sync."""
        removing = sorted(replica for replica in partition.replicas if replica not in target)
        adding = sorted(replica for replica in target if replica not in partition.replicas)
        change = PartitionChange(partition, self._state.context(TopicIdPartition(topic.id, partition_id)))
        change.target_replicas = [*target, *removing]
        change.target_removing, change.target_adding = removing, adding
        return change.build()

    def _cancel(self, topic: TopicState, partition_id: int, partition: PartitionRegistration) -> MetadataRecord | None:
        if not partition.is_reassigning:
            raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        replicas = [replica for replica in partition.replicas if replica not in partition.adding_replicas]
        isr = [replica for replica in partition.isr if replica not in partition.adding_replicas]
        unclean_enabled = self._state.configuration.is_unclean_election_enabled(topic.name)
        if not replicas:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "Invalid replica assignment: addingReplicas contains all replicas.",
            )
        change = PartitionChange(partition, self._state.context(TopicIdPartition(topic.id, partition_id)))
        if not isr and not any(replica in replicas for replica in partition.elr):
            # Only added replicas are in sync: going back loses what the old ones miss.
            if not unclean_enabled:
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Unable to revert partition assignment for {topic.name}:{partition_id} because it would require "
                    "an unclean leader election.",
                )
            isr = [replicas[0]]
            change.target_recovery_state = int(LeaderRecoveryState.RECOVERING)
        change.target_isr, change.target_replicas = isr, replicas
        change.target_removing, change.target_adding = [], []
        if unclean_enabled:
            change.election = Election.UNCLEAN
        return change.build()

    def _ongoing(self, name: str, partition_ids: list[int]) -> list[OngoingPartitionReassignment]:
        topic = self._state.topic_named(name)
        found = []
        for partition_id in partition_ids if topic is not None else ():
            partition = topic.partitions.get(partition_id) if topic is not None else None
            if partition is not None and partition.is_reassigning:
                found.append(
                    OngoingPartitionReassignment(
                        partition_index=partition_id,
                        replicas=list(partition.replicas),
                        adding_replicas=list(partition.adding_replicas),
                        removing_replicas=list(partition.removing_replicas),
                    )
                )
        return found


def _check_once(seen: dict[tuple[str, int], None], name: str, partition_id: int) -> None:
    """A second change of a partition would be decided without knowing the first."""
    if (name, partition_id) in seen:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{name}:{partition_id} is in the request more than once.")
    seen[name, partition_id] = None


def _check_factor_unchanged(partition: PartitionRegistration, target: list[int]) -> None:
    planned = [replica for replica in partition.replicas if replica not in partition.removing_replicas]
    if len(planned) != len(target):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(planned)} to {len(target)}",
        )
