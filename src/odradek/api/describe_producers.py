"""DescribeProducers (key 61): the producers that a partition's log remembers, and their open transactions (KIP-664).

v0

Authorised by READ on each topic.
"""

from odradek.api.context import Context
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.controller.topic_names import check_topic_name
from odradek.protocol.messages.describe_producers_request import DescribeProducersRequest
from odradek.protocol.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from odradek.replica.values import ProducerInfo
from odradek.security.resources import Operation, Resource, ResourceType


def handle(ctx: Context, request: DescribeProducersRequest) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_partition(ctx, TopicPartition(topic.name, index)) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _partition(ctx: Context, partition: TopicPartition) -> PartitionResponse:
    try:
        check_topic_name(partition.topic)
        ctx.authorize(Operation.READ, Resource(ResourceType.TOPIC, partition.topic))
        producers = ctx.replicas.producers(partition)
    except ApiError as error:
        return PartitionResponse(
            partition_index=partition.partition, error_code=error.code, error_message=str(error) or None
        )
    return PartitionResponse(partition_index=partition.partition, active_producers=[_state(one) for one in producers])


def _state(entry: ProducerInfo) -> ProducerState:
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.txn_start_offset,
    )
