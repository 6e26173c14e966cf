"""What the controllers of a cluster say about their quorum, over the wire: who leads, in which epoch, how far each is.

`Quorum` keeps one channel to each controller. Only a leader describes the quorum, so the one that answers is it; of
two that do, one was paused or cut off, and the higher epoch counts.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from odradek.client.net.channel import Channel, ChannelConfig
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from odradek.protocol.messages.describe_quorum_response import DescribeQuorumResponse, ReplicaState
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.processes.nodes import Cluster, Node

#: A JVM starts in 3 s and an election takes 2; a machine that is busy gets many times that.
WAIT_TIMEOUT_S = 180

_ANSWER_TIMEOUT_MS = 2_000
_PAUSE_S = 0.02

#: Tests look for a node that comes back as soon as it is there.
CHANNEL_CONFIG = ChannelConfig(client_id="test", reconnect_backoff_ms=20, reconnect_backoff_max_ms=40)

#: Nobody has this id: a controller says so, and a leader that is not one yet says that.
_NO_BROKER = 2**31 - 1

#: What DescribeCluster is asked for.
_CONTROLLERS = 2

T = TypeVar("T")


class Replica(NamedTuple):
    """-1 while the leader does not know it."""

    end_offset: int
    #: When it last asked the leader for more, of the wall clock.
    fetched_at_ms: int


@dataclass(frozen=True, slots=True)
class QuorumView:
    """By node id. One that lost its disk may be there twice: as the voter it was, and as the observer it has become."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: Mapping[int, Replica]
    observers: Mapping[int, Replica]

    def has(self, node_id: int, offset: int, since_ms: int) -> bool:
        """Whether the node has said since then that it has everything up to the offset. What it said before does not
        count: it may have been killed in between."""
        if node_id == self.leader_id:
            return self.high_watermark >= offset
        found = [group[node_id] for group in (self.voters, self.observers) if node_id in group]
        return any(replica.end_offset >= offset and replica.fetched_at_ms > since_ms for replica in found)


class Quorum:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._channels: dict[int, Channel] = {}
        self._opened: list[Channel] = []

    async def __aenter__(self) -> "Quorum":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for channel in (*self._channels.values(), *self._opened):
            await channel.close()

    def open(self, node: Node, config: ChannelConfig = CHANNEL_CONFIG) -> Channel:
        """A connection of the test's own to a controller, closed with the quorum at the latest."""
        channel = Channel(node.host, node.controller_port, config)
        self._opened.append(channel)
        return channel

    async def ask(self, node: Node, request: Message) -> Any:
        """The node's answer, None if there is none."""
        channel = self._channels.get(node.id)
        if channel is None:
            channel = self._channels[node.id] = Channel(node.host, node.controller_port, CHANNEL_CONFIG)
        try:
            return await channel.send(request, _ANSWER_TIMEOUT_MS)
        except ApiError:
            return None

    async def view(self) -> QuorumView | None:
        """As the leader sees it, if there is one now."""
        answers = [await self.ask(node, _describe_request()) for node in self.cluster.running_controllers()]
        views = [view for answer in answers if (view := _read(answer)) is not None]
        return max(views, key=lambda view: view.leader_epoch, default=None)

    async def leader(self, *, above_epoch: int = -1) -> QuorumView:
        """Waits for a leader of an epoch above this one."""

        async def elected() -> QuorumView | None:
            view = await self.view()
            return view if view is not None and view.leader_epoch > above_epoch else None

        return await self.wait(elected, f"there is a leader of an epoch above {above_epoch}")

    async def controller(self) -> QuorumView:
        """Waits for a leader that acts as the controller: it does once it has caught up with its own log."""

        async def acts() -> QuorumView | None:
            view = await self.view()
            if view is None:
                return None
            answer = await self.ask(self.cluster[view.leader_id], UnregisterBrokerRequest(broker_id=_NO_BROKER))
            return view if answer is not None and answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED else None

        return await self.wait(acts, "the leader acts as the controller")

    async def caught_up(self, *node_ids: int) -> QuorumView:
        """Waits until these, or all running controllers, have everything that is committed when they are asked; the
        view's high watermark is what they have."""
        wanted = node_ids or tuple(node.id for node in self.cluster.running_controllers())
        since_ms = time.time_ns() // 1_000_000

        async def knows_what_is_committed() -> QuorumView | None:
            view = await self.view()
            return view if view is not None and view.high_watermark >= 0 else None

        begin = (await self.wait(knows_what_is_committed, "the leader knows what is committed")).high_watermark

        async def all_there() -> QuorumView | None:
            view = await self.view()
            if view is None or view.high_watermark < begin:
                return None
            return view if all(view.has(node_id, begin, since_ms) for node_id in wanted) else None

        view = await self.wait(all_there, f"nodes {wanted} have everything up to offset {begin}")
        return replace(view, high_watermark=begin)  # the leader may have more by now

    async def describes_cluster(self) -> None:
        """Waits until every running controller can: before it has metadata it says that it is too old for that."""

        async def all_can() -> bool | None:
            request = DescribeClusterRequest(endpoint_type=_CONTROLLERS)
            answers = [await self.ask(node, request) for node in self.cluster.running_controllers()]
            return all(answer is not None and not answer.error_code for answer in answers) or None

        await self.wait(all_can, "every controller describes the cluster")

    async def wait(self, probe: Callable[[], Awaitable[T | None]], what: str, timeout_s: float = WAIT_TIMEOUT_S) -> T:
        """The first answer of `probe` that is not None."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_s
        while True:
            self.cluster.check_alive()
            found = await probe()
            if found is not None:
                return found
            assert loop.time() < deadline_s, f"waited {timeout_s} s in vain until {what}; last: {await self.view()}"
            await asyncio.sleep(_PAUSE_S)


def _describe_request() -> DescribeQuorumRequest:
    partition = PartitionData(partition_index=0)
    return DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[partition])])


def _read(answer: DescribeQuorumResponse | None) -> QuorumView | None:
    if answer is None or answer.error_code or not answer.topics:
        return None
    partition = answer.topics[0].partitions[0]
    if partition.error_code:
        return None
    return QuorumView(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        {voter.replica_id: _replica(voter) for voter in partition.current_voters},
        {observer.replica_id: _replica(observer) for observer in partition.observers},
    )


def _replica(state: ReplicaState) -> Replica:
    return Replica(state.log_end_offset, state.last_fetch_timestamp)
