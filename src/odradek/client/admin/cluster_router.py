"""Requests to a node of a cluster that responds, or to the active controller, given some addresses of the cluster.

The addresses are either those of brokers or those of controllers. Brokers forward requests that are meant for the
active controller, so any of them will do. Controllers do not: one that responds is asked for the leader with
DescribeCluster, and requests go to the leader itself. Controllers that do not know the leader, because they are old or
have no metadata yet, are tried one after the other. While there is no leader, or the named leader does not respond,
this is repeated until the API timeout has expired, since an election takes only moments.

Addresses are tried in their order, the one that responded last first. After a broken connection, a request is sent
again only if the caller permits it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
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

#: retry.backoff.ms, between two lookups of the leader.
_RETRY_BACKOFF_S = 0.1

_BROKERS, _CONTROLLERS = 1, 2

_NOT_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_CONTROLLER, ErrorCode.LEADER_NOT_AVAILABLE)


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """Nodes of a cluster, as one of them knows it."""

    cluster_id: str
    #: None if the node knows of no leader. Brokers name one of themselves instead.
    controller_id: int | None
    #: Brokers if a broker was asked, else controllers.
    nodes: Mapping[int, HostPort]


class ClusterRouter:
    """Sends requests to any node, to one node, or to the active controller. A context manager that closes connections.

    `addresses` are those of brokers, or with `are_controllers` those of controllers.
    """

    def __init__(self, addresses: Sequence[HostPort], config: ClientConfig, *, are_controllers: bool = False) -> None:
        self.addresses = tuple(addresses)
        self.are_controllers = are_controllers
        self.config = config
        self._channels: dict[HostPort, Channel] = {}
        self._last_responding: HostPort | None = None
        self._leader: Channel | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    async def any_node(self) -> Channel:
        """Return a channel to a node that responds. Raises Unreachable with every address and its error."""
        reasons: list[str] = []
        for address in sorted(self.addresses, key=lambda address: address != self._last_responding):
            channel = await self._connect(address, reasons)
            if channel is not None:
                self._last_responding = address
                return channel
        role = "controller" if self.are_controllers else "broker"
        raise Unreachable(f"no {role} answers: {'; '.join(reasons)}")

    async def describe(self) -> ClusterDescription:
        channel = await self.any_node()
        endpoint_type = _CONTROLLERS if self.are_controllers else _BROKERS
        response: DescribeClusterResponse = await self._send(
            channel, DescribeClusterRequest(endpoint_type=endpoint_type)
        )
        if response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE:
            expected, actual = ("controller", "broker") if self.are_controllers else ("broker", "controller")
            raise WrongEndpoint(f"{channel.host}:{channel.port} is the address of a {actual}, not of a {expected}")
        check_error(response.error_code, response.error_message)
        return ClusterDescription(
            response.cluster_id,
            None if response.controller_id < 0 else response.controller_id,
            {node.broker_id: HostPort(node.host, node.port) for node in response.brokers},
        )

    async def send_to_any(self, request: Message) -> Any:
        """Return the response of a node that responds; its error code is not checked."""
        return await self._send(await self.any_node(), request)

    async def send_to(self, address: HostPort, request: Message, *, last_version: int | None = None) -> Any:
        """Return the response of this node, in no version after `last_version`; its error code is not checked.

        Raises Unreachable.
        """
        reasons: list[str] = []
        channel = await self._connect(address, reasons)
        if channel is None:
            raise Unreachable(reasons[0])
        version = None if last_version is None else min(last_version, channel.version_for(request))
        return await self._send(channel, request, version)

    async def send_change(self, request: Message, error_codes_of: Callable[[Any], Iterable[int]]) -> Any:
        """Return the active controller's response to a change; `error_codes_of` returns all error codes in it.

        The request is sent again only if the node is not the active controller: after a broken connection it is unknown
        whether the change was made.
        """

        def not_controller(response: Any) -> int:
            was_rejected = ErrorCode.NOT_CONTROLLER in error_codes_of(response)
            return ErrorCode.NOT_CONTROLLER if was_rejected else ErrorCode.NONE

        return await self.send_to_leader(request, not_controller, repeatable=False)

    async def send_to_leader(self, request: Message, error_code_of: Callable[[Any], int], *, repeatable: bool) -> Any:
        """Return the response of the active controller.

        `error_code_of` returns the error code in a response; only codes of nodes that do not lead are handled here.
        `repeatable` permits to send the request again after a broken connection. Raises NoLeader if no leader is found
        in time, and what `any_node` and `Channel.send` raise.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self.config.api_timeout_ms / 1000
        while True:
            reasons: list[str] = []
            for channel in await self._leader_candidates(reasons):
                try:
                    response = await self._send(channel, request)
                except Unreachable as error:
                    if not repeatable:
                        raise
                    reasons.append(error.message)
                    continue
                code = error_code_of(response)
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
            f"no leader of the quorum responded within {seconds:g} s ({'; '.join(reasons)}); "
            "an election needs a majority of the voters running and connected to each other"
        )

    async def _leader_candidates(self, reasons: list[str]) -> list[Channel]:
        """Return channels to the nodes that may be the leader; without a leader none, with the reason in `reasons`."""
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
            reasons.append(f"{self._last_responding} knows no leader")
            return []
        address = description.nodes.get(description.controller_id)
        if address is None:  # it leads, but has not registered its address yet
            return await self._connect_all(reasons)
        errors: list[str] = []
        channel = await self._connect(address, errors)
        reasons += [f"controller {description.controller_id} leads, but {error}" for error in errors]
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
