"""Log directories of brokers: describe them, and move replicas between the directories of a broker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, broker_not_running
from odradek.client.admin.partitions_by_topic import indexes_by_topic
from odradek.client.errors import refusal
from odradek.client.types import TopicPartition
from odradek.common.addresses import HostPort
from odradek.errors import Refused, Unreachable
from odradek.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from odradek.protocol.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from odradek.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """Size and lag of a replica in a log directory."""

    size_bytes: int
    #: Offsets behind the high watermark of the partition, or for a future replica behind the current one.
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDir:
    """Log directory of a broker, with its replicas."""

    path: str
    error: Refused | None
    #: Sizes of the volume; None if the broker does not know them.
    total_bytes: int | None
    usable_bytes: int | None
    replicas: Mapping[TopicPartition, ReplicaInfo]


class Replica(NamedTuple):
    """Replica of a partition on a broker."""

    topic: str
    partition: int
    broker_id: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker_id}"

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class ReplicaLogDir(NamedTuple):
    """Log directory of a replica, and the directory it is being moved to."""

    path: str | None
    future_path: str | None


class LogDirOperations:
    """Describes log directories, and moves replicas between them."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(
        self, broker_ids: Sequence[int] | None = None, partitions: Sequence[TopicPartition] | None = None
    ) -> Outcomes[int, tuple[LogDir, ...]]:
        """Return the directories of these brokers, or of all, with the replicas of these partitions, or of all."""
        addresses = (await self._router.describe()).nodes
        topics = None
        if partitions is not None:
            topics = [
                DescribableLogDirTopic(topic=topic, partitions=indexes)
                for topic, indexes in indexes_by_topic(partitions).items()
            ]
        outcomes: Outcomes[int, tuple[LogDir, ...]] = Outcomes()
        for broker_id in sorted(addresses) if broker_ids is None else broker_ids:
            if broker_id not in addresses:
                outcomes[broker_id] = broker_not_running(broker_id)
                continue
            try:
                response: DescribeLogDirsResponse = await self._router.send_to(
                    addresses[broker_id], DescribeLogDirsRequest(topics=topics)
                )
            except Unreachable as error:
                outcomes[broker_id] = Refused(error.message, error.code)
                continue
            outcomes[broker_id] = refusal(response.error_code) or tuple(
                _log_dir(result) for result in sorted(response.results, key=lambda result: result.log_dir)
            )
        return outcomes

    async def describe_replicas(self, replicas: Iterable[Replica]) -> dict[Replica, ReplicaLogDir]:
        """Return the directories of these replicas. Replicas that no running broker has are left out."""
        requested = list(dict.fromkeys(replicas))
        broker_ids = sorted({replica.broker_id for replica in requested})
        partitions = sorted({replica.topic_partition for replica in requested})
        log_dirs: dict[Replica, ReplicaLogDir] = {}
        for broker_id, directories in (await self.describe(broker_ids, partitions)).succeeded().items():
            for directory in directories:
                for partition, info in directory.replicas.items():
                    replica = Replica(*partition, broker_id)
                    path, future_path = log_dirs.get(replica, (None, None))
                    log_dirs[replica] = (
                        ReplicaLogDir(path, directory.path)
                        if info.is_future
                        else ReplicaLogDir(directory.path, future_path)
                    )
        return {replica: log_dirs[replica] for replica in requested if replica in log_dirs}

    async def alter_replicas(self, targets: Mapping[Replica, str]) -> Outcomes[Replica, None]:
        """Start to move each replica to a directory of its broker.

        A replica that does not exist yet is rejected with REPLICA_NOT_AVAILABLE, but will be created in the directory.
        """
        addresses = (await self._router.describe()).nodes
        outcomes: Outcomes[Replica, None] = Outcomes()
        for broker_id in dict.fromkeys(replica.broker_id for replica in targets):
            paths = {replica: path for replica, path in targets.items() if replica.broker_id == broker_id}
            try:
                if broker_id not in addresses:
                    raise broker_not_running(broker_id)
                outcomes.update(await self._alter_on_broker(addresses[broker_id], broker_id, paths))
            except (Refused, Unreachable) as error:
                outcomes.update(dict.fromkeys(paths, Refused(error.message, error.code)))
        return outcomes.in_order_of(targets)

    async def _alter_on_broker(
        self, address: HostPort, broker_id: int, paths: Mapping[Replica, str]
    ) -> dict[Replica, Refused | None]:
        directories = []
        for path in dict.fromkeys(paths.values()):
            indexes_of = indexes_by_topic(replica.topic_partition for replica in paths if paths[replica] == path)
            topics = [AlterReplicaLogDirTopic(name=topic, partitions=indexes) for topic, indexes in indexes_of.items()]
            directories.append(AlterReplicaLogDir(path=path, topics=topics))
        response: AlterReplicaLogDirsResponse = await self._router.send_to(
            address, AlterReplicaLogDirsRequest(dirs=directories)
        )
        return {
            Replica(topic.topic_name, partition.partition_index, broker_id): refusal(partition.error_code)
            for topic in response.results
            for partition in topic.partitions
        }


def _log_dir(result: DescribeLogDirsResult) -> LogDir:
    replicas = {
        TopicPartition(topic.name, partition.partition_index): ReplicaInfo(
            partition.partition_size, partition.offset_lag, partition.is_future_key
        )
        for topic in sorted(result.topics, key=lambda topic: topic.name)
        for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
    }
    total_bytes = None if result.total_bytes < 0 else result.total_bytes
    usable_bytes = None if result.usable_bytes < 0 else result.usable_bytes
    return LogDir(result.log_dir, refusal(result.error_code), total_bytes, usable_bytes, replicas)
