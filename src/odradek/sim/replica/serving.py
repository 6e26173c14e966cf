"""How a simulated broker answers the requests of followers: from messages to the replica manager and back."""

from __future__ import annotations

from collections.abc import Callable

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.log.values import Isolation
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.replica.fetch_sessions import FetchContext, SelectedPartition
from odradek.replica.requests import FetchEntry, FetchParams, FetchResult, ListOffsetsEntry

#: The first in which a follower says where its replica lives; topic ids and broker epochs came before.
FETCH_VERSION = 17
LIST_OFFSETS_VERSION = 10


def serve_fetch(manager: BrokerReplicas, request: FetchRequest, reply: Callable[[FetchResponse], None]) -> None:
    """Of a follower: `reply` is called at once or later."""

    def topic_name(topic_id: bytes) -> str | None:
        topic = manager.view.image.topics.by_id.get(topic_id)
        return None if topic is None else topic.name

    entries = [
        FetchEntry(
            TopicPartition(topic_name(topic.topic_id) or "", asked.partition),
            topic.topic_id,
            asked.fetch_offset,
            asked.partition_max_bytes,
            asked.current_leader_epoch,
            asked.last_fetched_epoch,
            asked.log_start_offset,
        )
        for topic in request.topics
        for asked in topic.partitions
    ]
    forgotten = [(topic.topic_id, number) for topic in request.forgotten_topics_data for number in topic.partitions]
    context = manager.fetch_sessions.open(
        request.session_id, request.session_epoch, FETCH_VERSION, True, entries, forgotten, topic_name
    )
    if context.error_code:
        reply(FetchResponse(error_code=context.error_code))
        return
    params = FetchParams(
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        Isolation.LOG_END,
        request.replica_state.replica_id,
        request.replica_state.replica_epoch,
    )
    manager.fetch.fetch(params, context.entries, lambda results: reply(_response(manager, context, results)))


def _response(manager: BrokerReplicas, context: FetchContext, results: list[FetchResult]) -> FetchResponse:
    topics: dict[bytes, FetchableTopicResponse] = {}
    for answered in context.select(results):
        topic_id = answered.entry.topic_id
        if topic_id not in topics:
            topics[topic_id] = FetchableTopicResponse(topic_id=topic_id)
        topics[topic_id].partitions.append(_partition(manager, answered))
    return FetchResponse(session_id=context.session_id, responses=list(topics.values()))


def _partition(manager: BrokerReplicas, answered: SelectedPartition) -> PartitionData:
    entry, result = answered
    data = PartitionData(
        partition_index=entry.topic_partition.partition,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
    )
    if result.diverging_epoch is not None:
        data.diverging_epoch = EpochEndOffset(
            epoch=result.diverging_epoch.leader_epoch, end_offset=result.diverging_epoch.end_offset
        )
    try:
        data.records = manager.fetch.read_records(result)
    except ApiError as error:
        data.error_code = error.code
    return data


def serve_list_offsets(manager: BrokerReplicas, request: ListOffsetsRequest) -> ListOffsetsResponse:
    topics = []
    for topic in request.topics:
        entries = [
            ListOffsetsEntry(
                TopicPartition(topic.name, asked.partition_index), asked.timestamp, asked.current_leader_epoch
            )
            for asked in topic.partitions
        ]
        results = manager.offsets.list_offsets(entries, request.replica_id, Isolation.HIGH_WATERMARK)
        answers = [
            ListOffsetsPartitionResponse(
                partition_index=entry.topic_partition.partition,
                error_code=result.error_code,
                timestamp=result.timestamp,
                offset=result.offset,
                leader_epoch=result.leader_epoch,
            )
            for entry, result in zip(entries, results, strict=True)
        ]
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)
