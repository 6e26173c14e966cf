"""Keeps a service's `GroupState` as its group assigns and takes away partitions, and logs long waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence

from odradek.client.group.listener import RebalanceListener
from odradek.client.types import TopicPartition
from odradek.common.ports import Clock
from odradek.service.group_state import GroupPhase, GroupState

logger = logging.getLogger("odradek.service")

_LOOK_S = 0.5
#: A join takes milliseconds, or group.initial.rebalance.delay.ms (3 s) for the first member: only longer waits are
#: worth a line.
_LOG_AFTER_MS = 4_000
_LOG_AGAIN_MS = 15_000


class GroupObserver(RebalanceListener):
    """Passes callbacks on to the engine."""

    def __init__(self, engine: RebalanceListener, state: GroupState, clock: Clock) -> None:
        self._engine = engine
        self._state = state
        self._clock = clock

    async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        await _awaited(self._engine.on_partitions_assigned(partitions))
        self._state.assigned(partitions, self._clock.monotonic_ms())

    async def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        await _awaited(self._engine.on_partitions_revoked(partitions))
        self._state.taken_away(partitions, self._clock.monotonic_ms())

    async def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        await _awaited(self._engine.on_partitions_lost(partitions))
        self._state.taken_away(partitions, self._clock.monotonic_ms())


async def log_group_state(name: str, state: GroupState, clock: Clock) -> None:
    """Until it is cancelled."""
    log_at_ms: int | None = None
    while True:
        await asyncio.sleep(_LOOK_S)
        now_ms = clock.monotonic_ms()
        waiting_ms, phase = state.waiting_ms(now_ms), state.phase(now_ms)
        if phase in (GroupPhase.JOINING, GroupPhase.WAITING):
            if waiting_ms >= (_LOG_AFTER_MS if log_at_ms is None else log_at_ms):
                logger.warning("%s: %s", name, state.text(now_ms))
                log_at_ms = waiting_ms + _LOG_AGAIN_MS
        elif log_at_ms is not None:
            logger.info("%s: %s", name, state.text(now_ms))
            log_at_ms = None


async def _awaited(called: Awaitable[None] | None) -> None:
    if called is not None:
        await called
