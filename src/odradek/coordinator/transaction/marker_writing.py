"""Writes the markers of a WriteTxnMarkers request to the partitions of this broker.

A marker in a partition of `__consumer_offsets` goes through the group coordinator, which commits or drops the pending
offsets of the transaction with it. All other markers are appended by the replicas. Everything that a request asks for
is started before any of it is waited for, as in Kafka, so that the markers of one producer stay in order.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.shard import Writer
from odradek.metadata.internal_topics import CONSUMER_OFFSETS
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from odradek.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

_NO_PRODUCER_ID = -1
_NO_PRODUCER_EPOCH = -1

#: Errors of the group coordinator that mean that another broker leads the partition: the sender looks for the leader.
_NOT_LED_HERE = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class MarkerLog(Protocol):
    """Partitions that this broker hosts."""

    def hosts(self, partition: TopicPartition) -> bool: ...

    def append_markers(
        self,
        partitions: Sequence[TopicPartition],
        marker: WritableTxnMarker,
        on_appended: Callable[[Sequence[int]], None],
    ) -> None:
        """Append the marker to each partition, and pass the error codes to `on_appended` when all in-sync replicas have
        it, at once or later."""
        ...


class GroupTransactions(Protocol):
    """The group coordinator of this broker."""

    def complete_transaction(
        self, partition: int, writer: Writer, coordinator_epoch: int, is_committed: bool
    ) -> Reply[None]: ...


class MarkerWriter:
    def __init__(self, log: MarkerLog, groups: GroupTransactions) -> None:
        self._log = log
        self._groups = groups

    def write(self, request: WriteTxnMarkersRequest) -> Reply[WriteTxnMarkersResponse]:
        """Raise ApiError for a marker without a producer; the result of each partition is in the response."""
        for marker in request.markers:
            if not _has_producer(marker) and any(
                partition.topic != CONSUMER_OFFSETS and self._log.hosts(partition) for partition in _partitions(marker)
            ):
                raise ApiError("A marker requires a producer id and a producer epoch", ErrorCode.UNKNOWN_SERVER_ERROR)
        call = _MarkerCall(self._log, self._groups, request)
        call.start()
        return call.reply


class _MarkerCall:
    """One request whose markers are being written."""

    def __init__(self, log: MarkerLog, groups: GroupTransactions, request: WriteTxnMarkersRequest) -> None:
        self.reply: Reply[WriteTxnMarkersResponse] = Reply()
        self._log = log
        self._groups = groups
        self._markers = request.markers
        self._codes: list[dict[TopicPartition, int]] = [{} for _ in request.markers]
        #: Appends and completions that were not answered yet, and one for `start` itself.
        self._pending = 1

    def start(self) -> None:
        for marker, codes in zip(self._markers, self._codes, strict=True):
            partitions = _partitions(marker)
            of_groups = [tp for tp in partitions if tp.topic == CONSUMER_OFFSETS and self._log.hosts(tp)]
            hosted = set(of_groups)
            self._append(marker, codes, [tp for tp in partitions if tp not in hosted])
            for partition in of_groups:
                self._complete(marker, codes, partition)
        self._finish_one()

    def _append(
        self, marker: WritableTxnMarker, codes: dict[TopicPartition, int], partitions: list[TopicPartition]
    ) -> None:
        def on_appended(error_codes: Sequence[int]) -> None:
            codes.update(zip(partitions, error_codes, strict=True))
            self._finish_one()

        self._pending += 1
        self._log.append_markers(partitions, marker, on_appended)

    def _complete(self, marker: WritableTxnMarker, codes: dict[TopicPartition, int], partition: TopicPartition) -> None:
        """Complete the transaction in a partition of groups. No callback of a reply may do this: it runs inside the
        coordinator."""
        if not _has_producer(marker):
            codes[partition] = ErrorCode.UNKNOWN_SERVER_ERROR
            return

        def on_completed(completed: Reply[None]) -> None:
            codes[partition] = 0 if completed.error is None else _partition_error(completed.error)
            self._finish_one()

        self._pending += 1
        writer = Writer("", marker.producer_id, marker.producer_epoch, marker.transaction_version)
        self._groups.complete_transaction(
            partition.partition, writer, marker.coordinator_epoch, marker.transaction_result
        ).then(on_completed)

    def _finish_one(self) -> None:
        self._pending -= 1
        if not self._pending:
            self._finish()

    def _finish(self) -> None:
        results = [_result(marker, codes) for marker, codes in zip(self._markers, self._codes, strict=True)]
        self.reply.complete(WriteTxnMarkersResponse(markers=results))


def _partition_error(error: ApiError) -> int:
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if error.code in _NOT_LED_HERE else error.code


def _has_producer(marker: WritableTxnMarker) -> bool:
    return marker.producer_id != _NO_PRODUCER_ID and marker.producer_epoch != _NO_PRODUCER_EPOCH


def _partitions(marker: WritableTxnMarker) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in marker.topics for index in topic.partition_indexes]


def _result(marker: WritableTxnMarker, codes: dict[TopicPartition, int]) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=index, error_code=codes[TopicPartition(topic.name, index)]
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )
