"""Asks the coordinator of a transaction whether partitions are in it, or to add them, before a broker appends.

The coordinator may be this node itself: then nothing goes over a connection.
"""

import logging
from collections.abc import Callable, Sequence

from odradek.api.dispatch.replies import answer
from odradek.api.dispatch.services import Image
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.transaction.partition_addition import PartitionAddition
from odradek.coordinator.transaction.transaction import EPOCH_BUMP_VERSION
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


class TransactionVerifier:
    def __init__(
        self,
        node_id: int,
        image: Image,
        partition_for: Callable[[str], int],
        peers: BrokerPeers,
        addition: PartitionAddition,
    ) -> None:
        """`partition_for` maps a transactional id to its partition of `__transaction_state`; `addition` is
        this broker's own coordinator."""
        self._node_id = node_id
        self._image = image
        self._partition_for = partition_for
        self._peers = peers
        self._addition = addition

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
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            verify_only=not adds,
            topics=list(by_topic.values()),
        )
        try:
            if coordinator == self._node_id:
                return await self._add_here(transaction, partitions)
            request = AddPartitionsToTxnRequest(transactions=[transaction])
            response: AddPartitionsToTxnResponse = await self._peers.send(coordinator, request, _TIMEOUT_MS)
        except ApiError as error:
            logger.warning("no response from broker %d about transaction %s: %s", coordinator, transactional_id, error)
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        if response.error_code:
            logger.error("broker %d rejected the request: %s", coordinator, ErrorCode(response.error_code).name)
            return dict.fromkeys(partitions, ErrorCode.INVALID_TXN_STATE)
        return {
            TopicPartition(topic.name, partition.partition_index): partition.partition_error_code
            for result in response.results_by_transaction
            for topic in result.topic_results
            for partition in topic.results_by_partition
        }

    async def _add_here(
        self, transaction: AddPartitionsToTxnTransaction, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, int]:
        try:
            return await answer(self._addition.add_or_verify(transaction, EPOCH_BUMP_VERSION))
        except ApiError as error:
            return dict.fromkeys(partitions, error.code)

    def _coordinator_of(self, transactional_id: str) -> int | None:
        topic: TopicImage | None = self._image().topics.by_name.get(TRANSACTION_STATE)
        partition = None if topic is None else topic.partitions.get(self._partition_for(transactional_id))
        return None if partition is None or not partition.has_leader else partition.leader
