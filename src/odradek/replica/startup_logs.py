"""The logs loaded at startup, sorted out once the first metadata image is known.

A log of a deleted topic, or of a partition that was reassigned to other brokers while this one was down, is stray: it
is renamed and kept for an operator to inspect. So is the log of a deleted topic beside that of a new topic with its
name, if its directory was offline when the topic was deleted. A future log becomes the replica's log if the controller
has assigned the replica to its directory and there is no other: the broker stopped in the middle of a move, or the
other disk is lost. All other future logs continue to be filled where they stopped (see `log_dir_moves`).
"""

from __future__ import annotations

import logging

from odradek.common.ids import TopicPartition
from odradek.log.errors import KafkaStorageError
from odradek.log.manager.log_changes import delete_log, promote_future, settle_duplicates
from odradek.log.manager.log_manager import LogManager
from odradek.log.unified_log import UnifiedLog
from odradek.metadata.image.image import MetadataImage
from odradek.replica.cluster_view import ClusterView
from odradek.replica.log_lines import PartitionLogLines

logger = logging.getLogger("odradek.replica")


class StartupLogs:
    def __init__(self, view: ClusterView, logs: LogManager, lines: PartitionLogLines) -> None:
        self._view = view
        self._logs = logs
        self._lines = lines

    def sort_out(self, image: MetadataImage) -> None:
        """Rename stray logs and promote future logs, before any partition is created."""
        self._rename_duplicates(image)
        for is_future, logs in ((False, self._logs.current), (True, self._logs.future)):
            for tp, log in list(logs.items()):
                if is_stray(self._view.broker_id, image, log):
                    self._rename_stray(tp, log, is_future=is_future)
        for tp, log in list(self._logs.future.items()):
            if tp not in self._logs.current and self._is_assigned(image, log):
                self._promote(tp, log)
        self._lines.flush()

    def _rename_duplicates(self, image: MetadataImage) -> None:
        directories = {log: log.directory for log in (*self._logs.current.values(), *self._logs.duplicates)}
        for log in settle_duplicates(self._logs, lambda log: is_stray(self._view.broker_id, image, log)):
            tp, directory = log.topic_partition, directories[log]
            event = "were deleted and created again; the logs of the deleted topics are kept under another name"
            detail = f"was deleted and created again; the deleted topic's log {directory} is kept under another name"
            self._lines.add(logging.WARNING, event, tp, detail)

    def _rename_stray(self, tp: TopicPartition, log: UnifiedLog, *, is_future: bool) -> None:
        event = "are no longer replicas of this broker; their logs are kept under another name"
        detail = f"is no longer a replica of this broker; {log.directory} is kept under another name"
        self._lines.add(logging.WARNING, event, tp, detail)
        try:
            delete_log(self._logs, tp, is_future=is_future, is_stray=True)
        except KafkaStorageError as error:
            self._lines.add(logging.ERROR, "could not be renamed", tp, f"could not be renamed: {error}")

    def _is_assigned(self, image: MetadataImage, log: UnifiedLog) -> bool:
        assert log.topic_id is not None  # or it would be stray
        registration = image.topics.partition(log.topic_id, log.topic_partition.partition)
        assert registration is not None
        version = image.features.metadata_version
        if version is not None and not version.is_directory_assignment_supported:
            return True  # the metadata assigns no directories, so what is there counts
        return registration.directory(self._view.broker_id) == self._logs.directory_id(log.log_dir)

    def _promote(self, tp: TopicPartition, log: UnifiedLog) -> None:
        logger.warning("%s: has only a future log, in %s, which becomes the current one", tp, log.log_dir)
        try:
            promote_future(self._logs, tp)
        except KafkaStorageError as error:
            logger.error("%s could not be renamed: %s", tp, error)


def is_stray(broker_id: int, image: MetadataImage, log: UnifiedLog) -> bool:
    """Return whether a loaded log belongs to no replica of this broker. One without a topic id was created but never
    written to."""
    if log.topic_id is None:
        return True
    registration = image.topics.partition(log.topic_id, log.topic_partition.partition)
    return registration is None or broker_id not in registration.replicas
