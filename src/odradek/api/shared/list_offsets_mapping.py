"""Mapping between ListOffsets messages and the entries and results of the replicas. Pure, like `fetch_mapping`."""

from collections import Counter
from collections.abc import Iterable, Sequence

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
from odradek.replica.requests import CONSUMER, NO_EPOCH, Isolation, ListOffsetsEntry, ListOffsetsResult

_READ_COMMITTED = 1
_ISOLATION_LEVELS = (0, _READ_COMMITTED)
_FIRST_VERSION_WITH_EPOCH = 4
_FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE = 5

#: First version of each special timestamp; older versions reject it.
_FIRST_VERSION_OF = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_NO_VERSION = 1 << 15


def list_offsets_entries(request: ListOffsetsRequest) -> list[ListOffsetsEntry]:
    return [
        ListOffsetsEntry(
            TopicPartition(topic.name, partition.partition_index), partition.timestamp, partition.current_leader_epoch
        )
        for topic in request.topics
        for partition in topic.partitions
    ]


def list_offsets_isolation(request: ListOffsetsRequest) -> Isolation:
    """Return the isolation of the lookup. Raises ApiError for an unknown isolation level."""
    if request.isolation_level not in _ISOLATION_LEVELS:
        raise ApiError(f"Unknown isolation level {request.isolation_level}", ErrorCode.UNKNOWN_SERVER_ERROR)
    if request.replica_id != CONSUMER:
        return Isolation.LOG_END
    return Isolation.TXN_COMMITTED if request.isolation_level == _READ_COMMITTED else Isolation.HIGH_WATERMARK


def list_offsets_response(
    request: ListOffsetsRequest,
    entries: Sequence[ListOffsetsEntry],
    results: Iterable[ListOffsetsResult],
    version: int,
) -> ListOffsetsResponse:
    occurrences = Counter(entry.topic_partition for entry in entries)
    checked = {
        entry.topic_partition: _checked(entry, result, occurrences[entry.topic_partition], version)
        for entry, result in zip(entries, results, strict=True)
    }
    topics = {topic.name: ListOffsetsTopicResponse(name=topic.name) for topic in request.topics}
    for tp, result in checked.items():
        topics[tp.topic].partitions.append(_partition_response(tp.partition, result, version))
    return ListOffsetsResponse(topics=list(topics.values()))


def _checked(entry: ListOffsetsEntry, result: ListOffsetsResult, occurrences: int, version: int) -> ListOffsetsResult:
    """Reject a partition that is in the request twice, or a special timestamp that the version does not have."""
    if result.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return result
    if occurrences > 1:
        return ListOffsetsResult(ErrorCode.INVALID_REQUEST)
    if entry.timestamp < 0 and version < _FIRST_VERSION_OF.get(entry.timestamp, _NO_VERSION):
        return ListOffsetsResult(ErrorCode.UNSUPPORTED_VERSION)
    return result


def _partition_response(partition_index: int, result: ListOffsetsResult, version: int) -> ListOffsetsPartitionResponse:
    code = result.error_code
    if code == ErrorCode.OFFSET_NOT_AVAILABLE and version < _FIRST_VERSION_WITH_OFFSET_NOT_AVAILABLE:
        code = ErrorCode.LEADER_NOT_AVAILABLE
    return ListOffsetsPartitionResponse(
        partition_index=partition_index,
        error_code=code,
        timestamp=result.timestamp,
        offset=result.offset,
        leader_epoch=result.leader_epoch if version >= _FIRST_VERSION_WITH_EPOCH else NO_EPOCH,
    )
