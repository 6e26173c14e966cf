"""ListOffsets (key 2): offsets by time, or the first, the last, the one with the largest timestamp.

v1 one offset · v2 isolation level (KIP-98) · v4 leader epochs (KIP-320) · v5 OFFSET_NOT_AVAILABLE (KIP-207) · v6
flexible · v7 largest timestamp (KIP-734) · v8 first local offset (KIP-405) · v9 last tiered offset (KIP-1005) · v10
timeout (KIP-1075) · v11 first offset not yet tiered (KIP-1023)

Authorised by DESCRIBE on each topic.
"""

from collections import Counter

from odradek.api.dispatch.context import Context
from odradek.api.shared.refusals import only_allowed, with_refused
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.common.list_offsets_timestamps import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
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
_FIRST_VERSION_OF = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}

#: Of a question that nobody understands.
_NO_VERSION = 1 << 15
_ISOLATION_LEVELS = (0, _READ_COMMITTED)


def handle(ctx: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    isolation = _isolation(request)
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, (topic.name for topic in request.topics))
    entries = [
        ListOffsetsEntry(TopicPartition(topic.name, asked.partition_index), asked.timestamp, asked.current_leader_epoch)
        for topic in request.topics
        for asked in topic.partitions
    ]
    found = ctx.replicas.list_offsets(only_allowed(entries, allowed), request.replica_id, isolation)
    results = with_refused(entries, allowed, found, _REFUSED)
    times = Counter(entry.topic_partition for entry in entries)
    answers = {
        entry.topic_partition: _judged(entry, result, times[entry.topic_partition], ctx.api_version)
        for entry, result in zip(entries, results, strict=True)
    }
    topics = {topic.name: ListOffsetsTopicResponse(name=topic.name) for topic in request.topics}
    for partition, result in answers.items():
        topics[partition.topic].partitions.append(_partition(partition.partition, result, ctx.api_version))
    return ListOffsetsResponse(topics=list(topics.values()))


def _isolation(request: ListOffsetsRequest) -> Isolation:
    if request.isolation_level not in _ISOLATION_LEVELS:
        raise ApiError(f"Unknown isolation level {request.isolation_level}", ErrorCode.UNKNOWN_SERVER_ERROR)
    if request.replica_id != CONSUMER:
        return Isolation.LOG_END
    return Isolation.TXN_COMMITTED if request.isolation_level == _READ_COMMITTED else Isolation.HIGH_WATERMARK


def _judged(entry: ListOffsetsEntry, result: ListOffsetsResult, times: int, version: int) -> ListOffsetsResult:
    """What is asked for twice, or by a timestamp that the version does not know, has no offset."""
    if result is _REFUSED:
        return result
    if times > 1:
        return ListOffsetsResult(ErrorCode.INVALID_REQUEST)
    if entry.timestamp < 0 and version < _FIRST_VERSION_OF.get(entry.timestamp, _NO_VERSION):
        return ListOffsetsResult(ErrorCode.UNSUPPORTED_VERSION)
    return result


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
