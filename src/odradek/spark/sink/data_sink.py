"""The writing half of the data source: rows of Spark become records of a topic.

Spark makes a writer on the driver for every batch, sends it to the tasks, and each task calls `write` with its rows as
Arrow record batches. What `write` returns goes back to the driver, to `commit` or to `abort`, which Spark calls in
another process, and for streams on a writer that it has made anew: what they need to know comes with the messages.

With delivery=exactly-once a run begins when the writer is sent to the tasks, and not when it is made (see
`odradek.spark.exactly_once.protocol` for what a run is).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from odradek.common.failures import Fault, InputError, check
from odradek.spark.exactly_once.begun_runs import BegunRuns
from odradek.spark.exactly_once.coordinator import SinkCoordinator
from odradek.spark.exactly_once.decision_log import DecisionLog
from odradek.spark.exactly_once.decisions import PreparedTransaction
from odradek.spark.exactly_once.protocol import ExactlyOnce, transactional_id
from odradek.spark.plain_errors import plain_errors
from odradek.spark.portable import Portable
from odradek.spark.pyspark_features import DataSourceStreamArrowWriter
from odradek.spark.sink.columns import check_schema
from odradek.spark.sink.options import SinkOptions, sink_options
from odradek.spark.sink.task_writer import TaskWriter, leaders_for, transactions_for

#: What Spark tells the tasks of a stream: the id of the query, which it keeps in the checkpoint.
_QUERY_ID = "sql.streaming.queryId"

#: Transactions of a batch that the driver ends at once: enough to share the wait for replication, and few connections.
_LANES = 8

#: All jobs of a sink are one query, whose batches are numbered as their runs are: none is taken for another, and many
#: of them do not make the sink forget its streams.
_JOBS = "df.write"


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
    """Of `df.write`. Raises InputError."""
    if overwrite:
        raise InputError("mode overwrite: a topic cannot be overwritten; right would be mode append")
    return BatchWriter(_Sink(_checked(options, schema)))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
    """Of `df.writeStream`, in any output mode. Raises InputError."""
    return StreamWriter(_Sink(_checked(options, schema), BegunRuns(options)))


def _checked(given: Mapping[str, str], schema: StructType) -> SinkOptions:
    options = sink_options(given)
    check_schema(schema, options.topic)
    return options


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """What a task has done."""

    record_count: int
    #: Of exactly-once sinks.
    run: int = 0
    query_id: str | None = None
    #: None where the task had no rows.
    prepared: PreparedTransaction | None = None


class _Sink:
    """What writers of batches and of streams have in common."""

    def __init__(self, options: SinkOptions, begun_runs: BegunRuns | None = None) -> None:
        """`begun_runs` of a stream; a job's writer comes back to the driver with its run."""
        self._options = options
        self._begun_runs = begun_runs
        self._run: int | None = None

    @plain_errors()
    def __getstate__(self) -> tuple[SinkOptions, int | None]:
        """Spark sends a writer to the tasks of a batch before they begin, by pickling it: so a run begins."""
        if self._options.sink_id is not None and self._run is None:
            self._run = self._begin_run(self._options.sink_id)
        return self._options, self._run

    def _begin_run(self, sink_id: str) -> int:
        run = None if self._begun_runs is None else self._begun_runs.take_next()
        if run is None:
            run = self._exactly_once(sink_id).begin_run()
        if self._begun_runs is not None:
            self._begun_runs.remember(run)
        return run

    def __setstate__(self, state: tuple[SinkOptions, int | None]) -> None:
        self._options, self._run = state
        self._begun_runs = None

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        if self._options.sink_id is None:
            writer = TaskWriter(self._options)
            writer.write(batches)
            return Written(writer.record_count)
        check(self._run is not None, "a task of an exactly-once sink has no run")
        return self._prepare(self._options.sink_id, self._run or 0, batches)

    def _prepare(self, sink_id: str, run: int, batches: Iterator[pa.RecordBatch]) -> Written:
        context = TaskContext.get()
        if context is None:
            raise Fault("an exactly-once sink writes in a task of Spark, and nowhere else")
        own_id = transactional_id(sink_id, run, context.partitionId(), context.taskAttemptId())
        writer = TaskWriter(self._options, own_id)
        writer.write(batches)
        prepared = PreparedTransaction(own_id, *writer.identity) if writer.record_count else None
        return Written(writer.record_count, run, context.getLocalProperty(_QUERY_ID), prepared)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """`batch_id` of a stream; a job has none."""
        written = [each for each in messages if isinstance(each, Written)]
        if self._options.sink_id is None or not written:
            return
        run, query_id = written[0].run, _JOBS if batch_id is None else written[0].query_id
        if query_id is None:
            raise InputError("Spark has not told the id of the query, without which no batch is known again")
        prepared = [each.prepared for each in written if each.prepared is not None]
        record_count = sum(each.record_count for each in written)
        number = run if batch_id is None else batch_id
        next_run = self._exactly_once(self._options.sink_id).commit(run, query_id, number, prepared, record_count)
        if self._begun_runs is not None and next_run is not None:
            self._begun_runs.remember_next(next_run)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Tasks that failed have aborted their own; those that Spark killed have not."""
        written = [each for each in messages if isinstance(each, Written)]
        run = written[0].run if written else self._last_run()
        if self._options.sink_id is not None and run is not None:
            prepared = [each.prepared for each in written if each.prepared is not None]
            self._exactly_once(self._options.sink_id).abort(run, prepared)

    def _last_run(self) -> int | None:
        return self._run if self._begun_runs is None else self._begun_runs.last()

    def _exactly_once(self, sink_id: str) -> ExactlyOnce:
        lanes = [transactions_for(self._options, lane) for lane in range(_LANES)]
        store = DecisionLog(leaders_for(self._options), lanes[0], self._options.producer, sink_id)
        return ExactlyOnce(sink_id, store, SinkCoordinator(lanes))


class _Writer:
    """What writers of jobs and of streams have in common."""

    def __init__(self, sink: _Sink) -> None:
        self._sink = sink

    @plain_errors()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._sink.write(iterator)


class BatchWriter(_Writer, DataSourceArrowWriter, metaclass=Portable):
    """One for each job; what it writes is a batch by itself, and none is ever taken for another."""

    @plain_errors()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.commit(messages, None)

    @plain_errors()
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.abort(messages)


class StreamWriter(_Writer, DataSourceStreamArrowWriter, metaclass=Portable):
    @plain_errors()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        self._sink.commit(messages, batchId)

    @plain_errors()
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        self._sink.abort(messages)
