"""Replicas and the log directories that they are in, from outside: where they are, and where they are to be."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.client.admin.cluster import describe_log_dirs
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, TopicPartition, by_topic, in_order
from odradek.client.errors import refusal
from odradek.common.addresses import HostPort
from odradek.errors import Refused, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse


class Replica(NamedTuple):
    topic: str
    partition: int
    broker_id: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker_id}"

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class Place(NamedTuple):
    """Where a replica is, and where it is on its way to."""

    path: str | None
    future_path: str | None


async def alter_replica_log_dirs(cluster: ClusterRouter, targets: Mapping[Replica, str]) -> Outcomes[Replica, None]:
    """Begins to move each replica to a directory of its broker. One that is not there yet is refused with
    REPLICA_NOT_AVAILABLE, and will be made there nevertheless."""
    addresses = (await cluster.describe()).nodes
    outcomes: dict[Replica, Refused | None] = {}
    for broker_id in dict.fromkeys(replica.broker_id for replica in targets):
        wanted = {replica: path for replica, path in targets.items() if replica.broker_id == broker_id}
        try:
            if broker_id not in addresses:
                raise Refused(f"there is no broker {broker_id} that runs", ErrorCode.BROKER_NOT_AVAILABLE)
            outcomes |= await _alter(cluster, addresses[broker_id], broker_id, wanted)
        except (Refused, Unreachable) as error:
            outcomes |= dict.fromkeys(wanted, Refused(error.message, error.code))
    return in_order(outcomes, targets)


async def find_replicas(cluster: ClusterRouter, replicas: Mapping[Replica, object]) -> dict[Replica, Place]:
    """Those that are anywhere, of brokers that run."""
    brokers = sorted({replica.broker_id for replica in replicas})
    partitions = sorted({replica.topic_partition for replica in replicas})
    found: dict[Replica, Place] = {}
    for broker_id, dirs in (await describe_log_dirs(cluster, brokers, partitions)).items():
        for log_dir in () if isinstance(dirs, Refused) else dirs:
            for tp, info in log_dir.replicas.items():
                replica = Replica(*tp, broker_id)
                path, future_path = found.get(replica, (None, None))
                place = Place(path, log_dir.path) if info.is_future else Place(log_dir.path, future_path)
                found[replica] = place
    return {replica: found[replica] for replica in replicas if replica in found}


async def _alter(
    cluster: ClusterRouter, address: HostPort, broker_id: int, wanted: Mapping[Replica, str]
) -> dict[Replica, Refused | None]:
    directories = []
    for path in dict.fromkeys(wanted.values()):
        topics = by_topic(replica.topic_partition for replica in wanted if wanted[replica] == path)
        named = [AlterReplicaLogDirTopic(name=topic, partitions=indexes) for topic, indexes in topics.items()]
        directories.append(AlterReplicaLogDir(path=path, topics=named))
    response: AlterReplicaLogDirsResponse = await cluster.send_to(address, AlterReplicaLogDirsRequest(dirs=directories))
    return {
        Replica(topic.topic_name, each.partition_index, broker_id): refusal(each.error_code)
        for topic in response.results
        for each in topic.partitions
    }
