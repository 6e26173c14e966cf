"""Replicas that lose their log: a log directory fails, or a log turns out to be damaged.

**A failed directory** takes all its partitions offline: they respond with KAFKA_STORAGE_ERROR, and so do the requests
that wait for them. Listeners of `on_directory_failed` receive its id: the controller must learn of it.

**A damaged log**: the disk works, but does not hold what was written. The replica can neither lead nor follow with such
a log. It alone goes offline: the other replicas of its directory are as good as before. The controller is notified that
its directory is lost, which removes the replica from the ISR and transfers the leadership. As soon as another replica
leads and this one is out of sync, nothing depends on its data: its log is renamed to `-stray`, to be inspected by an
operator, and fetched again into a new one. Where no other replica is in sync it stays as it is, for it may be the only
copy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.log.errors import DamagedFile, KafkaStorageError, StorageFault
from odradek.log.manager.log_changes import rename_damaged_to_stray
from odradek.log.manager.log_manager import LogManager
from odradek.metadata.image.directory_id import LOST
from odradek.metadata.image.partition_registration import NO_LEADER, PartitionRegistration
from odradek.replica.cluster_view import ClusterView
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.partition import Partition
from odradek.replica.purgatory import Purgatories

logger = logging.getLogger("odradek.replica")

#: Reports that a replica is, or will be, in another directory than the metadata log has: topic id, partition,
#: directory id.
ReportDirectory = Callable[[bytes, int, bytes], None]


class ReplicaFailures:
    def __init__(
        self,
        view: ClusterView,
        logs: LogManager,
        partitions: HostedPartitions,
        purgatories: Purgatories,
        report_directory: ReportDirectory,
    ) -> None:
        self._view = view
        self._logs = logs
        self._partitions = partitions
        self._purgatories = purgatories
        self._report_directory = report_directory
        self._directory_ids = {path: directory.directory_id for path, directory in logs.live.items()}
        self._partition_listeners: list[Callable[[TopicPartition], None]] = []
        self._path_listeners: list[Callable[[str], None]] = []
        self._directory_listeners: list[Callable[[bytes], None]] = []
        logs.on_offline(self._directory_failed)

    def on_partition_offline(self, listener: Callable[[TopicPartition], None]) -> None:
        self._partition_listeners.append(listener)

    def on_path_failed(self, listener: Callable[[str], None]) -> None:
        """Register a listener that receives the path of each directory that fails."""
        self._path_listeners.append(listener)

    def on_directory_failed(self, listener: Callable[[bytes], None]) -> None:
        """Register a listener that receives the id of each directory that fails."""
        self._directory_listeners.append(listener)

    def storage_failed(self, fault: StorageFault) -> None:
        """Take the directory of the fault offline."""
        self._logs.fail_dir(fault)

    def log_failed(self, tp: TopicPartition, fault: StorageFault | DamagedFile) -> None:
        """Handle a log that cannot be used: its disk has failed, or does not hold what was written."""
        if isinstance(fault, StorageFault):
            self._logs.fail_dir(fault)
            return
        partition = self._partitions.online.get(tp)
        if partition is None:
            return
        role = "leader" if partition.is_leader else "follower"
        logger.error(
            "%s: the %s at epoch %d goes offline, its log is damaged: %s", tp, role, partition.leader_epoch, fault
        )
        self.take_offline(tp)
        self.report_damaged(tp, partition.topic_id)

    def take_offline(self, tp: TopicPartition) -> None:
        """Take a partition offline, and complete the requests that wait for it."""
        if self._partitions.set_offline(tp):
            for listener in self._partition_listeners:
                listener(tp)
            self._purgatories.check_waiting(tp)

    def report_damaged(self, tp: TopicPartition, topic_id: bytes) -> None:
        """Let the controller elect another replica in place of the damaged one."""
        self._partitions.set_damaged(tp)
        self._report_directory(topic_id, tp.partition, LOST)

    def can_replace_damaged(self, tp: TopicPartition, registration: PartitionRegistration) -> bool:
        """Return whether the replica's damaged log is here, and another replica has everything that it had. A log that
        was damaged at run time is gone with its directory."""
        is_damaged = tp in self._logs.damaged or (self._partitions.is_damaged(tp) and tp in self._logs.current)
        has_leader = registration.leader not in (NO_LEADER, self._view.broker_id)
        return is_damaged and has_leader and self._view.broker_id not in registration.isr

    def rename_damaged(self, tp: TopicPartition) -> bool:
        """Make way for a new log. Return False if the disk failed, and its directory is offline by now."""
        try:
            path = rename_damaged_to_stray(self._logs, tp)
        except KafkaStorageError as error:
            logger.error("%s: the damaged log could not be renamed: %s", tp, error)
            return False
        logger.warning("%s: is fetched again from its leader; the damaged log is renamed to %s", tp, path)
        return True

    def _directory_failed(self, path: str, _: tuple[TopicPartition, ...]) -> None:
        affected = [tp for tp, partition in self._partitions.online.items() if _is_in(partition, path)]
        for tp in affected:
            self.take_offline(tp)
        for path_listener in self._path_listeners:
            path_listener(path)
        logger.warning("log directory %s has failed; %d partitions are offline", path, len(affected))
        directory_id = self._directory_ids.get(path, ZERO_UUID)
        for directory_listener in self._directory_listeners:
            directory_listener(directory_id)


def _is_in(partition: Partition, log_dir: str) -> bool:
    return partition.log is not None and partition.log.log_dir == log_dir
