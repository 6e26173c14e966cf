"""Transactions: list, describe, fence their producers, abort hanging ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.node_requests import CoordinatorRequests, LeaderRequests
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.partitions_by_topic import indexes_by_topic
from odradek.client.errors import check_error, refusal
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.types import TopicPartition
from odradek.common.addresses import HostPort
from odradek.errors import Refused
from odradek.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from odradek.protocol.messages.describe_producers_response import DescribeProducersResponse
from odradek.protocol.messages.describe_producers_response import ProducerState as ProducerStateData
from odradek.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from odradek.protocol.messages.describe_transactions_response import DescribeTransactionsResponse, TransactionState
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.init_producer_id_response import InitProducerIdResponse
from odradek.protocol.messages.list_transactions_request import ListTransactionsRequest
from odradek.protocol.messages.list_transactions_response import ListTransactionsResponse
from odradek.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse

_NO_FILTER = -1


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """State of a transaction, and its coordinator."""

    transactional_id: str
    coordinator_id: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """Transaction with its producer and its partitions."""

    transactional_id: str
    coordinator: HostPort
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    #: None if no transaction is open.
    started_ms: int | None
    partitions: tuple[TopicPartition, ...]


class ProducerIdAndEpoch(NamedTuple):
    """Identity of a producer after it was fenced."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    """State of an idempotent or transactional producer in one partition."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    #: First offset of its open transaction in the partition; None if none is open.
    started_offset: int | None


class TransactionOperations:
    """Lists and describes transactions and producers, fences producers, and aborts hanging transactions."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router
        self._coordinators = CoordinatorRequests(router, CoordinatorKind.TRANSACTION)
        self._leaders = LeaderRequests(router)

    async def list_all(
        self, states: Iterable[str] = (), producer_ids: Iterable[int] = (), longer_than_ms: int = _NO_FILTER
    ) -> list[TransactionListing]:
        """Return the transactions of all coordinators that match the filters, by name. Raises Refused."""
        listings: list[TransactionListing] = []
        for broker_id, address in (await self._router.describe()).nodes.items():
            request = ListTransactionsRequest(
                state_filters=list(states), producer_id_filters=list(producer_ids), duration_filter=longer_than_ms
            )
            response: ListTransactionsResponse = await self._router.send_to(address, request)
            check_error(response.error_code, None)
            listings += [
                TransactionListing(state.transactional_id, broker_id, state.producer_id, state.transaction_state)
                for state in response.transaction_states
            ]
        return sorted(listings, key=lambda listing: listing.transactional_id)

    async def describe(self, transactional_ids: Sequence[str]) -> Outcomes[str, TransactionDescription]:
        async def send(address: HostPort, ids: Sequence[str]) -> dict[str, TransactionDescription | Refused]:
            request = DescribeTransactionsRequest(transactional_ids=list(ids))
            response: DescribeTransactionsResponse = await self._router.send_to(address, request)
            return {
                state.transactional_id: refusal(state.error_code) or _transaction_description(state, address)
                for state in response.transaction_states
            }

        return await self._coordinators.send(transactional_ids, send)

    async def describe_producers(
        self, partitions: Sequence[TopicPartition]
    ) -> Outcomes[TopicPartition, tuple[ProducerState, ...]]:
        """Return the idempotent and transactional producers that the leader of each partition remembers."""

        async def send(
            address: HostPort, led_partitions: Sequence[TopicPartition]
        ) -> dict[TopicPartition, tuple[ProducerState, ...] | Refused]:
            topics = [
                TopicRequest(name=topic, partition_indexes=indexes)
                for topic, indexes in indexes_by_topic(led_partitions).items()
            ]
            response: DescribeProducersResponse = await self._router.send_to(
                address, DescribeProducersRequest(topics=topics)
            )
            return {
                TopicPartition(topic.name, partition.partition_index): refusal(
                    partition.error_code, partition.error_message
                )
                or tuple(_producer_state(producer) for producer in partition.active_producers)
                for topic in response.topics
                for partition in topic.partitions
            }

        return await self._leaders.send(partitions, send)

    async def fence_producers(self, transactional_ids: Sequence[str]) -> Outcomes[str, ProducerIdAndEpoch]:
        """Fence the producers with these transactional ids, and abort their open transactions."""

        async def send(address: HostPort, ids: Sequence[str]) -> dict[str, ProducerIdAndEpoch | Refused]:
            outcomes: dict[str, ProducerIdAndEpoch | Refused] = {}
            for transactional_id in ids:
                request = InitProducerIdRequest(
                    transactional_id=transactional_id,
                    transaction_timeout_ms=self._router.config.request_timeout_ms,
                )
                response: InitProducerIdResponse = await self._router.send_to(address, request)
                outcomes[transactional_id] = refusal(response.error_code) or ProducerIdAndEpoch(
                    response.producer_id, response.producer_epoch
                )
            return outcomes

        return await self._coordinators.send(transactional_ids, send)

    async def abort_in_partition(
        self, partition: TopicPartition, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> Outcomes[TopicPartition, None]:
        """Write an abort marker without the coordinator: for a hanging transaction, which no coordinator will end."""

        async def send(
            address: HostPort, led_partitions: Sequence[TopicPartition]
        ) -> dict[TopicPartition, Refused | None]:
            marker = WritableTxnMarker(
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])],
                coordinator_epoch=coordinator_epoch,
            )
            response: WriteTxnMarkersResponse = await self._router.send_to(
                address, WriteTxnMarkersRequest(markers=[marker])
            )
            return {
                TopicPartition(topic.name, result.partition_index): refusal(result.error_code)
                for marker_result in response.markers
                for topic in marker_result.topics
                for result in topic.partitions
            }

        return await self._leaders.send([partition], send)


def _transaction_description(state: TransactionState, coordinator: HostPort) -> TransactionDescription:
    return TransactionDescription(
        state.transactional_id,
        coordinator,
        state.producer_id,
        state.producer_epoch,
        state.transaction_state,
        state.transaction_timeout_ms,
        None if state.transaction_start_time_ms < 0 else state.transaction_start_time_ms,
        tuple(TopicPartition(topic.topic, index) for topic in state.topics for index in topic.partitions),
    )


def _producer_state(producer: ProducerStateData) -> ProducerState:
    return ProducerState(
        producer.producer_id,
        producer.producer_epoch,
        producer.last_sequence,
        producer.last_timestamp,
        producer.coordinator_epoch,
        None if producer.current_txn_start_offset < 0 else producer.current_txn_start_offset,
    )
