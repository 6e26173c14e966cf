"""The cluster as the clients of one listener see it: brokers at their addresses on that listener, partitions by who of
them can be reached.

One is made per request, from one image, so that an answer is of one moment.
"""

from odradek.api.dispatch.context import Context
from odradek.common.failures import ApiError
from odradek.controller.topic_names import check_topic_name
from odradek.metadata.image.broker_registration import BrokerRegistration, Endpoint
from odradek.metadata.image.partition_registration import Ids, PartitionRegistration
from odradek.protocol.error_codes import ErrorCode

NO_NODE = -1


class ListenerView:
    def __init__(self, ctx: Context) -> None:
        self.image = ctx.services.image()
        self._own_id = ctx.services.node_id
        #: Brokers that have the listener, by id, fenced or not.
        self.endpoints: dict[int, Endpoint] = {}
        self._reachable: dict[int, BrokerRegistration] = {}
        for broker_id, broker in sorted(self.image.cluster.brokers.items()):
            endpoint = broker.listeners.get(ctx.listener_name)
            if endpoint is not None:
                self.endpoints[broker_id] = endpoint
                if not broker.fenced:
                    self._reachable[broker_id] = broker

    def brokers(self, *, with_fenced: bool = False) -> list[tuple[BrokerRegistration, Endpoint]]:
        """In the order of their ids."""
        ids = self.endpoints if with_fenced else self._reachable
        return [(self.image.cluster.brokers[broker_id], self.endpoints[broker_id]) for broker_id in ids]

    def itself(self) -> list[tuple[BrokerRegistration, Endpoint]]:
        """The broker that answers, fenced or not; nothing if it has another listener only, or is not registered."""
        return [found for found in self.brokers(with_fenced=True) if found[0].id == self._own_id]

    def controller_id(self) -> int:
        """Whom clients are to send changes to. Any broker passes them on, so this one is as good as any; Kafka names
        one at random."""
        alive = [broker.id for broker in self.image.cluster.brokers.values() if not broker.fenced]
        return self._own_id if self._own_id in alive else min(alive, default=NO_NODE)

    def reachable(self, ids: Ids) -> list[int]:
        return [broker_id for broker_id in ids if broker_id in self._reachable]

    def leader(self, partition: PartitionRegistration) -> int:
        """NO_NODE where clients could not find it."""
        return partition.leader if partition.leader in self.endpoints else NO_NODE

    def offline_replicas(self, partition: PartitionRegistration) -> list[int]:
        return [
            replica
            for replica, directory in zip(partition.replicas, partition.directories, strict=True)
            if replica not in self._reachable or not self._reachable[replica].has_online_directory(directory)
        ]


def error_of_missing(name: str) -> ErrorCode:
    """Of a topic that is not there: it could be, or could never."""
    try:
        check_topic_name(name)
    except ApiError:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
