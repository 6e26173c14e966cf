"""The driver of a producer: sends what the accumulator has, and what the transaction manager asks.

`wake` makes it look once, soon: it drains the leaders that can be sent to, one Produce request for each, up to
max.in.flight.requests.per.connection at a time, and sets a timer for the next time that something is due: the end of
a linger, a back-off, a delivery time-out. It is woken by those who append, by answers, by connections that come up and
by news about leaders. Nothing in it waits, so that it needs no task; only requests of transactions, which look for
their coordinator first, have one.

What answers mean for batches is decided in `batch_results`. A hint at the new leader (KIP-951) is used before the
metadata is asked for.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from odradek.client.net.metadata_cache import Node
from odradek.client.net.network_client import NetworkClient
from odradek.client.producer.batch_results import BatchResults
from odradek.client.producer.pending_request import PendingRequest
from odradek.client.producer.producer_batch import NO_OFFSET, ProducerBatch
from odradek.client.producer.record_accumulator import RecordAccumulator
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.settings.settings import ProducerConfig
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.errors import Disconnected, ProducerClosed, ProducerFailed, RequestTimedOut
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse
from odradek.records.record import NO_TIMESTAMP

logger = logging.getLogger("odradek.client.producer")

#: From this version on topics are ids; and the last with which brokers do not add partitions to transactions.
_TOPIC_IDS_FROM = 13
_TRANSACTIONS_V1_LAST = 11

_NO_LEADER = -1
_LEADER_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


class Sender:
    def __init__(
        self,
        settings: ProducerConfig,
        network: NetworkClient,
        accumulator: RecordAccumulator,
        transactions: TransactionManager | None,
        on_released: Callable[[], None],
    ) -> None:
        """`on_released` is called when memory has become free."""
        self._settings = settings
        self._network = network
        self._accumulator = accumulator
        self._transactions = transactions
        self._results = BatchResults(accumulator, transactions, settings.retries, on_released)
        self._loop = asyncio.get_running_loop()
        self._is_woken = self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = float("inf")
        self._tasks: set[asyncio.Task[None]] = set()
        #: Nodes that a task waits for.
        self._awaited: set[int] = set()
        self._awaits_metadata = False
        self._has_transaction_request = False
        self._in_flight = 0

    @property
    def in_flight(self) -> int:
        return self._in_flight

    def now_ms(self) -> float:
        return self._loop.time() * 1000

    def wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._run)

    async def close(self) -> None:
        """At once: whoever waits for anything is told."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._transactions is not None:
            self._transactions.close()
        self._results.fail(
            self._accumulator.take_all(), ProducerClosed("the producer was closed before it was acknowledged")
        )
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # One round

    def _run(self) -> None:
        self._is_woken = False
        if self._is_closed:
            return
        try:
            self._do_round()
        except Exception as error:
            # A mistake of ours. Records are not kept waiting for what cannot come: the application hears of it.
            logger.exception("the sender failed")
            self._results.fail(self._accumulator.take_all(), ProducerFailed(f"the sender failed: {error!r}"))

    def _do_round(self) -> None:
        now_ms = self.now_ms()
        self._results.expire(now_ms)
        if not self._results.fail_unsendable():
            return
        if self._transactions is not None:
            self._transactions.renew_identity()
            self._send_next_request(self._transactions)
        next_ms = self._send_ready(now_ms)
        self._set_timer(min(next_ms, self._accumulator.next_expiry_ms()))

    def _set_timer(self, at_ms: float) -> None:
        if at_ms < self._timer_ms or self._timer_ms <= self.now_ms():
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._timer_ms = at_ms
            if at_ms != float("inf"):
                self._timer = self._loop.call_at(at_ms / 1000, self._run_by_timer)

    def _run_by_timer(self) -> None:
        self._timer, self._timer_ms = None, float("inf")
        self._run()

    # Transactions

    def _send_next_request(self, transactions: TransactionManager) -> None:
        while not self._has_transaction_request and transactions.has_pending_requests:
            pending = transactions.next_request(self._accumulator.has_incomplete)
            if pending is not None:
                self._has_transaction_request = True
                self._begin(self._run_request(pending))
            elif not transactions.states.has_error:
                return

    async def _run_request(self, pending: PendingRequest) -> None:
        try:
            if pending.backoff_ms:
                await asyncio.sleep(pending.backoff_ms / 1000)
            response = await self._send_to_coordinator(pending)
            self._has_transaction_request = False
            pending.handle_response(response)
        except ApiError as error:
            self._has_transaction_request = False
            pending.handle_error(error)
        except Exception as error:  # noqa: BLE001 - a mistake of ours or of the caller: nobody is to wait for ever
            self._has_transaction_request = False
            pending.handle_error(ProducerFailed(f"{type(pending).__name__} failed: {error!r}"))
        self.wake()

    async def _send_to_coordinator(self, pending: PendingRequest) -> Any:
        network, request = self._network, pending.request
        if pending.coordinator is None:
            return await network.send_to_any(request)
        node = await network.coordinator(pending.coordinator, pending.coordinator_key, self._settings.max_block_ms)
        if not await network.ready(node, self._settings.request_timeout_ms):
            raise RequestTimedOut(f"the coordinator {node} cannot be reached")
        self.note_features()
        newest, last = network.version(node, type(request)), pending.last_version
        version = None if newest is None or last is None else min(newest, last)
        return await network.send(node, request, version=version)

    def note_features(self) -> None:
        """Store the version of transactions that the connected nodes reported."""
        if self._transactions is not None:
            features = self._network.features
            self._transactions.features.note(features.epoch, features.levels.get("transaction.version", 0))

    # Produce requests

    def _send_ready(self, now_ms: float) -> float:
        """Send what is ready, and return the time of the next check."""
        accumulator, network = self._accumulator, self._network
        ready = accumulator.ready(now_ms)
        if ready.unknown_topics:
            self._await_metadata(ready.unknown_topics, now_ms)
        nodes = []
        for node in ready.nodes:
            if network.is_ready(node):
                nodes.append(node)
            else:
                accumulator.node_not_ready(node, now_ms)
                self._await_node(node)
        if not nodes:
            return ready.next_check_ms
        drained = accumulator.drain(nodes, now_ms)
        for node, batches in drained.batches.items():
            self._send(node, batches)
        # What was not drained although it is ready waits for an answer, which wakes us.
        if drained.has_more:
            self.wake()
        return min(ready.next_check_ms, drained.next_check_ms)

    def _send(self, node: int, batches: list[ProducerBatch]) -> None:
        version = self._version(node)
        request = self._request(batches, version)
        if self._settings.acks == 0:
            is_sent = self._network.post_and_forget(node, request, version=version)
            for batch in batches:
                self._complete(batch, _SENT if is_sent else _NOT_SENT)
            return
        try:
            response = self._network.post(node, request, self._settings.request_timeout_ms, version=version)
        except ApiError as error:
            self._fail_request(batches, error)
            return
        if response is None:
            self._fail_request(batches, RequestTimedOut("the connection has no free place"))
            return
        self._in_flight += 1
        sent = {batch.topic_partition: batch for batch in batches}
        response.add_done_callback(lambda future: self._handle_completed_request(future, sent))

    def _version(self, node: int) -> int | None:
        newest, transactions = self._network.version(node, ProduceRequest), self._transactions
        if newest is not None and transactions is not None and transactions.states.is_transactional:
            return newest if transactions.features.is_version_2 else min(newest, _TRANSACTIONS_V1_LAST)
        return newest

    def _request(self, batches: list[ProducerBatch], version: int | None) -> ProduceRequest:
        topics: dict[str, TopicProduceData] = {}
        codec, metadata = self._accumulator.settings.codec, self._network.metadata
        for batch in batches:
            topic, partition_index = batch.topic_partition
            topic_data = topics.get(topic)
            if topic_data is None:
                topic_id = metadata.topic_id(topic) or ZERO_UUID
                topic_data = topics[topic] = TopicProduceData(name=topic, topic_id=topic_id)
            topic_data.partition_data.append(PartitionProduceData(index=partition_index, records=batch.data(codec)))
        transactions = self._transactions
        return ProduceRequest(
            transactional_id=None if transactions is None else transactions.states.transactional_id,
            acks=self._settings.acks,
            timeout_ms=self._settings.request_timeout_ms,
            topic_data=list(topics.values()),
        )

    def _handle_completed_request(
        self, future: "asyncio.Future[ProduceResponse]", sent: Mapping[TopicPartition, ProducerBatch]
    ) -> None:
        self._in_flight -= 1
        if self._is_closed:
            return
        error = future.exception()
        if isinstance(error, ApiError):
            self._fail_request(list(sent.values()), error)
        elif error is not None:
            raise error
        else:
            self._handle_response(future.result(), dict(sent))
        self._run_soon()

    def _run_soon(self) -> None:
        """At once, unless a round is due anyway."""
        if not self._is_woken:
            self._run()

    def _fail_request(self, batches: list[ProducerBatch], error: ApiError) -> None:
        response = PartitionProduceResponse(error_code=error.code, error_message=error.message, base_offset=NO_OFFSET)
        for batch in batches:
            self._complete(batch, response)
        self._network.request_update()
        self.wake()

    def _handle_response(self, response: ProduceResponse, sent: dict[TopicPartition, ProducerBatch]) -> None:
        metadata = self._network.metadata
        nodes = {
            endpoint.node_id: Node(endpoint.node_id, endpoint.host, endpoint.port, endpoint.rack)
            for endpoint in response.node_endpoints
        }
        for topic in response.responses:
            name = topic.name or metadata.topic_name(topic.topic_id) or _only_topic(sent)
            for partition in topic.partition_responses:
                topic_partition = TopicPartition(name, partition.index)
                batch = sent.pop(topic_partition, None)
                if batch is None:
                    continue
                self._follow_leader(topic_partition, partition, nodes)
                self._complete(batch, partition)
        for batch in sent.values():  # of which the broker said nothing
            self._complete(batch, _UNKNOWN)

    def _follow_leader(
        self, topic_partition: TopicPartition, response: PartitionProduceResponse, nodes: Mapping[int, Node]
    ) -> None:
        leader = response.current_leader
        if response.error_code in _LEADER_ERRORS and leader.leader_id != _NO_LEADER and leader.leader_epoch >= 0:
            node = nodes.get(leader.leader_id)
            self._network.metadata.update_leader(topic_partition, leader.leader_id, leader.leader_epoch, node)

    def _complete(self, batch: ProducerBatch, response: PartitionProduceResponse) -> None:
        if self._results.complete(batch, response, self.now_ms()):
            self._network.request_update()

    # Waiting for others

    def _await_node(self, node: int) -> None:
        if node not in self._awaited:
            self._awaited.add(node)
            self._begin(self._until_ready(node))

    async def _until_ready(self, node: int) -> None:
        try:
            is_ready = await self._network.ready(node, self._settings.request_timeout_ms)
            if not is_ready:
                # It may lead nothing any more by the time it can be reached.
                self._network.request_update()
                await asyncio.sleep(self._settings.reconnect_backoff_ms / 1000)
        finally:
            self._awaited.discard(node)
        self.wake()

    def _await_metadata(self, topics: Sequence[str], now_ms: float) -> None:
        for topic in topics:
            self._network.metadata.use_topic(topic, now_ms)
        self._network.request_update()
        if not self._awaits_metadata:
            self._awaits_metadata = True
            self._begin(self._until_updated(self._network.metadata.version))

    async def _until_updated(self, version: int) -> None:
        """Or until it is time to ask again: a leader may not have been elected yet."""
        try:
            async with asyncio.timeout(self._settings.retry_backoff_ms / 1000):
                await self._network.updated(version)
        except (TimeoutError, Disconnected):
            pass
        finally:
            self._awaits_metadata = False
        self.wake()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _only_topic(sent: Mapping[TopicPartition, ProducerBatch]) -> str:
    """Return the topic name for a response whose topic id is not cached any more."""
    return next(iter(sent)).topic if sent else ""


_SENT = PartitionProduceResponse(base_offset=NO_OFFSET, log_append_time_ms=NO_TIMESTAMP)
_NOT_SENT = PartitionProduceResponse(error_code=ErrorCode.NETWORK_EXCEPTION, base_offset=NO_OFFSET)
_UNKNOWN = PartitionProduceResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, base_offset=NO_OFFSET)
