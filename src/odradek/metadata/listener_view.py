"""The cluster as the clients of one listener see it: brokers with their endpoints on that listener, and the partitions
whose brokers can be reached there.

One is built per request, from one image, so that a response describes one moment.
"""

from odradek.metadata.image.broker_registration import BrokerRegistration, Endpoint
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.partition_registration import Ids, PartitionRegistration

NO_NODE = -1


class ListenerView:
    def __init__(self, image: MetadataImage, listener_name: str, node_id: int) -> None:
        """`node_id` is this broker's."""
        self.image = image
        self._node_id = node_id
        #: Endpoints by broker id, of the brokers that have the listener, fenced or not.
        self.endpoints: dict[int, Endpoint] = {}
        self._reachable: dict[int, BrokerRegistration] = {}
        for broker_id, broker in sorted(image.cluster.brokers.items()):
            endpoint = broker.listeners.get(listener_name)
            if endpoint is not None:
                self.endpoints[broker_id] = endpoint
                if not broker.fenced:
                    self._reachable[broker_id] = broker

    def brokers(self, *, with_fenced: bool = False) -> list[tuple[BrokerRegistration, Endpoint]]:
        """Return the brokers of the listener, sorted by id."""
        ids = self.endpoints if with_fenced else self._reachable
        return [(self.image.cluster.brokers[broker_id], self.endpoints[broker_id]) for broker_id in ids]

    def this_broker(self) -> list[tuple[BrokerRegistration, Endpoint]]:
        """Return this broker, fenced or not; nothing if it lacks the listener or is not registered."""
        return [entry for entry in self.brokers(with_fenced=True) if entry[0].id == self._node_id]

    def controller_id(self) -> int:
        """Return the broker to which clients send changes. Every broker forwards them, so this broker is as good as any
        other; Kafka names a random one."""
        alive = [broker.id for broker in self.image.cluster.brokers.values() if not broker.fenced]
        return self._node_id if self._node_id in alive else min(alive, default=NO_NODE)

    def reachable(self, ids: Ids) -> list[int]:
        return [broker_id for broker_id in ids if broker_id in self._reachable]

    def leader(self, partition: PartitionRegistration) -> int:
        """Return the leader's id, or NO_NODE if it has no endpoint on the listener."""
        return partition.leader if partition.leader in self.endpoints else NO_NODE

    def offline_replicas(self, partition: PartitionRegistration) -> list[int]:
        return [
            replica
            for replica, directory in zip(partition.replicas, partition.directories, strict=True)
            if replica not in self._reachable or not self._reachable[replica].has_online_directory(directory)
        ]
