"""What every operation of the admin client goes through: who is asked, for how long, and how refusals are raised."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TypeVar, Unpack

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, accepted_all
from odradek.client.async_context import AsyncContext
from odradek.client.net.config import ClientConfig
from odradek.client.net.connections import channel_config
from odradek.client.settings.settings import admin_settings
from odradek.client.settings.typed_dicts import AdminSettings
from odradek.common.failures import InputError
from odradek.errors import RequestTimedOut

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class AdminBase(AsyncContext):
    def __init__(self, config: Mapping[str, object] | None = None, **settings: Unpack[AdminSettings]) -> None:
        """Settings by Kafka's names: as a dict, or as keywords with underscores. Raises InputError."""
        parsed = self.settings = admin_settings(config, **settings)
        self._cluster = ClusterRouter(
            parsed.bootstrap_servers or parsed.bootstrap_controllers,
            ClientConfig(channel_config(parsed), parsed.request_timeout_ms, parsed.default_api_timeout_ms),
            are_controllers=bool(parsed.bootstrap_controllers),
        )
        self._is_running = False

    async def start(self) -> None:
        """Raises Unreachable, with each address and what became of it."""
        try:
            await self._cluster.any_node()
        except BaseException:
            await self._cluster.close()
            raise
        self._is_running = True

    async def close(self, timeout_ms: float | None = None) -> None:
        """Closes the connections at once: it waits for no broker, whatever `timeout_ms`. May be called twice."""
        self._is_running = False
        await self._cluster.close()

    @property
    def _up(self) -> ClusterRouter:
        if not self._is_running:
            raise InputError('the admin client is not running: use it in a "with" statement, or call start() first')
        return self._cluster

    async def _each(self, operation: Awaitable[Outcomes[_Key, _Value]], timeout_ms: float | None) -> dict[_Key, _Value]:
        return accepted_all(await self._whole(operation, timeout_ms))

    async def _whole(self, operation: Awaitable[_Value], timeout_ms: float | None) -> _Value:
        limit_ms = self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(limit_ms / 1000):
                return await operation
        except TimeoutError:
            raise RequestTimedOut(f"no answer in {limit_ms:g} ms; whether it was carried out is not known") from None
