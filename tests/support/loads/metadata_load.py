"""Metadata load over the wire: topics that are created and deleted at the active controller, and what was acknowledged.

A controller places replicas only on brokers that are alive, so the load brings one: `FakeBroker` registers, says that
it has read everything, and goes on sending heartbeats. The workers of `MetadataLoad` each have topics of their own and
do one change after the other, so that what must be there at the end is known exactly. A change whose answer got lost,
or that a controller gave up, is tried again until an answer is definite: "exists already" to a second attempt means
that the first one had worked, and controllers say it only when that is durable.
"""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any, Protocol

from odradek.client.net.channel import Channel
from odradek.common.failures import ApiError
from odradek.metadata.features.feature_versions import supported_features
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from support.processes.nodes import HOST, Cluster, Node
from support.processes.nodes_metadata import check_identical, image_at, topics_of
from support.processes.nodes_quorum import CHANNEL_CONFIG, Quorum, QuorumView

FAKE_BROKER_ID = 100

#: Shorter than an election takes, so that a paused leader does not hold the load for longer than the quorum needs.
_ANSWER_TIMEOUT_MS = 1_000
#: A change and its retries; longer than any election on a busy machine.
_CHANGE_TIMEOUT_S = 90
_RETRY_PAUSE_S = 0.01
_HEARTBEAT_INTERVAL_S = 0.1
#: How long a node that died by itself may go unnoticed.
_CHECK_INTERVAL_S = 0.5
#: "Everything": a broker that has not read up to its own registration stays fenced.
_ALL_METADATA = 2**40

#: Not there (yet), or gone while it had the request.
_ELSEWHERE = (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT)
#: A new leader may have fenced the only broker before it heard of it.
_NO_BROKER_NOW = (ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.BROKER_NOT_AVAILABLE)


class Coded(Protocol):
    error_code: int


class ActiveController:
    """Sends to whichever controller is active, with a connection of its own to each."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._channels: dict[int, Channel] = {}
        self._node_id = cluster.controllers[0].id

    async def send(self, request: Message, result: Callable[[Any], Coded], *, retry: tuple[ErrorCode, ...] = ()) -> Any:
        """The first definite answer, and how many attempts had none: `(result, attempts)`."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + _CHANGE_TIMEOUT_S
        attempts = 0
        while loop.time() < deadline_s:
            answer = await self._try(request)
            if answer is not None:
                coded = result(answer)
                if coded.error_code not in (*_ELSEWHERE, *retry):
                    return coded, attempts
                if coded.error_code in retry:
                    await asyncio.sleep(_RETRY_PAUSE_S)
                    continue
            attempts += 1
            await self._next()
        raise AssertionError(f"no controller took {request} for {_CHANGE_TIMEOUT_S} s")

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    async def _try(self, request: Message) -> Any:
        node = self._cluster[self._node_id]
        if not node.is_running:
            return None
        channel = self._channels.get(node.id)
        if channel is None:
            channel = self._channels[node.id] = Channel(HOST, node.controller_port, CHANNEL_CONFIG)
        try:
            return await channel.send(request, _ANSWER_TIMEOUT_MS)
        except ApiError:
            return None

    async def _next(self) -> None:
        ids = [node.id for node in self._cluster.controllers]
        self._node_id = ids[(ids.index(self._node_id) + 1) % len(ids)]
        await asyncio.sleep(_RETRY_PAUSE_S)


class FakeBroker:
    def __init__(self, cluster: Cluster, broker_id: int = FAKE_BROKER_ID) -> None:
        self.id = broker_id
        self._cluster = cluster
        self._controller = ActiveController(cluster)
        self._incarnation_id = os.urandom(16)
        self._directory_id = os.urandom(16)
        self._epoch = -1
        self.is_unfenced = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                if self._epoch < 0:
                    await self._register()
                await self._heartbeat()
                await asyncio.sleep(_HEARTBEAT_INTERVAL_S)
        finally:
            await self._controller.close()

    async def _register(self) -> None:
        features = [
            Feature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
            for name, levels in supported_features().items()
        ]
        request = BrokerRegistrationRequest(
            broker_id=self.id,
            cluster_id=self._cluster.cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[Listener(name="PLAINTEXT", host=HOST, port=1, security_protocol=0)],
            features=features,
            rack=None,
            log_dirs=[self._directory_id],
        )
        result, _ = await self._controller.send(request, lambda answer: answer)
        assert result.error_code == 0, f"the broker was not registered: {ErrorCode(result.error_code).name}"
        self._epoch = result.broker_epoch

    async def _heartbeat(self) -> None:
        request = BrokerHeartbeatRequest(
            broker_id=self.id, broker_epoch=self._epoch, current_metadata_offset=_ALL_METADATA
        )
        result, _ = await self._controller.send(request, lambda answer: answer)
        if result.error_code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
            self._epoch = -1
            return
        assert result.error_code == 0, f"a heartbeat was refused: {ErrorCode(result.error_code).name}"
        if not result.is_fenced:
            self.is_unfenced.set()


@dataclass(frozen=True, slots=True)
class Acknowledged:
    at_s: float
    change: str
    topic: str


class MetadataLoad:
    """`async with MetadataLoad(cluster) as load:` runs it; on leaving, every change that was begun is finished."""

    def __init__(self, cluster: Cluster, *, workers: int = 2) -> None:
        self._cluster = cluster
        self._worker_count = workers
        self._tasks: list[asyncio.Task[None]] = []
        self._broker = FakeBroker(cluster)
        self._is_stopping = False
        self._progress = asyncio.Event()
        self.acknowledged: list[Acknowledged] = []
        #: What must be there: the id of each topic, None where the answer with the id was lost.
        self.topics: dict[str, bytes | None] = {}

    async def __aenter__(self) -> "MetadataLoad":
        self._tasks.append(asyncio.create_task(self._broker.run()))
        await self._or_failure(self._broker.is_unfenced.wait())
        self._tasks += [asyncio.create_task(self._work(number)) for number in range(self._worker_count)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_stopping = True
        workers = self._tasks[1:]
        try:
            if kind is None:
                await self._or_failure(asyncio.gather(*workers))
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def more(self, count: int = 10) -> None:
        """Waits until so many further changes have been acknowledged."""
        target = len(self.acknowledged) + count
        while len(self.acknowledged) < target:
            self._progress.clear()
            await self._or_failure(self._progress.wait())

    def longest_gap_ms(self, since_s: float = 0.0, until_s: float = math.inf) -> int:
        """Between two acknowledgements, of which the later one came between these moments of the loop's clock."""
        times_s = [change.at_s for change in self.acknowledged]
        gaps_s = [after - before for before, after in pairwise(times_s) if since_s < after <= until_s]
        return round(max(gaps_s, default=0.0) * 1000)

    async def _or_failure(self, awaited: Awaitable[Any]) -> None:
        """Waits, but not longer than all tasks are well."""
        waiting = asyncio.ensure_future(awaited)
        while not waiting.done():
            going = [task for task in self._tasks if not task.done()]
            await asyncio.wait([waiting, *going], return_when=asyncio.FIRST_COMPLETED, timeout=_CHECK_INTERVAL_S)
            self._cluster.check_alive()
            for task in self._tasks:
                if task.done():
                    task.result()
        waiting.result()

    async def _work(self, number: int) -> None:
        """Two of three topics go again, so that the image stays small and both kinds of change are well mixed."""
        controller = ActiveController(self._cluster)
        try:
            count = 0
            while not self._is_stopping:
                name = f"load-{number}-{count}"
                await self._create(controller, name)
                if count % 3:
                    await self._delete(controller, name)
                count += 1
        finally:
            await controller.close()

    async def _create(self, controller: ActiveController, name: str) -> None:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=_ANSWER_TIMEOUT_MS)
        result, attempts = await controller.send(request, lambda answer: answer.topics[0], retry=_NO_BROKER_NOW)
        existed = attempts > 0 and result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert result.error_code == 0 or existed, _refused("create", name, result)
        self.topics[name] = None if existed else result.topic_id
        self._acknowledge("create", name)

    async def _delete(self, controller: ActiveController, name: str) -> None:
        """Kafka's controllers look up the name before they look whether they are active, so "no such topic" may come
        from one that is behind. The active one is asked whether it is so."""
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=_ANSWER_TIMEOUT_MS)
        in_doubt = 0
        while True:
            result, attempts = await controller.send(request, lambda answer: answer.responses[0])
            in_doubt += attempts
            if result.error_code == 0:
                break
            assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _refused("delete", name, result)
            if not await self._exists(controller, name):
                assert in_doubt, f"{name} was created and is gone"
                break
        del self.topics[name]
        self._acknowledge("delete", name)

    async def _exists(self, controller: ActiveController, name: str) -> bool:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=_ANSWER_TIMEOUT_MS, validate_only=True)
        result, _ = await controller.send(request, lambda answer: answer.topics[0], retry=_NO_BROKER_NOW)
        assert result.error_code in (0, ErrorCode.TOPIC_ALREADY_EXISTS), _refused("check", name, result)
        return bool(result.error_code)

    def _acknowledge(self, change: str, name: str) -> None:
        self.acknowledged.append(Acknowledged(asyncio.get_running_loop().time(), change, name))
        self._progress.set()


async def check_nothing_lost(quorum: Quorum, load: MetadataLoad) -> int:
    """To be called when the load is over and all controllers run: waits until all have everything, kills them, and
    reads their disks. Every controller has the same log, and its topics are exactly those that were acknowledged.
    How many batches were compared."""
    view = await quorum.caught_up()
    running = quorum.cluster.running_controllers()
    for node in running:
        node.kill()
    return check_disks(running, view, load.topics)


def check_disks(nodes: list[Node], view: QuorumView, topics: dict[str, bytes | None]) -> int:
    compared = check_identical(nodes, view.high_watermark)
    for node in nodes:
        found = topics_of(image_at(node, view.high_watermark))
        lost, unasked = sorted(topics.keys() - found.keys()), sorted(found.keys() - topics.keys())
        assert not lost, f"node {node.id} has lost {len(lost)} topics that were acknowledged: {lost[:5]}"
        assert not unasked, f"node {node.id} has topics that were deleted or never created: {unasked[:5]}"
        wrong = [name for name, topic_id in topics.items() if topic_id not in (None, found[name])]
        assert not wrong, f"node {node.id} has topics with other ids than were acknowledged: {wrong[:5]}"
    return compared


def _refused(change: str, name: str, result: Any) -> str:
    return f"{change} {name}: {ErrorCode(result.error_code).name}: {result.error_message}"
