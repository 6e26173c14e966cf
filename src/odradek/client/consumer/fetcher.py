"""Fetches ahead of the application: the driver between the fetch sessions, the network and the buffer.

Each node has at most one fetch on its way. `send` looks at all partitions and asks every node that is free; it is
called when a response has come, when the buffer has room, and when positions change. All of it happens in callbacks of
the loop: there is no task, and while the application works on one chunk the next one comes in.

A partition is read from its leader, or from the replica that the leader named (client.rack, KIP-392), until that is too
old or fails. A node of whose partitions one has a full buffer is left alone: to leave that partition out of the request
would take it out of the session.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from odradek.client.consumer.completed_fetch import CompletedFetch, RecordDecoding
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_collector import note_ends
from odradek.client.consumer.partition_state import FetchPosition, PartitionState
from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.net.metadata_cache import LeaderAndEpoch, Node
from odradek.client.net.network_client import NetworkClient
from odradek.client.settings.settings import ConsumerConfig
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError, Fault
from odradek.common.ids import ZERO_UUID
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.fetch_session import FetchRequestData, FetchSessionHandler, PartitionFetch
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData

_log = logging.getLogger("odradek.client.consumer")

#: The partition is elsewhere, or not there yet: the metadata will tell.
_ASK_METADATA = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)

#: The node knows less than we do, or failed: it is asked again.
_ASK_AGAIN = frozenset({ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR})

#: For the last request of a session: nobody waits for it longer than this when a consumer closes.
_CLOSE_TIMEOUT_MS = 1_000

FetchesByPartition = dict[TopicPartition, PartitionFetch]


class Fetcher:
    def __init__(
        self,
        settings: ConsumerConfig,
        network: NetworkClient,
        subscriptions: Subscriptions,
        buffer: FetchBuffer,
        reading: RecordDecoding,
    ) -> None:
        #: Called when a response has come; most often there is something new in the buffer.
        self.on_data: Callable[[], None] = lambda: None
        #: Called when a position has to be validated, or it is time to try again.
        self.on_change: Callable[[], None] = lambda: None
        #: What went wrong here and nowhere else; the next poll raises it.
        self.error: Exception | None = None
        self._partition_bytes = settings.max_partition_fetch_bytes
        self._settings = settings
        self._network = network
        self._subscriptions = subscriptions
        self._buffer = buffer
        self._reading = reading
        self._sessions: dict[int, FetchSessionHandler] = {}
        self._pending: set[int] = set()
        self._failures: dict[int, int] = {}
        #: Partitions whose last fetch failed are left alone until then.
        self._not_before_ms: dict[TopicPartition, float] = {}
        self._connecting: dict[int, asyncio.Task[None]] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._closed = False

    def send(self) -> None:
        """Asks every node that is free for what may be fetched from it."""
        if self._closed:
            return
        now_ms = asyncio.get_running_loop().time() * 1000
        self._buffer.clean()
        full: set[int] = set()
        fetches_by_node: dict[int, FetchesByPartition] = {}
        for partition, state in self._subscriptions.fetchable():
            position = state.position
            if position is None or position.leader is None:
                self._network.request_update()
                continue
            node_id = self._replica(partition, state, position.leader, now_ms)
            if node_id in self._pending:
                continue
            if self._buffer.is_full(partition):
                full.add(node_id)
            elif now_ms >= self._not_before_ms.get(partition, 0.0):
                fetches_by_node.setdefault(node_id, {})[partition] = self._fetch_of(partition, state, position)
        for node_id, partitions in fetches_by_node.items():
            if node_id not in full:
                self._post(node_id, partitions)

    def use_columns(self) -> None:
        """From now on chunks are read as columns."""
        self._partition_bytes = self._settings.columns_fetch_bytes

    async def close(self) -> None:
        """Ends the sessions at nodes that are connected."""
        self._closed = True
        for timer in self._timers:
            timer.cancel()
        for task in self._connecting.values():
            task.cancel()
        closing: list[asyncio.Future[Any]] = []
        for node_id, session in self._sessions.items():
            final = session.build_close_request()
            if final is None or not self._network.is_ready(node_id):
                continue
            sent = self._network.post(node_id, self._request(final), _CLOSE_TIMEOUT_MS)
            if sent is not None:
                sent.add_done_callback(_ignore_result)
                closing.append(sent)
        waiting = [*closing, *self._connecting.values()]
        if waiting:
            await asyncio.wait(waiting, timeout=_CLOSE_TIMEOUT_MS / 1000)

    # What to ask

    def _replica(self, partition: TopicPartition, state: PartitionState, leader: LeaderAndEpoch, now_ms: float) -> int:
        preferred = state.preferred_replica(now_ms)
        if preferred is None:
            return leader.node_id
        replicas = self._network.metadata.partitions(partition.topic)
        is_offline = partition.partition < len(replicas) and preferred in replicas[partition.partition].offline_replicas
        if is_offline or preferred not in self._network.metadata.nodes:
            state.preferred_read_replica = None
            self._network.request_update()
            return leader.node_id
        return preferred

    def _fetch_of(self, partition: TopicPartition, state: PartitionState, position: FetchPosition) -> PartitionFetch:
        last = self._buffer.last(partition)
        return PartitionFetch(
            self._network.metadata.topic_id(partition.topic) or ZERO_UUID,
            position.offset if last is None else last.end_offset,
            self._partition_bytes,
            -1 if position.leader is None else position.leader.epoch,
            generation=state.generation,
        )

    def _request(self, session_data: FetchRequestData) -> FetchRequest:
        settings = self._settings
        return FetchRequest(
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            isolation_level=settings.isolation_level.value,
            rack_id=settings.client_rack,
            session_id=session_data.session_id,
            session_epoch=session_data.epoch,
            topics=session_data.topics(),
            forgotten_topics_data=session_data.forgotten_topics(),
        )

    def _post(self, node_id: int, partitions: FetchesByPartition) -> None:
        if not self._network.is_ready(node_id):
            self._connect(node_id)
            return
        session = self._sessions.setdefault(node_id, FetchSessionHandler())
        built = session.build(partitions)
        request = self._request(built)
        version = min(self._network.version(node_id, FetchRequest) or 0, built.last_version)
        timeout_ms = self._settings.request_timeout_ms
        response: asyncio.Future[Any] | None
        if built.has_topic_ids:
            response = self._network.post(node_id, request, timeout_ms)
        else:
            response = asyncio.ensure_future(self._network.send(node_id, request, timeout_ms, version=version))
        if response is None:
            session.handle_error()
            self._connect(node_id)
            return
        self._pending.add(node_id)
        response.add_done_callback(partial(self._handle_completed_request, node_id, session, version))

    def _connect(self, node_id: int) -> None:
        if node_id not in self._connecting:
            self._connecting[node_id] = asyncio.ensure_future(self._connected(node_id))

    async def _connected(self, node_id: int) -> None:
        try:
            is_ready = await self._network.ready(node_id, self._settings.request_timeout_ms)
        finally:
            self._connecting.pop(node_id, None)
        if is_ready:
            self.send()
        else:
            self._handle_lost_node(node_id)

    # What comes back

    def _handle_completed_request(
        self, node_id: int, session: FetchSessionHandler, version: int, future: "asyncio.Future[Any]"
    ) -> None:
        self._pending.discard(node_id)
        if self._closed or future.cancelled():
            _ignore_result(future)
            return
        error = future.exception()
        if error is not None:
            if not isinstance(error, ApiError):
                self.error = Fault(f"fetching: {error!r}")
            _log.debug("The fetch from node %d failed and will be retried: %r", node_id, str(error))
            session.handle_error()
            self._handle_lost_node(node_id)
            return
        response: FetchResponse = future.result()
        data_by_partition = session.handle_response(response, version)
        if data_by_partition is None:
            _log.debug("Node %d rejected the fetch: %s.", node_id, error_name(response.error_code))
            if response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR:
                self._network.request_update()
            self._retry_node_later(node_id, max(response.throttle_time_ms, self._next_delay_ms(node_id)))
            return
        self._failures.pop(node_id, None)
        self._receive(response, session.partitions, data_by_partition)
        self.send()
        self.on_data()

    def _receive(
        self,
        response: FetchResponse,
        fetches: Mapping[TopicPartition, PartitionFetch],
        data_by_partition: Mapping[TopicPartition, PartitionData],
    ) -> None:
        self._buffer.clean()
        for partition, data in data_by_partition.items():
            state, fetch = self._subscriptions.state(partition), fetches[partition]
            if state is None or not state.has_valid_position or state.generation != fetch.generation:
                continue
            position, last = state.position, self._buffer.last(partition)
            if position is None or fetch.fetch_offset != (position.offset if last is None else last.end_offset):
                continue
            if data.error_code in _ASK_METADATA or data.error_code in _ASK_AGAIN:
                self._handle_partition_error(partition, state, data, response)
            elif data.error_code or data.records:
                self._buffer.add(
                    CompletedFetch(partition, state, fetch.generation, fetch.fetch_offset, data, self._reading)
                )
            else:
                note_ends(state, data)
            if data.preferred_read_replica >= 0 and not data.error_code:
                until_ms = asyncio.get_running_loop().time() * 1000 + self._settings.metadata_max_age_ms
                state.prefer_replica(data.preferred_read_replica, until_ms)

    def _handle_partition_error(
        self, partition: TopicPartition, state: PartitionState, data: PartitionData, response: FetchResponse
    ) -> None:
        backoff_ms = self._settings.retry_backoff_ms
        _log.debug("The fetch of %s failed: %s.", partition, error_name(data.error_code))
        if data.error_code in _ASK_METADATA:
            state.preferred_read_replica = None
            hint = data.current_leader
            if hint.leader_id >= 0 and hint.leader_epoch >= 0:
                nodes = {endpoint.node_id: endpoint for endpoint in response.node_endpoints}
                endpoint = nodes.get(hint.leader_id)
                node = None if endpoint is None else Node(endpoint.node_id, endpoint.host, endpoint.port, endpoint.rack)
                if self._network.metadata.update_leader(partition, hint.leader_id, hint.leader_epoch, node):
                    self._subscriptions.meet_leader(partition, LeaderAndEpoch(hint.leader_id, hint.leader_epoch))
                    self.on_change()
                    return
            self._network.request_update()
        self._not_before_ms[partition] = asyncio.get_running_loop().time() * 1000 + backoff_ms
        self._send_after(backoff_ms)

    # What failed

    def _handle_lost_node(self, node_id: int) -> None:
        """No answer from a node, or no connection to it: its partitions may have gone elsewhere."""
        session = self._sessions.get(node_id)
        for partition in session.partitions if session is not None else ():
            if (state := self._subscriptions.state(partition)) is not None:
                state.preferred_read_replica = None
        self._network.request_update()
        self._retry_node_later(node_id, max(self._settings.retry_backoff_ms, self._next_delay_ms(node_id)))

    def _next_delay_ms(self, node_id: int) -> float:
        """None after the first failure: a session that the node forgot is made anew at once."""
        failures = self._failures.get(node_id, 0)
        self._failures[node_id] = failures + 1
        return self._network.backoff.delay_ms(failures, self._network.random)

    def _retry_node_later(self, node_id: int, delay_ms: float) -> None:
        """The node counts as busy until then."""
        self._pending.add(node_id)
        self._send_after(delay_ms, node_id)

    def _send_after(self, delay_ms: float, node_id: int | None = None) -> None:
        def is_time() -> None:
            self._timers.discard(timer)
            if node_id is not None:
                self._pending.discard(node_id)
            self.send()
            self.on_change()

        timer = asyncio.get_running_loop().call_later(delay_ms / 1000, is_time)
        self._timers.add(timer)


def _ignore_result(response: "asyncio.Future[Any]") -> None:
    """Nobody wants the answer; an error in it is not to be reported as one that nobody saw."""
    if not response.cancelled():
        response.exception()
