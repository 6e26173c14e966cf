"""What handlers hand to the replica manager and get back: one entry and one result for each partition.

Results come in the order of the entries. All are named tuples: they are made for every request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.common.ports import Buffer
from odradek.log.offsets import AbortedTxn, FileRange
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import EpochEndOffset, LogRead, RecordError
from odradek.log.values import Isolation as Isolation

#: In place of a leader epoch: the asker does not know any.
NO_EPOCH = -1
NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_REPLICA = -1
#: `replica_id` of a consumer, and of a tool that reads from any replica up to its end.
CONSUMER = -1
DEBUGGING_CONSUMER = -2


class ProduceEntry(NamedTuple):
    """`topic_id` as the client said it, or zeros. `records` are stamped in place if they are writable."""

    topic_partition: TopicPartition
    records: Buffer
    topic_id: bytes = ZERO_UUID


class ProduceResult(NamedTuple):
    """`error_message` is set only where Kafka sets it: where records were refused one by one."""

    error_code: int
    base_offset: int = NO_OFFSET
    log_append_time_ms: int = NO_TIMESTAMP
    log_start_offset: int = NO_OFFSET
    record_errors: tuple[RecordError, ...] = ()
    error_message: str | None = None


class FetchParams(NamedTuple):
    """What a fetch says of all its partitions. `replica_id` is that of a broker, or `CONSUMER`."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: Isolation
    replica_id: int = CONSUMER
    #: Of a follower's registration; -1 from one that does not say.
    replica_epoch: int = -1
    client_rack: str = ""
    #: False for followers and for consumers before version 11, which know nothing of reading from followers.
    may_read_follower: bool = True

    @property
    def is_from_follower(self) -> bool:
        return self.replica_id >= 0


class FetchEntry(NamedTuple):
    """`topic_partition.topic` is "" where a topic id is not known; see `fetch_session`."""

    topic_partition: TopicPartition
    topic_id: bytes
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH
    #: A follower's own; -1 from consumers.
    log_start_offset: int = NO_OFFSET


class FetchResult(NamedTuple):
    """`found` is where the records lie; `ReplicaManager.read_records` reads them."""

    error_code: int
    high_watermark: int = NO_OFFSET
    last_stable_offset: int = NO_OFFSET
    log_start_offset: int = NO_OFFSET
    found: LogRead | None = None
    log: UnifiedLog | None = None
    diverging_epoch: EpochEndOffset | None = None
    preferred_read_replica: int = NO_REPLICA

    @property
    def records(self) -> FileRange | None:
        return None if self.found is None else self.found.records

    @property
    def size_bytes(self) -> int:
        found = self.found
        return 0 if found is None or found.records is None else found.records.length

    @property
    def aborted(self) -> tuple[AbortedTxn, ...] | None:
        """None unless the fetch is `read_committed`."""
        return None if self.found is None else self.found.aborted


class ListOffsetsEntry(NamedTuple):
    """`timestamp` may be one of the special values of `common.list_offsets_timestamps`."""

    topic_partition: TopicPartition
    timestamp: int
    current_leader_epoch: int = NO_EPOCH


class ListOffsetsResult(NamedTuple):
    """Offset -1 with no error: there is no such record."""

    error_code: int
    timestamp: int = NO_TIMESTAMP
    offset: int = NO_OFFSET
    leader_epoch: int = NO_EPOCH


class EpochEntry(NamedTuple):
    """Where does `leader_epoch`, or the largest one below it, end?"""

    topic_partition: TopicPartition
    leader_epoch: int
    current_leader_epoch: int = NO_EPOCH


class EpochResult(NamedTuple):
    error_code: int
    leader_epoch: int = NO_EPOCH
    end_offset: int = NO_OFFSET


class DeleteRecordsEntry(NamedTuple):
    """Offset -1: up to the high watermark."""

    topic_partition: TopicPartition
    offset: int


class DeleteRecordsResult(NamedTuple):
    error_code: int
    #: The smallest log start of all live replicas.
    low_watermark: int = NO_OFFSET


class ProducerInfo(NamedTuple):
    """A producer that a log remembers. `txn_start_offset` is -1 outside of a transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    txn_start_offset: int


class ReplicaInfo(NamedTuple):
    """One log in a log directory."""

    topic_partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirInfo(NamedTuple):
    """A log directory; `replicas` is empty where `error_code` is set."""

    path: str
    error_code: int
    replicas: tuple[ReplicaInfo, ...] = ()
    is_cordoned: bool = False


ProduceCallback = Callable[[list[ProduceResult]], None]
FetchCallback = Callable[[list[FetchResult]], None]
DeleteRecordsCallback = Callable[[list[DeleteRecordsResult]], None]
