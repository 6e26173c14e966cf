"""A replica whose log turns out to be damaged: the disk works, but does not hold what was written.

It can neither lead nor follow with such a log. It goes offline, alone: the other replicas of its directory are as
good as before. The controller is told that its directory is lost, which takes it out of the ISR and gives the
leadership to another replica. As soon as another one leads and this one is out of sync, nothing depends on its data:
its log is set aside (`-stray`, for a person to look at), and it is fetched again into a new one. Where no other replica
is in sync it stays as it is, for it may be all that is left.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.common.ids import TopicPartition
from odradek.log.errors import DamagedFile, KafkaStorageError
from odradek.log.manager.log_changes import set_damaged_aside
from odradek.metadata.image.directory_id import LOST
from odradek.metadata.image.partition_registration import NO_LEADER, PartitionRegistration

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager

logger = logging.getLogger("odradek.replica")


def give_up(manager: ReplicaManager, tp: TopicPartition, damage: DamagedFile) -> None:
    """Damage was met in the log of this partition."""
    partition = manager.partitions.get(tp)
    if partition is None:
        return
    role = "leader" if partition.is_leader else "follower"
    logger.error("%s: %s at epoch %d gives up, its log is damaged: %s", tp, role, partition.leader_epoch, damage)
    manager.mark_offline(tp)
    tell(manager, tp, partition.topic_id)


def tell(manager: ReplicaManager, tp: TopicPartition, topic_id: bytes) -> None:
    """The controller is to look for another replica."""
    manager.damaged[tp] = None
    manager.on_assignment(topic_id, tp.partition, LOST)


def may_begin_anew(manager: ReplicaManager, tp: TopicPartition, registration: PartitionRegistration) -> bool:
    """Whether another replica has everything that this one had."""
    is_damaged = tp in manager.damaged or tp in manager.logs.damaged
    has_leader = registration.leader not in (NO_LEADER, manager.broker_id)
    return is_damaged and has_leader and manager.broker_id not in registration.isr


def begin_anew(manager: ReplicaManager, tp: TopicPartition) -> bool:
    """False if the disk failed, and its directory is offline by now."""
    manager.damaged.pop(tp, None)
    try:
        path = set_damaged_aside(manager.logs, tp)
    except KafkaStorageError as error:
        logger.error("%s: the damaged log could not be renamed: %s", tp, error)
        return False
    logger.warning("%s: is fetched again from its leader; the damaged log is kept as %s", tp, path)
    return True
