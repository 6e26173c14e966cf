"""Descriptions of the replicas on this broker: log directories with sizes and lags, active producers."""

from __future__ import annotations

from collections.abc import Iterable

from odradek.common.ids import TopicPartition
from odradek.log.errors import KafkaStorageError
from odradek.log.manager.log_manager import LogManager
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.requests import NO_EPOCH, NO_OFFSET, LogDirInfo, ProducerInfo, ReplicaInfo

_UNKNOWN_LAG = -1


class ReplicaDescription:
    __slots__ = ("_hosted", "_logs", "_paths")

    def __init__(self, partitions: HostedPartitions, logs: LogManager) -> None:
        self._hosted = partitions
        self._logs = logs
        self._paths = tuple(logs.live)

    def producers(self, tp: TopicPartition) -> list[ProducerInfo]:
        """Return the producers in the state of this replica's log, be it the leader or a follower. Raises ApiError."""
        log = self._hosted.find(tp).readable(NO_EPOCH)
        return [
            ProducerInfo(
                *(entry.producer_id, entry.producer_epoch, entry.last_sequence, entry.last_timestamp),
                entry.coordinator_epoch,
                NO_OFFSET if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
            )
            for entry in log.producers.producers.values()
        ]

    def log_dirs(self, requested: Iterable[TopicPartition] | None = None) -> list[LogDirInfo]:
        """Return every log directory, with the requested replicas (None: all) in it."""
        selected = None if requested is None else dict.fromkeys(requested)
        infos = []
        for path in dict.fromkeys((*self._paths, *self._logs.offline)):
            if path not in self._logs.live:
                infos.append(LogDirInfo(path, KafkaStorageError.code))
                continue
            replicas = [
                ReplicaInfo(
                    tp, log.segments.size_bytes, self._lag(tp, log.offsets.log_end_offset, log.is_future), log.is_future
                )
                for tp, log in self._logs.logs_in(path).items()
                if selected is None or tp in selected
            ]
            infos.append(LogDirInfo(path, 0, tuple(replicas), path in self._logs.cordoned))
        return infos

    def _lag(self, tp: TopicPartition, end_offset: int, is_future: bool) -> int:
        """Return the lag of a future log behind the current one, or of a current one behind its high watermark."""
        partition = self._hosted.online.get(tp)
        log = None if partition is None else partition.log
        if log is None:
            return _UNKNOWN_LAG
        return log.offsets.log_end_offset - end_offset if is_future else max(log.offsets.high_watermark - end_offset, 0)
