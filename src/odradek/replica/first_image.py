"""What is made of the logs that were found at the start, once it is known what the cluster thinks of them.

A log of a topic that is gone, or of a partition that went to other brokers while this one was down, is stray: it is
renamed and kept for a person to look at. So is the log of a deleted topic beside that of a new topic with its name, if
its directory was offline when the topic was deleted. A future log that the controller takes for the replica, while the
log that it was copied from is not there any more, is the replica: the broker stopped in the middle of a move, or the
other disk is gone. All other future logs go on growing where they stopped (see `dir_moves`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.common.ids import TopicPartition
from odradek.log.errors import KafkaStorageError
from odradek.log.manager.log_changes import delete_log, promote_future, settle_duplicates
from odradek.log.unified_log import UnifiedLog
from odradek.metadata.image.image import MetadataImage
from odradek.replica.metadata_changes import is_stray

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager

logger = logging.getLogger("odradek.replica")


def settle(manager: ReplicaManager, image: MetadataImage) -> None:
    """Before any partition is made."""
    logs = manager.logs
    _settle_duplicates(manager, image)
    for is_future, found in ((False, logs.current), (True, logs.future)):
        for tp, log in list(found.items()):
            if is_stray(manager.broker_id, image, log):
                _set_aside(manager, tp, log, is_future=is_future)
    for tp, log in list(logs.future.items()):
        if tp not in logs.current and _is_assigned(manager, image, log):
            _promote(manager, tp, log)
    manager.context.lines.flush()


def _settle_duplicates(manager: ReplicaManager, image: MetadataImage) -> None:
    before = {log: log.directory for log in (*manager.logs.current.values(), *manager.logs.duplicates)}
    for log in settle_duplicates(manager.logs, lambda log: is_stray(manager.broker_id, image, log)):
        tp, directory = log.topic_partition, before[log]
        event = "were deleted and created again; the logs of the deleted topics are kept under another name"
        detail = f"was deleted and created again; the deleted topic's log {directory} is kept under another name"
        manager.context.lines.add(logging.WARNING, event, tp, detail)


def _set_aside(manager: ReplicaManager, tp: TopicPartition, log: UnifiedLog, *, is_future: bool) -> None:
    event = "are not replicas of this broker any more; their logs are kept under another name"
    detail = f"is not a replica of this broker any more; {log.directory} is kept under another name"
    manager.context.lines.add(logging.WARNING, event, tp, detail)
    try:
        delete_log(manager.logs, tp, is_future=is_future, is_stray=True)
    except KafkaStorageError as error:
        manager.context.lines.add(logging.ERROR, "could not be renamed", tp, f"could not be renamed: {error}")


def _is_assigned(manager: ReplicaManager, image: MetadataImage, log: UnifiedLog) -> bool:
    assert log.topic_id is not None  # or it would be stray
    registration = image.topics.partition(log.topic_id, log.topic_partition.partition)
    assert registration is not None
    version = image.features.metadata_version
    if version is not None and not version.is_directory_assignment_supported:
        return True  # nobody says where it is, so what is there counts
    return registration.directory(manager.broker_id) == manager.logs.directory_id(log.log_dir)


def _promote(manager: ReplicaManager, tp: TopicPartition, log: UnifiedLog) -> None:
    logger.warning("%s: its future log in %s is all there is, and becomes the current one", tp, log.log_dir)
    try:
        promote_future(manager.logs, tp)
    except KafkaStorageError as error:
        logger.error("%s could not be renamed: %s", tp, error)
