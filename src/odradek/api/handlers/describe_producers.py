"""DescribeProducers (key 61): the producers that a partition's log remembers, and their open transactions (KIP-664).

v0

Any replica answers for its own log: `find-hanging` and `describe-producers --broker-id` send the request to followers.

Authorised by READ on each topic.
"""

from odradek.api.dispatch.context import Context
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.controller.topic_names import check_topic_name
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_messages import ERROR_WORDS
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
        _check_known(ctx, partition)
    except ApiError as error:
        return PartitionResponse(
            partition_index=partition.partition, error_code=error.code, error_message=str(error) or None
        )
    try:
        producers = ctx.replicas.producers(partition)
    except ApiError as error:  # without a message, as Kafka
        return PartitionResponse(partition_index=partition.partition, error_code=error.code)
    return PartitionResponse(partition_index=partition.partition, active_producers=[_state(one) for one in producers])


def _check_known(ctx: Context, partition: TopicPartition) -> None:
    """Raise ApiError with a message for an unknown topic and without one for an unknown partition, as Kafka."""
    code, topic = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ctx.services.image().topics.by_name.get(partition.topic)
    if topic is None:
        raise ApiError(ERROR_WORDS[code], code)
    if partition.partition not in topic.partitions:
        raise ApiError(code=code)


def _state(entry: ProducerInfo) -> ProducerState:
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.txn_start_offset,
    )
