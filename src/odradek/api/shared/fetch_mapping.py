"""Mapping between Fetch messages and the entries, parameters and results of the replicas.

Pure functions without authorization, sessions or futures: the broker's handler uses them, and so does the simulator.
Records are read while the response is built, so that they are held in memory for as short as possible.
"""

from collections.abc import Callable, Iterable, Iterator

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.common.ports import Buffer
from odradek.metadata.leader_hints import LeaderHints
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from odradek.replica.fetch_sessions import SelectedPartition, SessionKey
from odradek.replica.requests import FetchEntry, FetchParams, FetchResult, Isolation

FIRST_VERSION_WITH_LEADER = 16

_FIRST_VERSION_WITH_PREFERRED_REPLICA = 11
_FIRST_VERSION_WITH_IDS = 13
_FIRST_VERSION_WITH_REPLICA_STATE = 15

_READ_COMMITTED = 1
_ISOLATION_LEVELS = (0, _READ_COMMITTED)

#: Name of the topic in an entry whose topic id is unknown.
NO_NAME = ""

#: Errors of the request itself: Kafka returns an empty list of aborted transactions with them, and null otherwise.
_REQUEST_ERRORS = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
#: Errors after which a client looks for another leader.
_LEADERSHIP_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)

ReadRecords = Callable[[FetchResult], Buffer]


def replica_of(request: FetchRequest, version: int) -> tuple[int, int]:
    """Return the id and the broker epoch of the follower that sent the request; the id is negative for a consumer."""
    if version < _FIRST_VERSION_WITH_REPLICA_STATE:
        return request.replica_id, -1
    return request.replica_state.replica_id, request.replica_state.replica_epoch


def fetch_entries(
    request: FetchRequest, version: int, topic_name: Callable[[bytes], str | None]
) -> Iterator[FetchEntry]:
    """Yield an entry for each partition of the request. `topic_name` resolves topic ids."""
    by_id = version >= _FIRST_VERSION_WITH_IDS
    for topic in request.topics:
        name = (topic_name(topic.topic_id) or NO_NAME) if by_id else topic.topic
        for partition in topic.partitions:
            yield FetchEntry(
                TopicPartition(name, partition.partition),
                topic.topic_id,
                partition.fetch_offset,
                partition.partition_max_bytes,
                partition.current_leader_epoch,
                partition.last_fetched_epoch,
                partition.log_start_offset,
            )


def forgotten_partitions(request: FetchRequest, version: int) -> Iterator[SessionKey]:
    for topic in request.forgotten_topics_data:
        for partition in topic.partitions:
            yield (topic.topic_id if version >= _FIRST_VERSION_WITH_IDS else topic.topic, partition)


def fetch_params(request: FetchRequest, version: int, response_bytes_max: int) -> FetchParams:
    """Raise ApiError for an unknown isolation level."""
    if request.isolation_level not in _ISOLATION_LEVELS:
        raise ApiError(f"Unknown isolation level {request.isolation_level}", ErrorCode.UNKNOWN_SERVER_ERROR)
    replica_id, replica_epoch = replica_of(request, version)
    isolation = Isolation.HIGH_WATERMARK
    if replica_id >= 0:
        isolation = Isolation.LOG_END
    elif request.isolation_level == _READ_COMMITTED:
        isolation = Isolation.TXN_COMMITTED
    max_bytes = min(request.max_bytes, response_bytes_max)
    return FetchParams(
        max_wait_ms=request.max_wait_ms,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        isolation=isolation,
        replica_id=replica_id,
        replica_epoch=replica_epoch,
        client_rack=request.rack_id,
        # Also for -2, with which kafka-replica-verification reads every replica.
        may_read_follower=replica_id < 0 and version >= _FIRST_VERSION_WITH_PREFERRED_REPLICA,
    )


def fetch_response(
    session_id: int,
    results: Iterable[SelectedPartition],
    read_records: ReadRecords,
    leader_hints: LeaderHints | None = None,
) -> FetchResponse:
    """Build the response, reading the records of each result. `leader_hints` is None below v16."""
    response = FetchResponse(session_id=session_id)
    topic: FetchableTopicResponse | None = None
    for entry, result in results:
        name = entry.topic_partition.topic
        if topic is None or topic.topic != name or topic.topic_id != entry.topic_id:
            topic = FetchableTopicResponse(topic=name, topic_id=entry.topic_id)
            response.responses.append(topic)
        data = _partition_data(entry, result, read_records)
        if leader_hints is not None and data.error_code in _LEADERSHIP_ERRORS:
            leader = leader_hints.leader(name, entry.topic_id, data.partition_index)
            data.current_leader = LeaderIdAndEpoch(leader_id=leader.id, leader_epoch=leader.epoch)
        topic.partitions.append(data)
    if leader_hints is not None:
        response.node_endpoints = [NodeEndpoint(**endpoint._asdict()) for endpoint in leader_hints.endpoints()]
    return response


def _partition_data(entry: FetchEntry, result: FetchResult, read_records: ReadRecords) -> PartitionData:
    data = PartitionData(
        partition_index=entry.topic_partition.partition,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        preferred_read_replica=result.preferred_read_replica,
        aborted_transactions=[] if result.error_code and result.error_code in _REQUEST_ERRORS else None,
        records=b"",
    )
    if result.diverging_epoch is not None:
        epoch, end_offset = result.diverging_epoch
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
    if result.aborted is not None:
        data.aborted_transactions = [
            AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset) for txn in result.aborted
        ]
    if result.size_bytes:
        try:
            data.records = read_records(result)
        except ApiError as error:
            data.error_code, data.high_watermark, data.last_stable_offset = error.code, -1, -1
    return data
