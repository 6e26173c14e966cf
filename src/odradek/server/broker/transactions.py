"""What a broker has for transactions besides their coordinator: markers to other brokers, and questions to them.

Both may be for this very broker; then the handler's function is called as it is, without a connection.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.api.dispatch.context import Context, Services, Session
from odradek.api.dispatch.registry import Registry
from odradek.coordinator.runtime.shard import ShardContext
from odradek.coordinator.transaction.markers import MarkerOutbox
from odradek.metadata.internal_topics import TRANSACTION_STATE
from odradek.protocol.api_keys import APIS, ApiKey, Listener
from odradek.server.config.coordinator_settings import transaction_settings
from odradek.server.drivers.coordinator_driver import CoordinatorDriver
from odradek.server.links.broker_channels import BrokerPeers
from odradek.server.links.marker_sender import MarkerSender
from odradek.server.links.transaction_verifier import TransactionVerifier
from odradek.server.node_context import Foundation

if TYPE_CHECKING:
    from odradek.coordinator.transaction.ending import ProducerIds
    from odradek.coordinator.transaction.shard import TransactionShard
    from odradek.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
    from odradek.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
    from odradek.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
    from odradek.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse


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
        self._contexts: dict[ApiKey, Context] = {}

    def new_shard(self, context: ShardContext) -> "TransactionShard":
        from odradek.coordinator.transaction.shard import TransactionShard

        return TransactionShard(context, self._settings, self._new_id, self._outbox)

    def start(self, driver: "CoordinatorDriver[TransactionShard]", on_broken: Callable[[BaseException], None]) -> None:
        node_id, services = self._base.config.node_id, self._services
        self._sender = MarkerSender(
            self._outbox,
            node_id,
            self._peers,
            self._write_markers,
            self._base.clock,
            on_broken,
        )
        services.transactions = driver
        services.verifier = TransactionVerifier(
            node_id,
            services.image,
            driver.partition_for,
            self._peers,
            self._add_or_verify,
        )

    async def close(self) -> None:
        if self._sender is not None:
            await self._sender.close()
        await self._peers.close()

    async def _write_markers(self, request: "WriteTxnMarkersRequest") -> "WriteTxnMarkersResponse":
        from odradek.api.handlers.write_txn_markers import write_markers

        return await write_markers(self._inside(ApiKey.WRITE_TXN_MARKERS), request)

    async def _add_or_verify(self, request: "AddPartitionsToTxnRequest") -> "AddPartitionsToTxnResponse":
        from odradek.api.handlers.add_partitions_to_txn import add_or_verify

        return await add_or_verify(self._inside(ApiKey.ADD_PARTITIONS_TO_TXN), request)

    def _inside(self, key: ApiKey) -> Context:
        """A request of this node to itself."""
        known = self._contexts.get(key)
        if known is not None:
            return known
        session = Session(
            connection_id="inside",
            listener_name=self._base.config.listeners.inter_broker_name,
            listener=Listener.BROKER,
            security_protocol="PLAINTEXT",
            client_address="",
            registry=Registry(Listener.BROKER, ()),
            services=self._services,
        )
        versions = APIS[key].advertised(Listener.BROKER)
        assert versions is not None
        made = self._contexts[key] = Context(session, int(key), versions.last, 0, TRANSACTION_STATE, session.principal)
        return made
