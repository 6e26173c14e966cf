"""From some addresses of a cluster to a node that answers, and to the active controller.

The addresses are those of brokers or those of controllers, and each kind knows its own way. Brokers pass on what is
for the active controller, so that any of them will do. Controllers do not: one that answers is asked who leads
(DescribeCluster), and the leader is asked itself. Controllers that cannot say it, because they are old or have no
metadata yet, are asked one after the other. While there is no leader, or the one that is named does not answer, this
goes on until the operation's time is up, since an election takes only moments.

Addresses are tried in their order, the one that answered last first. A request whose connection breaks is sent again
only if the caller says that it may be.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from odradek.client.errors import check_error
from odradek.client.net.channel import Channel
from odradek.client.net.config import ClientConfig
from odradek.common.addresses import HostPort
from odradek.common.failures import ApiError
from odradek.errors import Disconnected, NoLeader, RequestTimedOut, Unreachable, WrongEndpoint
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.message import Message
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterResponse

_log = logging.getLogger("odradek.client.network")

#: retry.backoff.ms, between two rounds of asking who leads.
_RETRY_BACKOFF_S = 0.1

_BROKERS, _CONTROLLERS = 1, 2

_NOT_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_CONTROLLER, ErrorCode.LEADER_NOT_AVAILABLE)


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str
    #: As the node that answered knows it; None while it knows of none. Brokers name one of themselves instead.
    controller_id: int | None
    #: Brokers or controllers, as those who were asked.
    nodes: Mapping[int, HostPort]


class ClusterRouter:
    """Sends requests to a node that responds, to one node, or to the active controller. Used as a context manager, or
    with `close`."""

    def __init__(self, addresses: Sequence[HostPort], config: ClientConfig, *, are_controllers: bool = False) -> None:
        self.addresses = tuple(addresses)
        self.are_controllers = are_controllers
        self.config = config
        self._channels: dict[HostPort, Channel] = {}
        self._answered: HostPort | None = None
        self._leader: Channel | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    async def any_node(self) -> Channel:
        """A channel to a node that answers. Raises Unreachable with every address and what became of it."""
        reasons: list[str] = []
        for address in sorted(self.addresses, key=lambda each: each != self._answered):
            channel = await self._connect(address, reasons)
            if channel is not None:
                self._answered = address
                return channel
        kind = "controller" if self.are_controllers else "broker"
        raise Unreachable(f"no {kind} answers: {'; '.join(reasons)}")

    async def describe(self) -> ClusterDescription:
        channel = await self.any_node()
        kind = _CONTROLLERS if self.are_controllers else _BROKERS
        response: DescribeClusterResponse = await self._send(channel, DescribeClusterRequest(endpoint_type=kind))
        if response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE:
            asked, found = ("controller", "broker") if self.are_controllers else ("broker", "controller")
            raise WrongEndpoint(f"{channel.host}:{channel.port} is the address of a {found}, not of a {asked}")
        check_error(response.error_code, response.error_message)
        return ClusterDescription(
            response.cluster_id,
            None if response.controller_id < 0 else response.controller_id,
            {node.broker_id: HostPort(node.host, node.port) for node in response.brokers},
        )

    async def send_to_any(self, request: Message) -> Any:
        """The response of a node that answers, whatever it says."""
        return await self._send(await self.any_node(), request)

    async def send_to(self, address: HostPort, request: Message, *, last_version: int | None = None) -> Any:
        """The response of this one, whatever it says, in no later version than is said. Raises Unreachable."""
        reasons: list[str] = []
        channel = await self._connect(address, reasons)
        if channel is None:
            raise Unreachable(reasons[0])
        version = None if last_version is None else min(last_version, channel.version_for(request))
        return await self._send(channel, request, version)

    async def send_to_leader(self, request: Message, error_of: Callable[[Any], int], *, repeatable: bool) -> Any:
        """The response of the active controller, whatever it says; `error_of` finds the error code in it.

        `repeatable` if it does no harm twice. Raises NoLeader when none was found in time, and what `any_node` and
        `Channel.send` raise.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self.config.api_timeout_ms / 1000
        while True:
            reasons: list[str] = []
            for channel in await self._leading(reasons):
                try:
                    response = await self._send(channel, request)
                except Unreachable as error:
                    if not repeatable:
                        raise
                    reasons.append(error.message)
                    continue
                code = error_of(response)
                if code not in _NOT_LEADER:
                    self._leader = channel
                    return response
                self._leader = None
                reasons.append(f"{channel.host}:{channel.port}: {error_name(code)}")
            if loop.time() >= deadline_s:
                raise self._no_leader(reasons)
            await asyncio.sleep(_RETRY_BACKOFF_S)

    def _no_leader(self, reasons: list[str]) -> NoLeader:
        seconds = self.config.api_timeout_ms / 1000
        return NoLeader(
            f"the quorum has no leader that answers after {seconds:g} s ({'; '.join(reasons)}); "
            "one is elected while a majority of the voters is up and can reach each other"
        )

    async def _leading(self, reasons: list[str]) -> list[Channel]:
        """Those to send to what is for the leader; none, and the reason, while there is no leader."""
        if not self.are_controllers:
            return [await self.any_node()]
        if self._leader is not None and self._leader.connected:
            return [self._leader]
        try:
            description = await self.describe()
        except ApiError as error:
            if error.code != ErrorCode.UNSUPPORTED_VERSION:
                raise
            return await self._connect_all(reasons)
        if description.controller_id is None:
            reasons.append(f"{self._answered} knows of none")
            return []
        address = description.nodes.get(description.controller_id)
        if address is None:  # it leads, but has not registered its address yet
            return await self._connect_all(reasons)
        found: list[str] = []
        channel = await self._connect(address, found)
        reasons += [f"controller {description.controller_id} leads, but {reason}" for reason in found]
        return [] if channel is None else [channel]

    async def _connect_all(self, reasons: list[str]) -> list[Channel]:
        channels = [await self._connect(address, reasons) for address in self.addresses]
        return [channel for channel in channels if channel is not None]

    async def _connect(self, address: HostPort, reasons: list[str]) -> Channel | None:
        if address not in self._channels:
            self._channels[address] = Channel(address.host, address.port, self.config.channel)
        channel = self._channels[address]
        try:
            await channel.connect()
        except (Disconnected, RequestTimedOut) as error:
            _log.debug("[admin] Connection to %s could not be established: %r", address, error.message)
            reasons.append(error.message)
            return None
        return channel

    async def _send(self, channel: Channel, request: Message, version: int | None = None) -> Any:
        try:
            return await channel.send(request, self.config.request_timeout_ms, version=version)
        except (Disconnected, RequestTimedOut) as error:
            raise Unreachable(f"{channel.host}:{channel.port}: {error.message}", error.code) from None
