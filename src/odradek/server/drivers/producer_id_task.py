"""Ids for producers, from blocks of a thousand that the controller gives out (KIP-730).

The next block is asked for before the present one is used up, so that nobody waits. Ids of a block that is lost with
the process are never given out again.
"""

import asyncio
from collections.abc import Callable

from odradek.api.dispatch.services import Forwarder
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest

#: Kafka asks for the next block when so much of the present one is used.
_PREFETCH_AT = 0.9
_TIMEOUT_MS = 60_000


class ProducerIds:
    def __init__(self, broker_id: int, broker_epoch: Callable[[], int], channel: Forwarder) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._next = range(0)
        self._following: range | None = None
        self._prefetch_below = 0
        self._asking: asyncio.Task[None] | None = None

    async def next_id(self) -> int:
        """Raises ApiError: COORDINATOR_LOAD_IN_PROGRESS, so that the producer asks again, if no block can be had."""
        await self.at_hand()
        return self.take()

    async def at_hand(self) -> None:
        """Wait until `take` has an id. Raise ApiError as `next_id` does."""
        while not self._next and self._following is None:
            await asyncio.shield(self._ask())

    def take(self) -> int:
        """For those who cannot wait. Raises ApiError as `next_id` does, also if there is none at hand."""
        if not self._next and self._following is not None:
            self._begin(self._following)
        if not self._next:
            self._ask()
            raise ApiError("no producer id is at hand", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        producer_id, self._next = self._next[0], self._next[1:]
        if len(self._next) < self._prefetch_below and self._following is None:
            self._ask()
        return producer_id

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])

    def _begin(self, block: range) -> None:
        self._next, self._following = block, None
        self._prefetch_below = int(len(block) * (1 - _PREFETCH_AT))

    def _ask(self) -> "asyncio.Task[None]":
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._allocate())
            self._asking.add_done_callback(self._asked)
        return self._asking

    def _asked(self, task: "asyncio.Task[None]") -> None:
        self._asking = None
        if not task.cancelled():
            task.exception()  # whoever waits has it; a failed prefetch is made good by the next one who asks

    async def _allocate(self) -> None:
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        try:
            response = await self._channel.send(request, _TIMEOUT_MS)
        except ApiError as error:
            raise ApiError(f"no producer ids: {error}", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from error
        if response.error_code:
            name = error_name(response.error_code)
            raise ApiError(f"no producer ids: {name}", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if response.producer_id_start < 0 or response.producer_id_len <= 0:
            block = f"{response.producer_id_len} from {response.producer_id_start}"
            raise ApiError(f"no producer ids: {block}", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self._following = range(response.producer_id_start, response.producer_id_start + response.producer_id_len)
