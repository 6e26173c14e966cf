"""Requests of this broker to others: one channel to each, made when it is first needed."""

from typing import Any

from odradek.api.dispatch.services import Image
from odradek.client.net.channel import Channel, ChannelConfig
from odradek.common.failures import ApiError
from odradek.metadata.image.broker_registration import BrokerRegistration
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message


class BrokerPeers:
    def __init__(self, image: Image, listener_name: str, client_id: str) -> None:
        """`listener_name` is the one that brokers speak with each other on."""
        self._image = image
        self._listener_name = listener_name
        self._config = ChannelConfig(client_id=client_id)
        self._channels: dict[int, Channel] = {}

    async def send(self, broker_id: int, request: Message, timeout_ms: int) -> Any:
        """Raises ApiError: BROKER_NOT_AVAILABLE where it is not known where the broker is, or what the channel says."""
        address = self._address_of(broker_id)
        if address is None:
            raise ApiError(f"broker {broker_id} has no address for brokers", ErrorCode.BROKER_NOT_AVAILABLE)
        channel = self._channels.get(broker_id)
        if channel is not None and (channel.host, channel.port) != address:
            del self._channels[broker_id]
            await channel.close()
            channel = self._channels.get(broker_id)
        if channel is None:
            channel = self._channels[broker_id] = Channel(*address, self._config)
        return await channel.send(request, timeout_ms)

    def _address_of(self, broker_id: int) -> tuple[str, int] | None:
        broker: BrokerRegistration | None = self._image().cluster.brokers.get(broker_id)
        endpoint = None if broker is None or broker.fenced else broker.listeners.get(self._listener_name)
        return None if endpoint is None else (endpoint.host, endpoint.port)

    async def close(self) -> None:
        while self._channels:
            await self._channels.popitem()[1].close()
