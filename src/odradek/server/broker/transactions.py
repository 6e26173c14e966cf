"""What a broker does for transactions besides coordinating them: it sends markers to the leaders of their partitions,
writes those that are sent to it, and verifies partitions with other coordinators.

Markers and verifications that concern this broker itself need no connection: the domain objects are called directly.
"""

from typing import TYPE_CHECKING

from odradek.api.dispatch.context import Services
from odradek.api.dispatch.replies import answer
from odradek.coordinator.runtime.shard import ShardContext
from odradek.coordinator.transaction.marker_writing import MarkerWriter
from odradek.coordinator.transaction.markers import MarkerOutbox
from odradek.coordinator.transaction.partition_addition import PartitionAddition
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.server.config.coordinator_settings import transaction_settings
from odradek.server.drivers.coordinator_driver import CoordinatorDriver
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.drivers.marker_log import ReplicaMarkerLog
from odradek.server.drivers.marker_sender import MarkerSender
from odradek.server.links.broker_channels import BrokerPeers
from odradek.server.links.transaction_verifier import TransactionVerifier
from odradek.server.node_context import Foundation

if TYPE_CHECKING:
    from odradek.coordinator.group.shard import GroupShard
    from odradek.coordinator.transaction.ending import ProducerIds
    from odradek.coordinator.transaction.shard import TransactionShard


class TransactionPart:
    def __init__(self, base: Foundation, services: Services, new_id: "ProducerIds") -> None:
        config = base.config
        self._base = base
        self._services = services
        self._new_id = new_id
        self._settings = transaction_settings(config.settings)
        self._peers = BrokerPeers(services.image, config.listeners.inter_broker_name, f"broker-{config.node_id}-txn")
        self._outbox = MarkerOutbox(base.clock, services.image)
        self._sender: MarkerSender | None = None

    def new_shard(self, context: ShardContext) -> "TransactionShard":
        from odradek.coordinator.transaction.shard import TransactionShard

        return TransactionShard(context, self._settings, self._new_id, self._outbox)

    def start(
        self,
        replicas: BrokerReplicas,
        groups: "CoordinatorDriver[GroupShard]",
        transactions: "CoordinatorDriver[TransactionShard]",
        fatal: FatalHandler,
    ) -> None:
        node_id, services = self._base.config.node_id, self._services
        writer = MarkerWriter(ReplicaMarkerLog(replicas, services.began_to_wait), groups)
        addition = PartitionAddition(transactions, services.image)
        self._sender = MarkerSender(
            self._outbox,
            node_id,
            self._peers,
            lambda request: answer(writer.write(request)),
            self._base.clock,
            fatal,
        )
        services.transactions = transactions
        services.marker_writer = writer
        services.partition_addition = addition
        services.verifier = TransactionVerifier(
            node_id, services.image, transactions.partition_for, self._peers, addition
        )

    async def close(self) -> None:
        if self._sender is not None:
            await self._sender.close()
        await self._peers.close()
