"""The decisions of all exactly-once sinks of a cluster: a compacted topic, under each sink's id its newest state.

A sink's state is written by a transactional producer of its own. Who opens it takes the transactional id over: a driver
that had it can write no more, and what it had under way is completed or aborted before the newest state is read. A
leader that was deposed and does not know it may show an old end of the log: so before a write is committed, all that
lies between what was read and the record just written is read as well. Every state was written by someone who had read
the one before.
"""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from odradek.client.direct.bulk_producer import BulkProducer
from odradek.client.direct.leader_connections import Leaders
from odradek.client.direct.offsets import list_offsets
from odradek.client.direct.ranges import RangeRequest, read_range
from odradek.client.direct.transactions import Transactions
from odradek.client.producer.producer_identity import ProducerIdentity
from odradek.client.settings.settings import ProducerConfig
from odradek.common import list_offsets_timestamps
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.errors import UnknownTopic
from odradek.protocol.error_codes import ErrorCode
from odradek.records.builder import BatchBuilder
from odradek.records.columns.column_batches import BuiltBatch
from odradek.records.compression import Compression
from odradek.records.record import add_to_sequence
from odradek.spark.exactly_once.decision_topic import decision_partition
from odradek.spark.exactly_once.decisions import TOPIC, SinkState, from_json, to_json
from odradek.spark.exactly_once.protocol import StoreTaken

#: Of the transaction around one write. Others wait for it that share the partition.
_TIMEOUT_MS = 10_000

#: Sinks of one process whose place in the topic is remembered.
_SINKS_MAX = 64

#: A decision names the transactions of all tasks, much alike: uncompressed 20,000 of them are more than brokers take.
_COMPRESSION = Compression.GZIP

#: The last when the epochs of the transactional id were used up: who opens it then gets another producer id.
_FENCED = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)


@dataclass(slots=True)
class _Memory:
    """What this process has read of a sink: states are read from there on."""

    offset: int = 0
    state: SinkState = field(default_factory=SinkState)


@lru_cache(_SINKS_MAX)
def _memory(leaders: Leaders, sink_id: str) -> _Memory:
    return _Memory()


class _Session(NamedTuple):
    """As the owner of the transactional id, until the next comes."""

    identity: ProducerIdentity
    producer: BulkProducer


class DecisionLog:
    """The `Store` of one sink."""

    def __init__(self, leaders: Leaders, transactions: Transactions, settings: ProducerConfig, sink_id: str) -> None:
        self._leaders = leaders
        self._transactions = transactions
        self._settings = settings
        self._sink_id = sink_id
        self._transactional_id = f"{sink_id}-decisions"
        self._memory = _memory(leaders, sink_id)
        self._session: _Session | None = None
        self._place: TopicPartition | None = None

    def open(self) -> SinkState:
        partition = self._partition()
        identity = self._transactions.begin(self._transactional_id, _TIMEOUT_MS)
        self._session = _Session(
            identity,
            BulkProducer(self._leaders, self._settings, base_sequence=0, transactional_id=self._transactional_id),
        )
        end = list_offsets(self._leaders, {partition: list_offsets_timestamps.LATEST})[partition]
        self._read(partition, end)
        return self._memory.state

    def write(self, state: SinkState) -> None:
        if self._session is None:
            raise StoreTaken("it was never opened")
        try:
            self._write(self._session, state)
        except ApiError as error:
            if error.code in _FENCED:
                raise StoreTaken(f"sink {self._sink_id}: another driver has opened the store") from None
            if self._is_deleted():
                raise UnknownTopic(
                    f"sink {self._sink_id}: topic {TOPIC} was deleted while the sink wrote to it, and with it what was "
                    "known of the last batch. Start the query again: the topic is made anew; if the batch was "
                    "committed by then its rows are written a second time"
                ) from None
            raise

    def _is_deleted(self) -> bool:
        with suppress(ApiError):  # of a cluster that does not answer nothing is known
            return TOPIC not in self._leaders.topics([TOPIC])
        return False

    def _write(self, session: _Session, state: SinkState) -> None:
        identity, producer = session
        partition = self._partition()
        sequence = producer.next_sequence(partition)
        builder = BatchBuilder(
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=sequence,
            is_transactional=True,
            compression=_COMPRESSION,
        )
        builder.append(int(time.time() * 1000), self._sink_id.encode(), to_json(state))
        self._transactions.add_partitions(self._transactional_id, identity, [partition])
        try:
            producer.send(partition, BuiltBatch(builder.build(), 1, add_to_sequence(sequence, 1)))
            producer.flush()
        finally:
            producer.close()
        offset, before = producer.last_offsets[partition], self._memory.state
        self._read(partition, offset)
        is_newest = self._memory.state == before and offset >= 0
        self._transactions.end(self._transactional_id, identity, is_commit=is_newest)
        if not is_newest:
            raise StoreTaken(f"sink {self._sink_id}: a newer state has turned up")
        self._memory.offset, self._memory.state = offset + 1, state

    def _read(self, partition: TopicPartition, end: int) -> None:
        """What is not committed yet before the end is waited for."""
        memory, key = self._memory, self._sink_id.encode()
        if memory.offset == end:
            return  # nothing was written since
        start = list_offsets(self._leaders, {partition: list_offsets_timestamps.EARLIEST})[partition]
        if not start <= memory.offset <= end:
            memory.offset, memory.state = start, SinkState()
        request = RangeRequest(partition, memory.offset, end, is_read_committed=True)
        found = [
            value
            for columns in read_range(self._leaders, request)
            for each, value in zip(columns.keys(), columns.values(), strict=True)
            if each == key
        ]
        if found:
            memory.state = SinkState() if found[-1] is None else from_json(found[-1])
        memory.offset = end

    def _partition(self) -> TopicPartition:
        if self._place is None:
            self._place = decision_partition(self._leaders, self._settings, self._sink_id)
        return self._place
