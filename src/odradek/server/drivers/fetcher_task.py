"""The task of one fetcher: sends its requests to the source broker over a channel of its own, one at a time."""

import asyncio
import logging
from collections.abc import Callable

from odradek.client.net.channel import Channel, ChannelConfig
from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.replica.fetcher import FollowerFetcher

logger = logging.getLogger("odradek.replica")


class FetcherTask:
    """Fetches from one broker until its fetcher is closed."""

    def __init__(
        self,
        fetcher: FollowerFetcher,
        clock: Clock,
        timeout_ms: int,
        address_of: Callable[[int], tuple[str, int] | None],
        client_id: str,
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._address_of = address_of
        self._config = ChannelConfig(client_id=f"{client_id}-{fetcher.source_id}")
        self._channel: Channel | None = None
        self._wake = asyncio.Event()

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        fetcher = self._fetcher
        try:
            while not fetcher.is_closed:
                self._wake.clear()
                request = fetcher.next_request(self._clock.monotonic_ms())
                if request is None:
                    await self._wait(fetcher.deadline_ms)
                    continue
                try:
                    channel = await self._connected()
                    response = await channel.send(request, self._timeout_ms)
                except ApiError as error:
                    logger.info("fetching from broker %d failed: %s", fetcher.source_id, error)
                    fetcher.handle_failure(self._clock.monotonic_ms())
                else:
                    fetcher.handle_response(response, self._clock.monotonic_ms())
        finally:
            if self._channel is not None:
                await self._channel.close()

    async def _wait(self, deadline_ms: int | None) -> None:
        """Wait for `wake` or the deadline."""
        delay_s = None if deadline_ms is None else max(0, deadline_ms - self._clock.monotonic_ms()) / 1000
        try:
            async with asyncio.timeout(delay_s):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _connected(self) -> Channel:
        """Return a channel to the current address of the broker."""
        address = self._address_of(self._fetcher.source_id)
        if address is None:
            raise ApiError(f"broker {self._fetcher.source_id} has no address for brokers")
        channel = self._channel
        if channel is not None and (channel.host, channel.port) != address:
            await channel.close()
            channel = None
        if channel is None:
            channel = self._channel = Channel(*address, self._config)
        return channel
