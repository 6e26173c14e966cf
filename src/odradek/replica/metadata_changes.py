"""From a change of metadata to what this broker's replicas do.

Order: replicas that are gone, then those that lead now, then those that follow, then who fetches from whom. Only
partitions whose registration changed are looked at. A replica whose log cannot be opened is offline, and the others go
on. Settings of topics are the log manager's: it has them before the replicas hear of the image.

A change may concern thousands of partitions, and each of them touches the disk: `steps` takes one at a time, and its
caller may do other things in between. Whoever asks for a partition that has not had its turn is told that it is not
here (`ReplicaManager.missing`), and asks again. The next change must wait until all steps of this one are taken.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from odradek.common.ids import TopicPartition, uuid_to_text
from odradek.log.errors import DamagedFile, InconsistentTopicId, KafkaStorageError, StorageFault
from odradek.log.manager.log_changes import delete_logs, settle_deletions
from odradek.log.unified_log import UnifiedLog
from odradek.metadata.image.configs import ConfigsDelta
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.directory_id import LOST, MIGRATING, UNASSIGNED
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.partition_registration import NO_LEADER, PartitionRegistration
from odradek.metadata.image.topics import TopicDelta, TopicsDelta
from odradek.protocol.config_types import ConfigResourceType
from odradek.replica import damage
from odradek.replica.fetcher import FetchFrom
from odradek.replica.partition import Partition

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager

logger = logging.getLogger("odradek.replica")


class _Change(NamedTuple):
    topic_partition: TopicPartition
    topic_id: bytes
    registration: PartitionRegistration
    #: The replica was given to this broker while it was running.
    is_new: bool


class LocalChanges:
    """The changes of a delta that concern one broker. `is_first`: the delta is the first since the broker started, so
    it does not tell new replicas from those that the broker has had for long."""

    def __init__(self, broker_id: int, delta: TopicsDelta, *, is_first: bool) -> None:
        self._is_first = is_first
        self.deleted: list[tuple[TopicPartition, bytes]] = []
        self.leaders: list[_Change] = []
        self.followers: list[_Change] = []
        for topic_id in delta.deleted:
            topic = delta.image.by_id[topic_id]
            for number, registration in topic.partitions.items():
                if broker_id in registration.replicas:
                    self.deleted.append((TopicPartition(topic.name, number), topic_id))
        for topic_delta in delta.changed.values():
            self._add_topic(broker_id, topic_delta)

    def _add_topic(self, broker_id: int, delta: TopicDelta) -> None:
        topic = delta.image
        for number, registration in delta.partitions.changes.items():
            before: PartitionRegistration | None = topic.partitions.get(number)
            if registration is None:
                continue
            tp = TopicPartition(topic.name, number)
            if broker_id not in registration.replicas:
                if before is not None and broker_id in before.replicas:
                    self.deleted.append((tp, topic.id))
            elif before is None or before.partition_epoch != registration.partition_epoch:
                is_new = not self._is_first and (before is None or broker_id not in before.replicas)
                change = _Change(tp, topic.id, registration, is_new)
                (self.leaders if registration.leader == broker_id else self.followers).append(change)


def steps(manager: ReplicaManager, delta: MetadataDelta, image: MetadataImage, *, is_first: bool) -> Iterator[None]:
    """Apply the delta; a step is one partition, or a few things that take no time."""
    manager.context.image = image
    if delta.topics is not None:
        changes = LocalChanges(manager.broker_id, delta.topics, is_first=is_first)
        yield from _delete(manager, changes)
        yield from _lead(manager, changes)
        yield from _follow(manager, changes)
    _restart_fetchers(manager, delta)
    if delta.configs is not None:
        _wake_configured(manager, delta.configs)
    manager.context.lines.flush()


def _wake_configured(manager: ReplicaManager, delta: ConfigsDelta) -> None:
    """The logs have their new settings already; `min.insync.replicas` may be what the high watermark was waiting
    for."""
    topics = {resource.name: None for resource in delta.changed if resource.type == ConfigResourceType.TOPIC}
    is_for_all = len(topics) < len(delta.changed)
    now_ms = manager.clock.monotonic_ms()
    for tp, partition in list(manager.partitions.items()):
        if (is_for_all or tp.topic in topics) and partition.maybe_increment_high_watermark(now_ms):
            manager.wake(tp)


def _delete(manager: ReplicaManager, changes: LocalChanges) -> Iterator[None]:
    gone = [tp for tp, topic_id in changes.deleted if _is_held(manager, tp, topic_id)]
    if not gone:
        return
    manager.fetchers.remove(gone)
    for tp in gone:
        partition = manager.partitions.pop(tp, None)
        manager.dir_moves.cancel(tp, delete=False)
        manager.offline.pop(tp, None)
        manager.damaged.pop(tp, None)
        if partition is not None:
            partition.mark_offline()
        manager.wake(tp)
        for error in delete_logs(manager.logs, (tp,)).values():
            manager.context.lines.add(logging.ERROR, "could not be deleted", tp, f"could not be deleted: {error}")
        yield
    settle_deletions(manager.logs)
    logger.info("%d replicas are deleted: %s", len(gone), ", ".join(map(str, gone[:10])))


def _is_held(manager: ReplicaManager, tp: TopicPartition, topic_id: bytes) -> bool:
    """Not a later topic of the same name."""
    partition = manager.partitions.get(tp)
    if partition is not None:
        return partition.topic_id == topic_id
    if tp in manager.offline:
        return manager.offline[tp] == topic_id
    log = manager.logs.log(tp)
    return log is not None and log.topic_id == topic_id


def _lead(manager: ReplicaManager, changes: LocalChanges) -> Iterator[None]:
    manager.fetchers.remove([change.topic_partition for change in changes.leaders])
    for change in changes.leaders:
        partition = _get_or_create(manager, change)
        if partition is not None and _make(manager, partition.make_leader, partition, change) is not None:
            # Even where the high watermark stays: those who wait may wait for an epoch that is over.
            manager.wake(change.topic_partition)
            _report_directory(manager, change)
        yield


def _follow(manager: ReplicaManager, changes: LocalChanges) -> Iterator[None]:
    for change in changes.followers:
        partition = _get_or_create(manager, change)
        if partition is not None:
            _follow_one(manager, partition, change)
            _report_directory(manager, change)
        yield


def _follow_one(manager: ReplicaManager, partition: Partition, change: _Change) -> None:
    is_new_epoch = _make(manager, partition.make_follower, partition, change)
    if is_new_epoch is None:
        return
    registration = change.registration
    has_left = registration.leader == NO_LEADER or manager.broker_id not in registration.isr
    if manager.is_in_controlled_shutdown and has_left:
        manager.fetchers.remove((change.topic_partition,))
    elif is_new_epoch:
        _start_fetching(manager, partition)
    if is_new_epoch:
        manager.wake(change.topic_partition)


def _start_fetching(manager: ReplicaManager, partition: Partition) -> None:
    tp = partition.topic_partition
    if partition.leader_id == NO_LEADER:
        manager.fetchers.remove((tp,))
        return
    try:
        manager.fetchers.add(partition.leader_id, FetchFrom(tp, partition.topic_id, partition.leader_epoch))
    except KafkaStorageError as error:
        manager.context.lines.add(logging.ERROR, "cannot be fetched", tp, f"cannot be fetched: {error}")
        manager.fetchers.failed(tp)


def _restart_fetchers(manager: ReplicaManager, delta: MetadataDelta) -> None:
    """A broker that registered anew may listen elsewhere: its fetchers begin again."""
    if delta.cluster is not None:
        for broker_id, registration in delta.cluster.brokers.changes.items():
            before = delta.cluster.brokers.base.get(broker_id)
            if registration is not None and (before is None or before.epoch != registration.epoch):
                manager.fetchers.source_changed(broker_id)


def _get_or_create(manager: ReplicaManager, change: _Change) -> Partition | None:
    tp, topic_id, registration, _ = change
    partition = manager.partitions.get(tp)
    if partition is not None and partition.topic_id == topic_id:
        return partition
    may_begin_anew = damage.may_begin_anew(manager, tp, registration)
    if tp in manager.offline:
        if manager.offline[tp] == topic_id and not may_begin_anew:
            why = "log is damaged" if tp in manager.damaged else "log directory has failed"
            manager.context.lines.add(logging.WARNING, f"stay offline, their {why}", tp, f"stays offline, its {why}")
            return None
        del manager.offline[tp]
    if partition is not None:
        logger.error("%s has topic id %s, not %s", tp, uuid_to_text(partition.topic_id), uuid_to_text(topic_id))
        return None
    if may_begin_anew and not damage.begin_anew(manager, tp):
        return None
    partition = manager.partitions[tp] = Partition(manager.context, tp, topic_id)
    partition.hw_moved = manager.wake
    return partition


def _make(
    manager: ReplicaManager,
    make: Callable[[PartitionRegistration, bool], bool],
    partition: Partition,
    change: _Change,
) -> bool | None:
    """Return the result of `make_leader` or `make_follower`; None if the log cannot be opened: the partition is offline
    then."""
    try:
        return make(change.registration, change.is_new)
    except StorageFault as fault:
        manager.storage_failed(fault)
    except (KafkaStorageError, InconsistentTopicId, DamagedFile) as error:
        detail = f"cannot be opened: {error}"
        manager.context.lines.add(logging.ERROR, "cannot be opened", change.topic_partition, detail)
    manager.mark_offline(change.topic_partition)
    if change.topic_partition in manager.logs.damaged:
        damage.tell(manager, change.topic_partition, change.topic_id)
    elif _is_without_directory(manager, change.registration):
        # The controller cannot know that the replica is in a directory that is offline.
        manager.on_assignment(change.topic_id, change.topic_partition.partition, LOST)
    return None


def _is_without_directory(manager: ReplicaManager, registration: PartitionRegistration) -> bool:
    version = manager.image.features.metadata_version
    is_supported = version is None or version.is_directory_assignment_supported
    return is_supported and registration.directory(manager.broker_id) in (UNASSIGNED, MIGRATING)


def _report_directory(manager: ReplicaManager, change: _Change) -> None:
    """The controller must know which replicas go with a directory when it fails."""
    partition = manager.partitions.get(change.topic_partition)
    if partition is None or partition.log is None:
        return
    assigned = change.registration.directory(manager.broker_id)
    manager.dir_moves.resume(partition, assigned)
    actual = manager.logs.directory_id(partition.log.log_dir)
    if (
        actual is not None
        and actual != assigned
        and not manager.dir_moves.is_announced(partition.topic_partition, assigned)
    ):
        manager.on_assignment(change.topic_id, change.topic_partition.partition, actual)


def is_stray(broker_id: int, image: MetadataImage, log: UnifiedLog) -> bool:
    """A log that was found at the start, and that is not this broker's any more; for `LogManager.load_all`. One without
    a topic id was made but never written to."""
    if log.topic_id is None:
        return True
    registration = image.topics.partition(log.topic_id, log.topic_partition.partition)
    return registration is None or broker_id not in registration.replicas
