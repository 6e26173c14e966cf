"""The writers of the data source: rows of Spark become records of topics.

Spark creates a writer on the driver for every batch and sends it to the tasks; each task calls `write` with its rows as
Arrow record batches. The result of `write` returns to the driver, to `commit` or `abort`, which Spark calls in another
process, and for streams on a newly created writer: so the messages carry everything that these methods need.

With delivery=exactly-once a run begins when the writer is sent to the tasks, not when it is created (see
`odradek.spark.exactly_once.protocol` for the definition of a run).
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

#: Local property of the tasks of a stream: the id of the query, which Spark keeps in the checkpoint.
_QUERY_ID = "sql.streaming.queryId"

#: Transactions of a batch that the driver ends in parallel: enough to overlap the waits for replication, with few
#: connections.
_LANES = 8

#: Query id of all jobs of a sink. The batch id of a job is the number of its run: no job is mistaken for another, and
#: many jobs do not displace the streams of the sink from its state.
_JOBS = "df.write"


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
    """Return the writer of `df.write`. Raise InputError."""
    if overwrite:
        raise InputError("mode overwrite: a topic cannot be overwritten; use mode append")
    return BatchWriter(_Sink(_checked_options(options, schema)))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
    """Return the writer of `df.writeStream`, for any output mode. Raise InputError."""
    return StreamWriter(_Sink(_checked_options(options, schema), BegunRuns(options)))


def _checked_options(options: Mapping[str, str], schema: StructType) -> SinkOptions:
    parsed = sink_options(options)
    check_schema(schema, parsed.topic)
    return parsed


@dataclass(frozen=True, slots=True)
class TaskResult(WriterCommitMessage):
    """Result of a task, which Spark brings to the driver."""

    record_count: int
    #: Set for exactly-once sinks only.
    run: int = 0
    query_id: str | None = None
    #: None if the task had no rows.
    prepared: PreparedTransaction | None = None


class _Sink:
    """The common part of writers of batches and streams."""

    def __init__(self, options: SinkOptions, begun_runs: BegunRuns | None = None) -> None:
        """Create the sink of a stream with `begun_runs`; the writer of a job returns to the driver with its run."""
        self._options = options
        self._begun_runs = begun_runs
        self._run: int | None = None

    @plain_errors()
    def __getstate__(self) -> tuple[SinkOptions, int | None]:
        """Begin a run: Spark pickles a writer to send it to the tasks of a batch before they begin."""
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

    def write(self, batches: Iterator[pa.RecordBatch]) -> TaskResult:
        if self._options.sink_id is None:
            writer = TaskWriter(self._options)
            writer.write(batches)
            return TaskResult(writer.record_count)
        check(self._run is not None, "a task of an exactly-once sink has no run")
        return self._prepare(self._options.sink_id, self._run or 0, batches)

    def _prepare(self, sink_id: str, run: int, batches: Iterator[pa.RecordBatch]) -> TaskResult:
        context = TaskContext.get()
        if context is None:
            raise Fault("an exactly-once sink writes only in a task of Spark")
        task_id = transactional_id(sink_id, run, context.partitionId(), context.taskAttemptId())
        writer = TaskWriter(self._options, task_id)
        writer.write(batches)
        prepared = PreparedTransaction(task_id, *writer.identity) if writer.record_count else None
        return TaskResult(writer.record_count, run, context.getLocalProperty(_QUERY_ID), prepared)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """Commit the batch of a run. `batch_id` is None for a job."""
        results = [message for message in messages if isinstance(message, TaskResult)]
        if self._options.sink_id is None or not results:
            return
        run, query_id = results[0].run, _JOBS if batch_id is None else results[0].query_id
        if query_id is None:
            raise InputError("Spark did not pass the id of the query, which is required to recognize a replayed batch")
        prepared = [result.prepared for result in results if result.prepared is not None]
        record_count = sum(result.record_count for result in results)
        decided_batch = run if batch_id is None else batch_id
        next_run = self._exactly_once(self._options.sink_id).commit(
            run, query_id, decided_batch, prepared, record_count
        )
        if self._begun_runs is not None and next_run is not None:
            self._begun_runs.remember_next(next_run)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Abort the transactions of a run: tasks that failed have aborted theirs, tasks that Spark killed have not."""
        results = [message for message in messages if isinstance(message, TaskResult)]
        run = results[0].run if results else self._last_run()
        if self._options.sink_id is not None and run is not None:
            prepared = [result.prepared for result in results if result.prepared is not None]
            self._exactly_once(self._options.sink_id).abort(run, prepared)

    def _last_run(self) -> int | None:
        return self._run if self._begun_runs is None else self._begun_runs.last()

    def _exactly_once(self, sink_id: str) -> ExactlyOnce:
        lanes = [transactions_for(self._options, lane) for lane in range(_LANES)]
        store = DecisionLog(leaders_for(self._options), lanes[0], self._options.producer, sink_id)
        return ExactlyOnce(sink_id, store, SinkCoordinator(lanes))


class _Writer:
    """The common part of the writers that Spark calls."""

    def __init__(self, sink: _Sink) -> None:
        self._sink = sink

    @plain_errors()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._sink.write(iterator)


class BatchWriter(_Writer, DataSourceArrowWriter, metaclass=Portable):
    """Writer of one job, whose rows are a batch of their own."""

    @plain_errors()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.commit(messages, None)

    @plain_errors()
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._sink.abort(messages)


class StreamWriter(_Writer, DataSourceStreamArrowWriter, metaclass=Portable):
    """Writer of one micro-batch."""

    @plain_errors()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        self._sink.commit(messages, batchId)

    @plain_errors()
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        self._sink.abort(messages)
