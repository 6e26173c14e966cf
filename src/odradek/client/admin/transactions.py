"""Transactions from outside: list, describe, and end those that hang."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.coordinators import CoordinatorKind, ask_coordinators
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.client.admin.partitions import ask_leaders
from odradek.client.errors import check_error, refusal
from odradek.common.addresses import HostPort
from odradek.errors import Refused
from odradek.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from odradek.protocol.messages.describe_producers_response import DescribeProducersResponse
from odradek.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from odradek.protocol.messages.describe_transactions_response import DescribeTransactionsResponse
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

_NONE = -1


@dataclass(frozen=True, slots=True)
class TransactionListing:
    transactional_id: str
    coordinator_id: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    transactional_id: str
    coordinator: HostPort
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    #: None while none is open.
    started_ms: int | None
    partitions: tuple[TopicPartition, ...]


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    #: Where its open transaction begins in the partition; None if none is open.
    started_offset: int | None


async def list_transactions(
    cluster: ClusterRouter, states: Iterable[str] = (), producer_ids: Iterable[int] = (), longer_than_ms: int = _NONE
) -> list[TransactionListing]:
    """Of all brokers, by name. Raises Refused."""
    found = []
    for broker_id, address in (await cluster.describe()).nodes.items():
        request = ListTransactionsRequest(
            state_filters=list(states), producer_id_filters=list(producer_ids), duration_filter=longer_than_ms
        )
        response: ListTransactionsResponse = await cluster.send_to(address, request)
        check_error(response.error_code, None)
        found += [
            TransactionListing(each.transactional_id, broker_id, each.producer_id, each.transaction_state)
            for each in response.transaction_states
        ]
    return sorted(found, key=lambda each: each.transactional_id)


async def describe_transactions(cluster: ClusterRouter, ids: Sequence[str]) -> Outcomes[str, TransactionDescription]:
    async def ask(address: HostPort, keys: Sequence[str]) -> dict[str, TransactionDescription | Refused]:
        request = DescribeTransactionsRequest(transactional_ids=list(keys))
        response: DescribeTransactionsResponse = await cluster.send_to(address, request)
        return {
            each.transactional_id: refusal(each.error_code)
            or TransactionDescription(
                each.transactional_id,
                address,
                each.producer_id,
                each.producer_epoch,
                each.transaction_state,
                each.transaction_timeout_ms,
                None if each.transaction_start_time_ms < 0 else each.transaction_start_time_ms,
                tuple(TopicPartition(topic.topic, number) for topic in each.topics for number in topic.partitions),
            )
            for each in response.transaction_states
        }

    return await ask_coordinators(cluster, CoordinatorKind.TRANSACTION, ids, ask)


async def describe_producers(
    cluster: ClusterRouter, places: Sequence[TopicPartition]
) -> Outcomes[TopicPartition, tuple[ProducerState, ...]]:
    """Who has written to the partitions lately, as their leaders remember."""

    async def ask(
        address: HostPort, asked: Iterable[TopicPartition]
    ) -> dict[TopicPartition, tuple[ProducerState, ...] | Refused]:
        topics: dict[str, TopicRequest] = {}
        for topic, number in asked:
            topics.setdefault(topic, TopicRequest(name=topic)).partition_indexes.append(number)
        response: DescribeProducersResponse = await cluster.send_to(
            address, DescribeProducersRequest(topics=list(topics.values()))
        )
        return {
            TopicPartition(answer.name, each.partition_index): refusal(each.error_code, each.error_message)
            or tuple(
                ProducerState(
                    producer.producer_id,
                    producer.producer_epoch,
                    producer.last_sequence,
                    producer.last_timestamp,
                    producer.coordinator_epoch,
                    None if producer.current_txn_start_offset < 0 else producer.current_txn_start_offset,
                )
                for producer in each.active_producers
            )
            for answer in response.topics
            for each in answer.partitions
        }

    return await ask_leaders(cluster, dict.fromkeys(places), ask)


async def fence_producers(cluster: ClusterRouter, ids: Sequence[str]) -> Outcomes[str, ProducerIdAndEpoch]:
    """Whoever has these transactional ids loses them, and what they left open is aborted."""

    async def ask(address: HostPort, keys: Sequence[str]) -> dict[str, ProducerIdAndEpoch | Refused]:
        found: dict[str, ProducerIdAndEpoch | Refused] = {}
        for key in keys:
            request = InitProducerIdRequest(
                transactional_id=key, transaction_timeout_ms=cluster.config.request_timeout_ms
            )
            response: InitProducerIdResponse = await cluster.send_to(address, request)
            found[key] = refusal(response.error_code) or ProducerIdAndEpoch(
                response.producer_id, response.producer_epoch
            )
        return found

    return await ask_coordinators(cluster, CoordinatorKind.TRANSACTION, ids, ask)


async def abort_in_partition(
    cluster: ClusterRouter, place: TopicPartition, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> Outcomes[TopicPartition, None]:
    """Write the marker of an abort, past the coordinator: for a transaction that nobody else will end."""

    async def ask(address: HostPort, asked: Iterable[TopicPartition]) -> dict[TopicPartition, Refused | None]:
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction_result=False,
            topics=[WritableTxnMarkerTopic(name=place.topic, partition_indexes=[place.partition])],
            coordinator_epoch=coordinator_epoch,
        )
        response: WriteTxnMarkersResponse = await cluster.send_to(address, WriteTxnMarkersRequest(markers=[marker]))
        return {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code)
            for answer in response.markers
            for topic in answer.topics
            for each in topic.partitions
        }

    return await ask_leaders(cluster, {place: None}, ask)
