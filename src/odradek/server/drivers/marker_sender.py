"""Carries markers of decided transactions to the leaders of their partitions: a task for each broker that has any.

Markers that are ready in the same turn of the loop go in one request. This node's own are written without a connection.
"""

import logging
from collections.abc import Awaitable, Callable

from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.coordinator.transaction.markers import MarkerOutbox
from odradek.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from odradek.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse
from odradek.server.drivers.background_tasks import BackgroundTasks
from odradek.server.drivers.deadline_timer import DeadlineTimer
from odradek.server.drivers.fatal import FatalHandler
from odradek.server.links.broker_channels import BrokerPeers

logger = logging.getLogger("odradek.transactions")

_TIMEOUT_MS = 30_000

Local = Callable[[WriteTxnMarkersRequest], Awaitable[WriteTxnMarkersResponse]]


class MarkerSender:
    def __init__(
        self,
        outbox: MarkerOutbox,
        node_id: int,
        peers: BrokerPeers,
        local: Local,
        clock: Clock,
        fatal: FatalHandler,
    ) -> None:
        self._outbox = outbox
        self._node_id = node_id
        self._peers = peers
        self._local = local
        self._tasks = BackgroundTasks(fatal)
        self._timer = DeadlineTimer(clock, lambda: outbox.deadline_ms, outbox.tick, fatal)
        #: Brokers with a task.
        self._sending: set[int] = set()
        self._is_closed = False
        outbox.on_ready = self._ready
        outbox.on_deadline = self._timer.reschedule

    async def close(self) -> None:
        self._is_closed = True
        self._timer.close()
        await self._tasks.close()

    def _ready(self, broker_id: int) -> None:
        if broker_id not in self._sending and not self._is_closed:
            self._sending.add(broker_id)
            self._tasks.start(self._send_all(broker_id))

    async def _send_all(self, broker_id: int) -> None:
        try:
            while (request := self._outbox.next_request(broker_id)) is not None:
                try:
                    response = await self._send(broker_id, request)
                except ApiError as error:
                    logger.info("broker %d did not take %d markers: %s", broker_id, len(request.markers), error)
                    self._outbox.handle_failure(broker_id)
                else:
                    self._outbox.handle_response(broker_id, response)
        finally:
            self._sending.discard(broker_id)  # not in a callback: the next marker starts a new task

    async def _send(self, broker_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        if broker_id == self._node_id:
            return await self._local(request)
        response: WriteTxnMarkersResponse = await self._peers.send(broker_id, request, _TIMEOUT_MS)
        return response
