"""Coordinators of groups and transactional ids: looked up once, cached until they turn out to be wrong.

Those who ask for the same at the same time share one lookup, which goes on with back-off while nobody knows.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from odradek.client.errors import is_retriable, refusal
from odradek.client.net.connections import own_connection
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.net.metadata_cache import Node
from odradek.common.failures import ApiError
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse

_log = logging.getLogger("odradek.client.coordinator")

#: The first version in which one request is about many keys.
_MANY_KEYS_FROM = 4

_Key = tuple[CoordinatorKind, str]

#: Sends what is made for the version of some node; gives its response.
Ask = Callable[[Callable[[int], FindCoordinatorRequest]], Awaitable[FindCoordinatorResponse]]


@dataclass(frozen=True, slots=True)
class _Found:
    node_id: int
    node: Node


class CoordinatorFinder:
    def __init__(self, ask: Ask, delay_s: Callable[[int], float]) -> None:
        """`delay_s`: before the next attempt, after so many in vain."""
        self._ask = ask
        self._delay_s = delay_s
        self._coordinators: dict[_Key, _Found] = {}
        self._lookups: dict[_Key, asyncio.Task[int]] = {}
        #: When the last of those who wait gives up.
        self._until_s: dict[_Key, float] = {}
        self._last_errors: dict[_Key, ApiError] = {}

    def node(self, node_id: int) -> Node | None:
        return next(
            (coordinator.node for coordinator in self._coordinators.values() if coordinator.node_id == node_id), None
        )

    async def find(self, coordinator_type: CoordinatorKind, key: str, timeout_ms: float) -> int:
        coordinator = self._coordinators.get((coordinator_type, key))
        if coordinator is not None:
            return coordinator.node_id
        until_s = asyncio.get_running_loop().time() + timeout_ms / 1000
        self._until_s[coordinator_type, key] = max(until_s, self._until_s.get((coordinator_type, key), 0.0))
        lookup = self._lookups.get((coordinator_type, key))
        if lookup is None:
            lookup = self._lookups[coordinator_type, key] = asyncio.ensure_future(self._look_up(coordinator_type, key))
            lookup.add_done_callback(lambda task: self._end((coordinator_type, key), task))
        await asyncio.wait([lookup], timeout=timeout_ms / 1000)
        if lookup.cancelled():
            raise Disconnected("the client was closed")
        error = lookup.exception() if lookup.done() else self._last_errors.get((coordinator_type, key))
        # A lookup that ends with an error that may pass has ended because nobody waits any longer.
        is_out_of_time = isinstance(error, ApiError) and is_retriable(error)
        if lookup.done() and not is_out_of_time:
            return lookup.result()
        reason = error.message if isinstance(error, ApiError) else "nobody has answered yet"
        raise RequestTimedOut(f"no coordinator of {coordinator_type.name.lower()} {key} in {timeout_ms:g} ms: {reason}")

    def forget(self, coordinator_type: CoordinatorKind, key: str) -> None:
        if self._coordinators.pop((coordinator_type, key), None) is not None:
            _log.debug("Looking up the coordinator of %s %r again.", coordinator_type.name.lower(), key)

    async def close(self) -> None:
        lookups = list(self._lookups.values())
        for lookup in lookups:
            lookup.cancel()
        if lookups:
            await asyncio.wait(lookups)

    async def _look_up(self, coordinator_type: CoordinatorKind, key: str) -> int:
        failures = 0
        while True:
            try:
                return await self._look_up_once(coordinator_type, key)
            except ApiError as error:
                if not is_retriable(error) or asyncio.get_running_loop().time() >= self._until_s[coordinator_type, key]:
                    raise
                self._last_errors[coordinator_type, key] = error
                _log.debug(
                    "The coordinator of %s %r was not found yet: %r", coordinator_type.name.lower(), key, error.message
                )
            failures += 1
            await asyncio.sleep(self._delay_s(failures))

    async def _look_up_once(self, coordinator_type: CoordinatorKind, key: str) -> int:
        def request(version: int) -> FindCoordinatorRequest:
            if version < _MANY_KEYS_FROM:
                return FindCoordinatorRequest(key=key, key_type=coordinator_type)
            return FindCoordinatorRequest(key_type=coordinator_type, coordinator_keys=[key])

        response = await self._ask(request)
        coordinator: Coordinator | FindCoordinatorResponse = (
            response.coordinators[0] if response.coordinators else response
        )
        error = refusal(coordinator.error_code, coordinator.error_message)
        if error is not None:
            raise error
        node_id = (
            own_connection(coordinator.node_id) if coordinator_type is CoordinatorKind.GROUP else coordinator.node_id
        )
        self._coordinators[coordinator_type, key] = _Found(
            node_id, Node(coordinator.node_id, coordinator.host, coordinator.port)
        )
        address = repr(f"{coordinator.host}:{coordinator.port}")
        _log.debug(
            "The coordinator of %s %r is node %d (%s).",
            coordinator_type.name.lower(),
            key,
            coordinator.node_id,
            address,
        )
        return node_id

    def _end(self, key: _Key, lookup: "asyncio.Task[int]") -> None:
        self._lookups.pop(key, None)
        self._until_s.pop(key, None)
        self._last_errors.pop(key, None)
        if not lookup.cancelled():
            lookup.exception()  # those who wait have it; there may be none left
