"""What the writers tell the protocol of exactly-once sinks: of which run and which batch."""

import os
import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql.types import StringType, StructType

from odradek.common.failures import InputError
from odradek.spark.exactly_once.decisions import PreparedTransaction
from odradek.spark.sink import data_sink
from odradek.spark.sink.data_sink import TaskResult, batch_writer, stream_writer

_SCHEMA = StructType().add("value", StringType())
_OPTIONS = {
    "kafka.bootstrap.servers": "localhost:9",
    "topic": "t",
    "delivery": "exactly-once",
    "sinkId": "s",
}


class FakeProtocol:
    """Takes down what it is told."""

    def __init__(self) -> None:
        self.run = 0
        #: The run that a commit begins.
        self.next_run: int | None = None
        self.told: list[tuple[object, ...]] = []

    def begin_run(self) -> int:
        self.run += 1
        return self.run

    def commit(
        self, run: int, query_id: str, batch_id: int, prepared: Sequence[PreparedTransaction], record_count: int
    ) -> int | None:
        self.told.append(("commit", run, query_id, batch_id, [each.transactional_id for each in prepared]))
        return self.next_run

    def abort(self, run: int, prepared: Sequence[PreparedTransaction]) -> None:
        self.told.append(("abort", run, [each.transactional_id for each in prepared]))


@pytest.fixture
def protocol(monkeypatch: pytest.MonkeyPatch) -> FakeProtocol:
    fake = FakeProtocol()
    monkeypatch.setattr(data_sink._Sink, "_exactly_once", lambda self, sink_id: fake)
    return fake


def _written(run: int, query_id: str | None = None) -> TaskResult:
    return TaskResult(1, run, query_id, PreparedTransaction("a", 5, 0))


def test_jobs_are_batches_of_one_query(protocol: FakeProtocol) -> None:
    """Or sixteen of them would drive the last batch of a stream out of the sink's memory."""
    for run in (1, 2):
        writer = pickle.loads(pickle.dumps(batch_writer(_OPTIONS, _SCHEMA, overwrite=False)))
        writer.commit([_written(run)])
    assert protocol.told == [("commit", 1, "df.write", 1, ["a"]), ("commit", 2, "df.write", 2, ["a"])]


def test_a_job_of_which_no_task_ended_is_aborted(protocol: FakeProtocol) -> None:
    """Spark kills the tasks that go on when one has failed: they leave their transactions open."""
    writer = pickle.loads(pickle.dumps(batch_writer(_OPTIONS, _SCHEMA, overwrite=False)))
    writer.abort([None, None])
    assert protocol.told == [("abort", 1, [])]


def test_batches_of_a_stream_are_told_by_its_tasks(protocol: FakeProtocol) -> None:
    writer = stream_writer(_OPTIONS, _SCHEMA, overwrite=False)
    writer.commit([_written(7, "q"), None], 3)
    writer.abort([_written(8, "q"), None], 4)
    writer.abort([None], 5)
    assert protocol.told == [("commit", 7, "q", 3, ["a"]), ("abort", 8, ["a"])]


def test_a_run_that_a_commit_has_begun_is_used_once(
    protocol: FakeProtocol, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By another process than that which commits."""

    def sent_run() -> int | None:
        run: int | None = stream_writer(_OPTIONS, _SCHEMA, overwrite=False)._sink.__getstate__()[1]
        return run

    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    assert sent_run() == 1
    protocol.next_run = 7
    stream_writer(_OPTIONS, _SCHEMA, overwrite=False).commit([_written(1, "q")], 0)
    assert sent_run() == 7
    stream_writer(_OPTIONS, _SCHEMA, overwrite=False).abort([None], 1)
    assert sent_run() == 2, "begun anew"
    assert protocol.told[-1] == ("abort", 7, [])


def test_a_stream_of_which_no_task_ended_is_aborted_in_another_process(
    protocol: FakeProtocol, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Which has nothing in common with the one in which it began but the driver, and the options."""
    other = {name: value for name, value in _OPTIONS.items() if name != "topic"} | {"TOPIC": "other"}
    for driver, options in ((tmp_path, _OPTIONS), (tmp_path, other), (tmp_path / "not there", _OPTIONS)):
        monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{driver},{tmp_path / 'second'}")
        pickle.dumps(stream_writer(options, _SCHEMA, overwrite=False))
        same = {name.upper(): value for name, value in options.items()}
        stream_writer(same, _SCHEMA, overwrite=False).abort([None, None], 5)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    stream_writer(_OPTIONS, _SCHEMA, overwrite=False).abort([None], 6)
    assert protocol.told == [("abort", 1, []), ("abort", 2, []), ("abort", 1, [])]


def test_what_a_person_can_cause_is_said_without_a_traceback(
    protocol: FakeProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("no")

    monkeypatch.setattr(data_sink._Sink, "write", refuse)
    monkeypatch.setattr(protocol, "begin_run", refuse)
    for call in (lambda writer: writer.write(iter(())), pickle.dumps):
        monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
        with pytest.raises(InputError):
            call(batch_writer(_OPTIONS, _SCHEMA, overwrite=False))
        assert os.environ["SPARK_HIDE_TRACEBACK"]
