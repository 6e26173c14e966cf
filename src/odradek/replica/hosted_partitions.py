"""The partitions with a replica on this broker: online, or offline with their directory or because of damage."""

from __future__ import annotations

from collections.abc import KeysView

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID, TopicPartition, uuid_to_text
from odradek.log.errors import InconsistentTopicId, KafkaStorageError
from odradek.replica.cluster_view import ClusterView
from odradek.replica.errors import NotLeaderOrFollower, UnknownTopicOrPartition
from odradek.replica.partition import Partition


class HostedPartitions:
    __slots__ = ("_damaged", "_offline", "_view", "online")

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        #: Partitions with a log. Public to read: hot paths look them up themselves.
        self.online: dict[TopicPartition, Partition] = {}
        #: Topic ids of the partitions whose log is not available.
        self._offline: dict[TopicPartition, bytes] = {}
        #: Offline partitions whose log is damaged while its directory is healthy.
        self._damaged: dict[TopicPartition, None] = {}

    def find(self, tp: TopicPartition, topic_id: bytes = ZERO_UUID) -> Partition:
        """Return the partition. Raises `ApiError`: see `error_for`, and INCONSISTENT_TOPIC_ID if the partition belongs
        to a topic with another id."""
        partition = self.online.get(tp)
        if partition is None:
            raise self.error_for(tp)
        if topic_id != ZERO_UUID and topic_id != partition.topic_id:
            raise InconsistentTopicId(
                f"{tp} has topic id {uuid_to_text(partition.topic_id)}, not {uuid_to_text(topic_id)}"
            )
        return partition

    def error_for(self, tp: TopicPartition) -> ApiError:
        """Return why the partition is not online: KAFKA_STORAGE_ERROR if it is offline, NOT_LEADER_OR_FOLLOWER if other
        brokers have it or its log is still to be created, UNKNOWN_TOPIC_OR_PARTITION if it does not exist."""
        if tp in self._offline:
            problem = "has a damaged log" if tp in self._damaged else "is in an offline log directory"
            return KafkaStorageError(f"{tp} {problem}")
        topic = self._view.image.topics.by_name.get(tp.topic)
        if topic is not None and tp.partition in topic.partitions:
            return NotLeaderOrFollower(f"{tp} has no replica on this broker, or its log has not been created yet")
        return UnknownTopicOrPartition(f"There is no partition {tp}")

    def add(self, partition: Partition) -> None:
        """Add an online partition, which may have been offline before."""
        tp = partition.topic_partition
        self.online[tp] = partition
        self._offline.pop(tp, None)
        self._damaged.pop(tp, None)

    def remove(self, tp: TopicPartition) -> None:
        """Remove a deleted replica, online or offline."""
        partition = self.online.pop(tp, None)
        self._offline.pop(tp, None)
        self._damaged.pop(tp, None)
        if partition is not None:
            partition.go_offline()

    def set_offline(self, tp: TopicPartition) -> bool:
        """Take an online partition offline; return False if it was not online."""
        partition = self.online.pop(tp, None)
        if partition is None:
            return False
        self._offline[tp] = partition.topic_id
        partition.go_offline()
        return True

    def set_damaged(self, tp: TopicPartition) -> None:
        """Note that the log of an offline partition is damaged."""
        self._damaged[tp] = None

    def is_damaged(self, tp: TopicPartition) -> bool:
        return tp in self._damaged

    def offline_topic_id(self, tp: TopicPartition) -> bytes | None:
        """Return the topic id of an offline partition; None if it is not offline."""
        return self._offline.get(tp)

    @property
    def offline(self) -> KeysView[TopicPartition]:
        """The partitions whose log is not available."""
        return self._offline.keys()
