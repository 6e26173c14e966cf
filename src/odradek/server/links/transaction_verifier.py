"""Asks the coordinator of a transaction whether partitions are in it, or to add them, before a broker appends.

The coordinator may be this node itself: then nothing goes over a connection.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

from odradek.api.dispatch.services import Image
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.metadata.image.topics import TopicImage
from odradek.metadata.internal_topics import TRANSACTION_STATE
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from odradek.server.links.broker_channels import BrokerPeers

logger = logging.getLogger("odradek.transactions")

_TIMEOUT_MS = 30_000

Local = Callable[[AddPartitionsToTxnRequest], Awaitable[AddPartitionsToTxnResponse]]


class TransactionVerifier:
    def __init__(
        self, node_id: int, image: Image, partition_for: Callable[[str], int], peers: BrokerPeers, local: Local
    ) -> None:
        """`partition_for` a transactional id, in the topic of transactions."""
        self._node_id = node_id
        self._image = image
        self._partition_for = partition_for
        self._peers = peers
        self._local = local

    async def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        adds: bool,
    ) -> dict[TopicPartition, int]:
        """An error code for each of the partitions."""
        coordinator = self._coordinator_of(transactional_id)
        if coordinator is None:
            return dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        by_topic: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, partition in partitions:
            by_topic.setdefault(topic, AddPartitionsToTxnTopic(name=topic)).partitions.append(partition)
        asked = AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            verify_only=not adds,
            topics=list(by_topic.values()),
        )
        try:
            response = await self._send(coordinator, AddPartitionsToTxnRequest(transactions=[asked]))
        except ApiError as error:
            logger.warning("broker %d was asked about %s in vain: %s", coordinator, transactional_id, error)
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        if response.error_code:
            logger.error("broker %d refused to say: %s", coordinator, ErrorCode(response.error_code).name)
            return dict.fromkeys(partitions, ErrorCode.INVALID_TXN_STATE)
        return {
            TopicPartition(topic.name, result.partition_index): result.partition_error_code
            for transaction in response.results_by_transaction
            for topic in transaction.topic_results
            for result in topic.results_by_partition
        }

    async def _send(self, coordinator: int, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        if coordinator == self._node_id:
            return await self._local(request)
        response: AddPartitionsToTxnResponse = await self._peers.send(coordinator, request, _TIMEOUT_MS)
        return response

    def _coordinator_of(self, transactional_id: str) -> int | None:
        topic: TopicImage | None = self._image().topics.by_name.get(TRANSACTION_STATE)
        partition = None if topic is None else topic.partitions.get(self._partition_for(transactional_id))
        return None if partition is None or not partition.has_leader else partition.leader
