"""Names of files and directories under a log directory, as Kafka writes them.

A partition is a directory `topic-partition`; while it is deleted, moved or disowned it carries a unique id and one of
`-delete`, `-future`, `-stray`. In it every segment is a family of files named after its base offset in twenty digits;
`.deleted`, `.cleaned` or `.swap` at the end says what is being done to them.
"""

import re
from typing import NamedTuple

from odradek.common.ids import TopicPartition
from odradek.common.topic_names import name_problem
from odradek.log.errors import InvalidTopic

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TXN_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"

DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

DELETE_DIR_SUFFIX = "-delete"
FUTURE_DIR_SUFFIX = "-future"
STRAY_DIR_SUFFIX = "-stray"

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
REPLICATION_CHECKPOINT = "replication-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
META_PROPERTIES = "meta.properties"

CLUSTER_METADATA_TOPIC = "__cluster_metadata"

_MAX_DIR_NAME_LENGTH = 255

_MARKED_DIR = re.compile(r"(\S+)-(\S+)\.(\S+)(-delete|-future|-stray)")
_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SEGMENT_FILE = re.compile(
    r"([0-9]{20})(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)((?:\.deleted|\.cleaned|\.swap)*)", re.ASCII
)
_MAX_PARTITION = 2**31 - 1


class SegmentFileName(NamedTuple):
    """`kind` is `.log`, `.index`, …; `suffix` is empty or `.deleted`, `.cleaned`, `.swap`."""

    base_offset: int
    kind: str
    suffix: str


class PartitionDirName(NamedTuple):
    """`mark` is empty or `-delete`, `-future`, `-stray`."""

    topic_partition: TopicPartition
    mark: str


def offset_prefix(offset: int) -> str:
    return f"{offset:020d}"


def segment_path(directory: str, base_offset: int, kind: str, suffix: str = "") -> str:
    return f"{directory}/{base_offset:020d}{kind}{suffix}"


def snapshot_path(directory: str, offset: int) -> str:
    return f"{directory}/{offset:020d}{SNAPSHOT_SUFFIX}"


_MAX_OFFSET = 2**63 - 1


def parse_segment_file(name: str) -> SegmentFileName | None:
    """None for a file that belongs to no segment: also where its number is no offset."""
    match = _SEGMENT_FILE.fullmatch(name)
    if match is None or int(match[1]) > _MAX_OFFSET:
        return None
    return SegmentFileName(int(match[1]), match[2], match[3])


def partition_dir(topic_partition: TopicPartition) -> str:
    return f"{topic_partition.topic}-{topic_partition.partition}"


def marked_partition_dir(topic_partition: TopicPartition, unique_id: str, mark: str) -> str:
    """`unique_id` is 32 hexadecimal digits that the caller drew. A long topic is cut, except for `-future`: Kafka
    reads the topic's name back only from that one."""
    tail = f"-{topic_partition.partition}.{unique_id}{mark}"
    if mark == FUTURE_DIR_SUFFIX:
        return topic_partition.topic + tail
    return topic_partition.topic[: _MAX_DIR_NAME_LENGTH - len(tail)] + tail


def parse_partition_dir(name: str) -> PartitionDirName | None:
    """None for a directory that is no partition's."""
    mark = next((m for m in (DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX) if name.endswith(m)), "")
    if mark:
        if not _MARKED_DIR.fullmatch(name):
            return None
        name = name[: name.rindex(".")]
    topic, dash, partition = name.rpartition("-")
    if not topic or not dash or not _NUMBER.fullmatch(partition) or int(partition) > _MAX_PARTITION:
        return None
    return PartitionDirName(TopicPartition(topic, int(partition)), mark)


def check_topic(topic: str) -> None:
    """Raises `InvalidTopic` with Kafka's reasons."""
    reason = name_problem(topic)
    if reason is not None:
        raise InvalidTopic(f"Topic name is invalid: {reason}")


def topics_collide(topic: str, other: str) -> bool:
    """Metrics write a period as an underscore, so two names may become one."""
    return topic.replace(".", "_") == other.replace(".", "_")
