"""ListOffsets (key 2): offsets by time, or the first, the last, the one with the largest timestamp.

v1 one offset · v2 isolation level (KIP-98) · v4 leader epochs (KIP-320) · v5 OFFSET_NOT_AVAILABLE (KIP-207) · v6
flexible · v7 largest timestamp (KIP-734) · v8 first local offset (KIP-405) · v9 last tiered offset (KIP-1005) · v10
timeout (KIP-1075) · v11 first offset not yet tiered (KIP-1023)

Authorised by DESCRIBE on each topic.
"""

from odradek.api.context import Context
from odradek.api.refusals import only_allowed, with_refused
from odradek.common.ids import TopicPartition
from odradek.common.special_timestamps import EARLIEST_LOCAL, EARLIEST_PENDING_UPLOAD, LATEST_TIERED, MAX_TIMESTAMP
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.replica.values import CONSUMER, NO_EPOCH, Isolation, ListOffsetsEntry, ListOffsetsResult
from odradek.security.resources import Operation, ResourceType

_REFUSED = ListOffsetsResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_READ_COMMITTED = 1
_FIRST_VERSION_WITH_EPOCH = 4
_FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE = 5
#: Below zero a timestamp is a question; each is understood from a version on, and refused before it.
_FIRST_VERSION_OF = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


def handle(ctx: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    isolation = Isolation.HIGH_WATERMARK
    if request.replica_id != CONSUMER:
        isolation = Isolation.LOG_END
    elif request.isolation_level == _READ_COMMITTED:
        isolation = Isolation.TXN_COMMITTED
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, (topic.name for topic in request.topics))
    entries = [
        ListOffsetsEntry(TopicPartition(topic.name, asked.partition_index), asked.timestamp, asked.current_leader_epoch)
        for topic in request.topics
        for asked in topic.partitions
    ]
    twice = _twice([entry.topic_partition for entry in entries])
    found = ctx.replicas.list_offsets(only_allowed(entries, allowed), request.replica_id, isolation)
    results = with_refused(entries, allowed, found, _REFUSED)
    response = ListOffsetsResponse()
    for topic in request.topics:
        answered = ListOffsetsTopicResponse(name=topic.name)
        for asked in topic.partitions:
            result = next(results)
            if result is _REFUSED:
                pass
            elif TopicPartition(topic.name, asked.partition_index) in twice:
                result = ListOffsetsResult(ErrorCode.INVALID_REQUEST)
            elif ctx.api_version < _FIRST_VERSION_OF.get(asked.timestamp, 0):
                result = ListOffsetsResult(ErrorCode.UNSUPPORTED_VERSION)
            answered.partitions.append(_partition(asked.partition_index, result, ctx.api_version))
        response.topics.append(answered)
    return response


def _twice(partitions: list[TopicPartition]) -> set[TopicPartition]:
    seen: set[TopicPartition] = set()
    return {each for each in partitions if each in seen or seen.add(each)}  # type: ignore[func-returns-value]


def _partition(index: int, result: ListOffsetsResult, version: int) -> ListOffsetsPartitionResponse:
    code = result.error_code
    if code == ErrorCode.OFFSET_NOT_AVAILABLE and version < _FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE:
        code = ErrorCode.LEADER_NOT_AVAILABLE
    return ListOffsetsPartitionResponse(
        partition_index=index,
        error_code=code,
        timestamp=result.timestamp,
        offset=result.offset,
        leader_epoch=result.leader_epoch if version >= _FIRST_VERSION_WITH_EPOCH else NO_EPOCH,
    )
