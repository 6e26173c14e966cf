"""Writes the rows of a task: Arrow record batches become Kafka record batches, which are sent to the leaders.

Connections outlive the task: Spark reuses its Python workers, and the next task uses the open connections.
"""

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from odradek.client.direct.bulk_producer import BulkProducer, partition_count
from odradek.client.direct.leader_connections import Leaders
from odradek.client.direct.transactions import Transactions
from odradek.client.producer.compressing import codec_and_level
from odradek.client.producer.producer_identity import NO_IDENTITY, ProducerIdentity
from odradek.common.failures import ApiError, InputError, check
from odradek.common.ids import TopicPartition
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.records.columns.column_batches import ArrowRecords, BatchPlan, build_batches
from odradek.records.record import NO_SEQUENCE
from odradek.spark.connections import leaders_of
from odradek.spark.sink.columns import arrow_records, partition_column, rows_by_topic
from odradek.spark.sink.options import Delivery, SinkOptions
from odradek.spark.sink.partitioning import RowPartitioner
from odradek.spark.worker_process import spare_modules

#: A failed task should report to Spark soon; the driver aborts what the task could not abort.
_ABORT_TIMEOUT_MS = 5_000

#: Upper bound of the random partition at which a task begins with rows without a key; topics have fewer partitions.
_FIRST_PARTITION_BELOW = 1 << 16


def leaders_for(options: SinkOptions, lane: int = 0) -> Leaders:
    settings = options.producer
    return leaders_of(settings.bootstrap_servers, settings.client_id, settings.request_timeout_ms, lane)


def transactions_for(options: SinkOptions, lane: int = 0) -> Transactions:
    return _transactions_of(leaders_for(options, lane), options.producer.delivery_timeout_ms)


@cache
def _transactions_of(leaders: Leaders, timeout_ms: int) -> Transactions:
    """Return an object kept for its connections: it caches coordinators, which every batch needs."""
    return Transactions(leaders, timeout_ms)


class TaskWriter:
    """Writer of one task attempt. With a transactional id it opens a transaction and leaves it open."""

    def __init__(self, options: SinkOptions, transactional_id: str | None = None) -> None:
        check(
            (options.delivery is Delivery.EXACTLY_ONCE) == (transactional_id is not None),
            "exactly-once, and no other delivery, has a transactional id",
        )
        self._options = options
        self._leaders = leaders_for(options)
        self._transactions = transactions_for(options)
        self._transactional_id = transactional_id
        self._partitioner = RowPartitioner(random.randrange(_FIRST_PARTITION_BELOW), options.batch_bytes)
        self._partition_counts: dict[str, int] = {}
        self._producer: BulkProducer | None = None
        self._plan: BatchPlan | None = None
        self.identity = NO_IDENTITY
        self.partitions: dict[TopicPartition, None] = {}
        self.record_count = 0

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Write all rows; they are acknowledged on return. Raise InputError, or the error of the cluster."""
        try:
            for batch in batches:
                if batch.num_rows:
                    self._write_batch(batch)
            if self._producer is not None:
                self._producer.flush()
        except BaseException:
            self._abort()
            raise
        spare_modules("write")

    def _abort(self) -> None:
        """Abort the open transaction, if that is possible, through a new producer epoch: after a plain abort, requests
        in flight could still be written, and would leave a transaction open."""
        if self._producer is not None:
            self._producer.close()
        if self._transactional_id is not None and self.partitions:
            with suppress(ApiError):
                transactions = Transactions(self._leaders, _ABORT_TIMEOUT_MS)
                transactions.begin(self._transactional_id, self._options.producer.transaction_timeout_ms)

    def _write_batch(self, batch: pa.RecordBatch) -> None:
        records = arrow_records(batch, int(time.time() * 1000))
        explicit = partition_column(batch)
        for topic_rows in rows_by_topic(batch, self._options.topic):
            topic = topic_rows.topic
            count = self._partition_count(topic)
            partitions = self._partitioner.partitions(topic, records, topic_rows.rows, explicit, count)
            self._write_rows(records, {TopicPartition(topic, index): rows for index, rows in partitions})
        self.record_count += batch.num_rows

    def _write_rows(self, records: ArrowRecords, rows_by_partition: Mapping[TopicPartition, NDArray[np.int64]]) -> None:
        producer, plan = self._begin()
        self._add(list(rows_by_partition))
        for partition, rows in rows_by_partition.items():
            sequence = producer.next_sequence(partition)
            for built in build_batches(records, rows, plan, base_sequence=sequence):
                producer.send(partition, built)
            producer.poll()

    def _partition_count(self, topic: str) -> int:
        if topic not in self._partition_counts:
            self._await_responses()
            timeout_ms = self._options.producer.max_block_ms
            self._partition_counts[topic] = partition_count(self._leaders, topic, timeout_ms)
        return self._partition_counts[topic]

    def _begin(self) -> tuple[BulkProducer, BatchPlan]:
        if self._producer is None or self._plan is None:
            self.identity = self._identity()
            self._producer = BulkProducer(
                self._leaders,
                self._options.producer,
                base_sequence=0 if self.identity.is_valid else NO_SEQUENCE,
                transactional_id=self._transactional_id,
            )
            self._plan = _plan(self._options, self.identity)
        return self._producer, self._plan

    def _identity(self) -> ProducerIdentity:
        if self._options.delivery is Delivery.AT_LEAST_ONCE:
            return NO_IDENTITY
        if self._transactional_id is None:
            return self._transactions.producer_id()
        timeout_ms = self._options.producer.transaction_timeout_ms
        try:
            return self._transactions.begin(self._transactional_id, timeout_ms)
        except Refused as error:
            if error.code == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                raise InputError(
                    f"kafka.transaction.timeout.ms={timeout_ms} exceeds transaction.max.timeout.ms of the brokers"
                ) from None
            raise

    def _add(self, partitions: Sequence[TopicPartition]) -> None:
        new = [partition for partition in partitions if partition not in self.partitions]
        if new and self._transactional_id is not None:
            self._await_responses()
            self._transactions.add_partitions(self._transactional_id, self.identity, new)
        self.partitions.update(dict.fromkeys(new))

    def _await_responses(self) -> None:
        """Receive all outstanding responses: the connections are shared, and return responses in order."""
        if self._producer is not None:
            self._producer.settle()


def _plan(options: SinkOptions, identity: ProducerIdentity) -> BatchPlan:
    settings = options.producer
    codec, level = codec_and_level(settings)
    return BatchPlan(
        max_bytes=options.batch_bytes,
        compression=codec,
        level=level,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        is_transactional=options.delivery is Delivery.EXACTLY_ONCE,
    )
