"""Sends AlterPartition requests of this broker's partitions to the active controller, one at a time."""

import asyncio
import logging

from odradek.api.dispatch.services import Forwarder
from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.replica.alter_partition import AlterPartitionOutbox
from odradek.server.drivers.background_tasks import BackgroundTasks
from odradek.server.drivers.fatal import FatalHandler

logger = logging.getLogger("odradek.replica")

#: Time-out of one request; afterwards the ISR changes are collected again.
_TIMEOUT_MS = 30_000


class AlterPartitionTask:
    def __init__(self, outbox: AlterPartitionOutbox, channel: Forwarder, clock: Clock, fatal: FatalHandler) -> None:
        """`channel` leads to the active controller."""
        self._outbox = outbox
        self._channel = channel
        self._clock = clock
        self._tasks = BackgroundTasks(fatal)
        self._is_sending = False
        self._is_closed = False

    def wake(self) -> None:
        """Send what the outbox has, unless a request is on its way."""
        if not self._is_sending and not self._is_closed:
            self._is_sending = True
            self._tasks.start(self._send_all())

    async def close(self) -> None:
        self._is_closed = True
        await self._tasks.close()

    async def _send_all(self) -> None:
        outbox, clock = self._outbox, self._clock
        try:
            while outbox.has_requests:
                request = outbox.next_request(clock.monotonic_ms())
                if request is None:
                    if outbox.deadline_ms is not None:
                        await asyncio.sleep(max(0, outbox.deadline_ms - clock.monotonic_ms()) / 1000)
                    continue
                try:
                    response = await self._channel.send(request, _TIMEOUT_MS)
                except ApiError as error:
                    logger.warning("no response to AlterPartition: %s", error)
                    outbox.handle_failure(clock.monotonic_ms())
                else:
                    outbox.handle_response(response, clock.monotonic_ms())
        finally:
            self._is_sending = False
