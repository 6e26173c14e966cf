"""Creation of partitions: replicas from the request or from placement, and the first leader and ISR."""

from dataclasses import dataclass

from odradek.common.randomness import Randomness
from odradek.controller.cluster_control import ClusterControl
from odradek.controller.decision import RequestRejected
from odradek.controller.rules.placement import InvalidReplicationFactor, StripedReplicaPlacer
from odradek.controller.topic_registry import TopicState
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.create_partitions_request import CreatePartitionsTopic
from odradek.protocol.messages.create_topics_request import CreatableTopic

#: Value of num_partitions and replication_factor that means the default.
DEFAULT = -1


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    #: `num.partitions`
    partitions: int = 1
    #: `default.replication.factor`
    replication_factor: int = 1


class PartitionCreation:
    def __init__(self, cluster: ClusterControl, random: Randomness, defaults: TopicDefaults) -> None:
        self._cluster = cluster
        self._placer = StripedReplicaPlacer(random)
        self.defaults = defaults

    def partitions_of(self, topic: CreatableTopic) -> list[PartitionRegistration]:
        """Return the partitions of a new topic. Raises RequestRejected for an invalid request."""
        return self._manual_partitions(topic) if topic.assignments else self._placed_partitions(topic)

    def additional_partitions(self, request: CreatePartitionsTopic, topic: TopicState) -> list[PartitionRegistration]:
        """Return the partitions that a topic gets in addition."""
        current, additional = len(topic.partitions), request.count - len(topic.partitions)
        factor = len(topic.partitions[0].replicas)
        if request.assignments is None:
            return self._place(additional, factor)
        if len(request.assignments) != additional:
            raise RequestRejected(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {additional} additional partition(s), but only {len(request.assignments)} "
                "assignment(s) were specified.",
            )
        partitions = []
        for index, assignment in enumerate(request.assignments):
            self._cluster.check_manual_assignment(assignment.broker_ids, factor)
            partitions.append(self._manual_partition(assignment.broker_ids, current + index))
        return partitions

    def _manual_partitions(self, topic: CreatableTopic) -> list[PartitionRegistration]:
        for value, name in ((topic.replication_factor, "replication factor"), (topic.num_partitions, "numPartitions")):
            if value != DEFAULT:
                raise RequestRejected(
                    ErrorCode.INVALID_REQUEST,
                    f"A manual partition assignment was specified, but {name} was not set to -1.",
                )
        partitions: dict[int, PartitionRegistration] = {}
        factor = None
        for assignment in topic.assignments:
            index = assignment.partition_index
            if index in partitions:
                raise RequestRejected(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {index}",
                )
            self._cluster.check_manual_assignment(assignment.broker_ids, factor)
            factor = len(assignment.broker_ids)
            partitions[index] = self._manual_partition(assignment.broker_ids, index)
        if sorted(partitions) != list(range(len(partitions))):
            raise RequestRejected(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
            )
        return [partitions[index] for index in range(len(partitions))]

    def _manual_partition(self, replicas: list[int], partition_index: int) -> PartitionRegistration:
        partition = self._new_partition(replicas)
        if partition is None:
            raise RequestRejected(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "All brokers specified in the manual partition assignment for partition "
                f"{partition_index} are fenced or in controlled shutdown.",
            )
        return partition

    def _placed_partitions(self, topic: CreatableTopic) -> list[PartitionRegistration]:
        factor, count = topic.replication_factor, topic.num_partitions
        if factor < DEFAULT or factor == 0:
            raise RequestRejected(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if count < DEFAULT or count == 0:
            raise RequestRejected(
                ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
            )
        factor = self.defaults.replication_factor if factor == DEFAULT else factor
        count = self.defaults.partitions if count == DEFAULT else count
        return self._place(count, factor)

    def _place(self, count: int, factor: int) -> list[PartitionRegistration]:
        prefix = f"Unable to replicate the partition {factor} time(s): "
        try:
            placements = self._placer.place(count, factor, self._cluster.usable_brokers())
        except InvalidReplicationFactor as error:
            raise RequestRejected(ErrorCode.INVALID_REPLICATION_FACTOR, prefix + error.message) from None
        partitions = [self._new_partition(replicas) for replicas in placements]
        active = [partition for partition in partitions if partition is not None]
        if len(active) < count:
            message = f"{prefix}All brokers are currently fenced or in controlled shutdown."
            raise RequestRejected(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        return active

    def _new_partition(self, replicas: list[int]) -> PartitionRegistration | None:
        """Return a partition led by the first active replica; None if no replica is active."""
        cluster = self._cluster
        isr = tuple(replica for replica in replicas if cluster.is_active(replica))
        if not isr:
            return None
        return PartitionRegistration(
            replicas=tuple(replicas),
            directories=tuple(cluster.default_directory(replica) for replica in replicas),
            isr=isr,
            removing_replicas=(),
            adding_replicas=(),
            elr=(),
            last_known_elr=(),
            leader=isr[0],
            leader_recovery_state=0,
            leader_epoch=0,
            partition_epoch=0,
        )
