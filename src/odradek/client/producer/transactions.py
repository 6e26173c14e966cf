"""The transactions of a producer as its application sees them: calls that wait, no longer than `max.block.ms`.

A call that took too long has not failed: the same call again waits on.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from odradek.client.producer.sender import Sender
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transaction_offsets import CommittedOffset, GroupIdentity
from odradek.client.producer.transaction_states import TransactionPhase, TransactionResult
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import InputError
from odradek.errors import ProducerFailed, ProducerFenced, RequestTimedOut, WrongTransactionState

_NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class _GroupAlone:
    """A group of which only the name is known: its offsets are committed whoever is a member."""

    group_id: str
    generation_id: int = _NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None


class Transactions:
    def __init__(self, manager: TransactionManager, sender: Sender, max_block_ms: float) -> None:
        self._manager = manager
        self._sender = sender
        self._max_block_ms = max_block_ms

    async def initialize(self) -> None:
        self._sender.note_features()
        await self._finish(self._manager.initialize(), "init_transactions")

    def begin(self) -> None:
        self._sender.note_features()
        self._manager.begin()

    async def commit(self) -> None:
        self._sender.note_features()
        await self._finish(self._manager.commit(), "commit_transaction")

    async def abort(self) -> None:
        self._sender.note_features()
        await self._finish(self._manager.abort(), "abort_transaction")

    async def abort_if_open(self) -> None:
        if self._manager.states.has_open_transaction and not self._manager.states.is_completing:
            await self.abort()

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, CommittedOffset | int], group: GroupIdentity | str
    ) -> None:
        if not offsets:
            return
        identity = _GroupAlone(group) if isinstance(group, str) else group
        if identity.generation_id >= 0 and not identity.member_id:
            raise WrongTransactionState(f"the consumer of {identity.group_id} has a generation but no member id")
        named = {TopicPartition(*partition): _committed(offset) for partition, offset in offsets.items()}
        await self._finish(self._manager.send_offsets(named, identity), "send_offsets_to_transaction")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        if self._manager.states.phase in (TransactionPhase.UNINITIALIZED, TransactionPhase.INITIALIZING):
            await self.initialize()
        self.begin()
        try:
            yield
            await self.commit()
        except (ProducerFenced, ProducerFailed):
            raise
        except BaseException:
            if self._manager.states.phase in (TransactionPhase.IN_TRANSACTION, TransactionPhase.ABORTABLE_ERROR):
                await self.abort()
            raise

    async def _finish(self, result: TransactionResult, operation: str) -> None:
        self._sender.wake()
        await until(result.listen, self._max_block_ms, operation)
        result.acknowledge()
        if result.error is not None:
            raise result.error


def _committed(offset: CommittedOffset | int) -> CommittedOffset:
    committed = OffsetAndMetadata(offset) if isinstance(offset, int) else offset
    if committed.offset < 0:
        raise InputError(f"{committed.offset} is not a valid offset; the first one is 0")
    return committed


async def until(listen: Callable[[Callable[[], None]], None], timeout_ms: float, operation: str) -> None:
    """Waits for what calls its listeners once. Raises RequestTimedOut."""
    loop = asyncio.get_running_loop()
    happened: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not happened.done():
            happened.set_result(None)

    listen(wake)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await happened
    except TimeoutError:
        raise RequestTimedOut(f"{operation} has not finished after {timeout_ms:g} ms; call it again") from None
