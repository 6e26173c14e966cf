"""Metadata changes applied to this broker's replicas.

Order: deleted replicas, then new leaders, then new followers, then the fetchers. Only partitions whose registration
changed are considered. A replica whose log cannot be opened is offline, and the others continue. Topic settings belong
to the log manager, which applies them before the replicas see the image.

A change may concern thousands of partitions, each of which touches the disk: `apply_in_steps` applies one at a time,
and its caller may do other work in between. A request for a partition that has not been applied yet is rejected
(`HostedPartitions.error_for`), and retried by the client. All steps of a change must be taken before the next change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from odradek.common.ids import TopicPartition, uuid_to_text
from odradek.log.errors import DamagedFile, InconsistentTopicId, KafkaStorageError, StorageFault
from odradek.log.manager.log_changes import delete_logs, settle_deletions
from odradek.metadata.image.configs import ConfigsDelta
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.directory_id import LOST, MIGRATING, UNASSIGNED
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.partition_registration import NO_LEADER, PartitionRegistration
from odradek.metadata.image.topics import TopicDelta, TopicsDelta
from odradek.protocol.config_kinds import ConfigResourceType
from odradek.replica.fetcher import FetchSource
from odradek.replica.follower_fetchers import FollowerFetchers
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.log_dir_moves import LogDirMoves
from odradek.replica.partition import Partition
from odradek.replica.partition_leader import PartitionDependencies, PartitionLeader
from odradek.replica.purgatory import Purgatories
from odradek.replica.replica_failures import ReplicaFailures, ReportDirectory
from odradek.replica.startup_logs import StartupLogs

logger = logging.getLogger("odradek.replica")


class ReplicaChange(NamedTuple):
    topic_partition: TopicPartition
    topic_id: bytes
    registration: PartitionRegistration
    #: Whether the replica was assigned to this broker while it was running.
    is_new: bool


class LocalChanges:
    """The changes of a delta that concern one broker. `is_first`: the delta is the first since the broker started, so
    it does not distinguish new replicas from those that the broker had before."""

    def __init__(self, broker_id: int, delta: TopicsDelta, *, is_first: bool) -> None:
        self._is_first = is_first
        self.deleted: list[tuple[TopicPartition, bytes]] = []
        self.leaders: list[ReplicaChange] = []
        self.followers: list[ReplicaChange] = []
        for topic_id in delta.deleted:
            topic = delta.image.by_id[topic_id]
            for partition_index, registration in topic.partitions.items():
                if broker_id in registration.replicas:
                    self.deleted.append((TopicPartition(topic.name, partition_index), topic_id))
        for topic_delta in delta.changed.values():
            self._add_topic(broker_id, topic_delta)

    def _add_topic(self, broker_id: int, delta: TopicDelta) -> None:
        topic = delta.image
        for partition_index, registration in delta.partitions.changes.items():
            previous: PartitionRegistration | None = topic.partitions.get(partition_index)
            if registration is None:
                continue
            tp = TopicPartition(topic.name, partition_index)
            if broker_id not in registration.replicas:
                if previous is not None and broker_id in previous.replicas:
                    self.deleted.append((tp, topic.id))
            elif previous is None or previous.partition_epoch != registration.partition_epoch:
                is_new = not self._is_first and (previous is None or broker_id not in previous.replicas)
                change = ReplicaChange(tp, topic.id, registration, is_new)
                (self.leaders if registration.leader == broker_id else self.followers).append(change)


class MetadataApplier:
    def __init__(
        self,
        dependencies: PartitionDependencies,
        partitions: HostedPartitions,
        purgatories: Purgatories,
        failures: ReplicaFailures,
        fetchers: FollowerFetchers,
        moves: LogDirMoves,
        startup_logs: StartupLogs,
        report_directory: ReportDirectory,
    ) -> None:
        self._dependencies = dependencies
        self._view = dependencies.view
        self._logs = dependencies.logs
        self._lines = dependencies.lines
        self._partitions = partitions
        self._purgatories = purgatories
        self._failures = failures
        self._fetchers = fetchers
        self._moves = moves
        self._startup_logs = startup_logs
        self._report_directory = report_directory
        self._is_first = True
        self._is_in_controlled_shutdown = False

    def begin_controlled_shutdown(self) -> None:
        """Stop fetching partitions whose ISR this broker has left."""
        self._is_in_controlled_shutdown = True

    def apply(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Bring this broker's replicas to the image. `delta` is the change since the previous call."""
        for _ in self.apply_in_steps(delta, image):
            pass

    def apply_in_steps(self, delta: MetadataDelta, image: MetadataImage) -> Iterator[None]:
        """Apply a change; a step is one partition, or a few things that take no time. Other calls may come between the
        steps, except those of another image."""
        is_first, self._is_first = self._is_first, False
        if is_first:
            self._startup_logs.sort_out(image)
        self._view.update(image)
        if delta.topics is not None:
            changes = LocalChanges(self._view.broker_id, delta.topics, is_first=is_first)
            yield from self._delete(changes)
            yield from self._lead(changes)
            yield from self._follow(changes)
        self._restart_fetchers(delta)
        if delta.configs is not None:
            self._check_reconfigured(delta.configs)
        self._lines.flush()

    def _check_reconfigured(self, delta: ConfigsDelta) -> None:
        """Advance high watermarks that were waiting for another `min.insync.replicas`; the logs already have their new
        settings."""
        topics = {resource.name: None for resource in delta.changed if resource.type == ConfigResourceType.TOPIC}
        is_for_all = len(topics) < len(delta.changed)
        now_ms = self._dependencies.clock.monotonic_ms()
        for tp, partition in list(self._partitions.online.items()):
            role = partition.role
            is_affected = is_for_all or tp.topic in topics
            if is_affected and isinstance(role, PartitionLeader) and role.advance_high_watermark(now_ms):
                self._purgatories.check_waiting(tp)

    # -- deleted replicas

    def _delete(self, changes: LocalChanges) -> Iterator[None]:
        deleted = [tp for tp, topic_id in changes.deleted if self._is_held(tp, topic_id)]
        if not deleted:
            return
        self._fetchers.remove(deleted)
        for tp in deleted:
            self._partitions.remove(tp)
            self._moves.cancel(tp, delete=False)
            self._purgatories.check_waiting(tp)
            for error in delete_logs(self._logs, (tp,)).values():
                self._lines.add(logging.ERROR, "could not be deleted", tp, f"could not be deleted: {error}")
            yield
        settle_deletions(self._logs)
        logger.info("%d replicas are deleted: %s", len(deleted), ", ".join(map(str, deleted[:10])))

    def _is_held(self, tp: TopicPartition, topic_id: bytes) -> bool:
        """Return whether the replica is here, and not one of a later topic with the same name."""
        partition = self._partitions.online.get(tp)
        if partition is not None:
            return partition.topic_id == topic_id
        offline_topic_id = self._partitions.offline_topic_id(tp)
        if offline_topic_id is not None:
            return offline_topic_id == topic_id
        log = self._logs.log(tp)
        return log is not None and log.topic_id == topic_id

    # -- leaders

    def _lead(self, changes: LocalChanges) -> Iterator[None]:
        self._fetchers.remove([change.topic_partition for change in changes.leaders])
        for change in changes.leaders:
            partition = self._get_or_create(change)
            if partition is not None and self._change_role(partition.become_leader, change) is not None:
                # Even if the high watermark stays: requests may wait for an epoch that has ended.
                self._purgatories.check_waiting(change.topic_partition)
                self._check_directory(change)
            yield

    # -- followers

    def _follow(self, changes: LocalChanges) -> Iterator[None]:
        for change in changes.followers:
            partition = self._get_or_create(change)
            if partition is not None:
                self._make_follower(partition, change)
                self._check_directory(change)
            yield

    def _make_follower(self, partition: Partition, change: ReplicaChange) -> None:
        is_new_epoch = self._change_role(partition.become_follower, change)
        if is_new_epoch is None:
            return
        registration = change.registration
        has_left_isr = registration.leader == NO_LEADER or self._view.broker_id not in registration.isr
        if self._is_in_controlled_shutdown and has_left_isr:
            self._fetchers.remove((change.topic_partition,))
        elif is_new_epoch:
            self._start_fetching(partition)
        if is_new_epoch:
            self._purgatories.check_waiting(change.topic_partition)

    def _start_fetching(self, partition: Partition) -> None:
        tp = partition.topic_partition
        if partition.leader_id == NO_LEADER:
            self._fetchers.remove((tp,))
            return
        try:
            self._fetchers.add(partition.leader_id, FetchSource(tp, partition.topic_id, partition.leader_epoch))
        except KafkaStorageError as error:
            self._lines.add(logging.ERROR, "cannot be fetched", tp, f"cannot be fetched: {error}")
            self._fetchers.mark_failed(tp)

    def _restart_fetchers(self, delta: MetadataDelta) -> None:
        """Restart the fetchers of brokers that have registered again, perhaps with other listeners."""
        if delta.cluster is not None:
            for broker_id, registration in delta.cluster.brokers.changes.items():
                previous = delta.cluster.brokers.base.get(broker_id)
                if registration is not None and (previous is None or previous.epoch != registration.epoch):
                    self._fetchers.source_changed(broker_id)

    # -- partitions and their logs

    def _get_or_create(self, change: ReplicaChange) -> Partition | None:
        tp, topic_id, registration, _ = change
        partition = self._partitions.online.get(tp)
        if partition is not None and partition.topic_id == topic_id:
            return partition
        can_replace_damaged = self._failures.can_replace_damaged(tp, registration)
        if self._partitions.offline_topic_id(tp) == topic_id and not can_replace_damaged:
            problem = "log is damaged" if self._partitions.is_damaged(tp) else "log directory has failed"
            self._lines.add(logging.WARNING, f"stay offline, their {problem}", tp, f"stays offline, its {problem}")
            return None
        if partition is not None:
            logger.error("%s has topic id %s, not %s", tp, uuid_to_text(partition.topic_id), uuid_to_text(topic_id))
            return None
        if can_replace_damaged and not self._failures.rename_damaged(tp):
            return None
        partition = Partition(tp, topic_id, self._dependencies)
        self._partitions.add(partition)
        return partition

    def _change_role(
        self, change_role: Callable[[PartitionRegistration, bool], bool], change: ReplicaChange
    ) -> bool | None:
        """Return the result of `become_leader` or `become_follower`; None if the log cannot be opened, and the
        partition is offline."""
        tp = change.topic_partition
        try:
            return change_role(change.registration, change.is_new)
        except StorageFault as fault:
            self._failures.storage_failed(fault)
        except (KafkaStorageError, InconsistentTopicId, DamagedFile) as error:
            self._lines.add(logging.ERROR, "cannot be opened", tp, f"cannot be opened: {error}")
        self._failures.take_offline(tp)
        if tp in self._logs.damaged:
            self._failures.report_damaged(tp, change.topic_id)
        elif self._is_without_directory(change.registration):
            # The controller cannot know that the replica is in a directory that is offline.
            self._report_directory(change.topic_id, tp.partition, LOST)
        return None

    def _is_without_directory(self, registration: PartitionRegistration) -> bool:
        directory = registration.directory(self._view.broker_id)
        return self._view.are_directories_assigned and directory in (UNASSIGNED, MIGRATING)

    def _check_directory(self, change: ReplicaChange) -> None:
        """Report the replica's directory if the metadata has another one: the controller must know which replicas are
        lost with a directory when it fails."""
        tp = change.topic_partition
        partition = self._partitions.online.get(tp)
        if partition is None or partition.log is None:
            return
        assigned = change.registration.directory(self._view.broker_id)
        self._moves.resume(partition, assigned)
        actual = self._logs.directory_id(partition.log.log_dir)
        if actual is not None and actual != assigned and not self._moves.is_announced(tp, assigned):
            self._report_directory(change.topic_id, tp.partition, actual)
