"""Carries markers of decided transactions to the leaders of their partitions: a task for each broker that has any.

Markers that are ready in the same turn of the loop go in one request. This node's own are written without a connection.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.coordinator.transaction.markers import MarkerOutbox
from odradek.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from odradek.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse
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
        on_broken: Callable[[BaseException], None],
    ) -> None:
        self._outbox = outbox
        self._node_id = node_id
        self._peers = peers
        self._local = local
        self._clock = clock
        self._on_broken = on_broken
        self._sending: dict[int, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        outbox.on_ready = self._ready
        outbox.on_deadline = self._set_timer

    async def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in (tasks := list(self._sending.values())):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _ready(self, broker_id: int) -> None:
        if broker_id not in self._sending and not self._is_closed:
            task = self._sending[broker_id] = asyncio.ensure_future(self._send_all(broker_id))
            task.add_done_callback(self._check)

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
            del self._sending[broker_id]  # here, and not in a callback: what comes next begins anew

    async def _send(self, broker_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        if broker_id == self._node_id:
            return await self._local(request)
        response: WriteTxnMarkersResponse = await self._peers.send(broker_id, request, _TIMEOUT_MS)
        return response

    def _set_timer(self) -> None:
        deadline_ms = self._outbox.deadline_ms
        if self._timer is None and deadline_ms is not None and not self._is_closed:
            delay_ms = max(0, deadline_ms - self._clock.monotonic_ms())
            self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._outbox.tick(self._clock.monotonic_ms())
        self._set_timer()

    def _check(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_broken(error)
