"""The exactly-once sink without Spark around it, on Odradek and on Apache Kafka: what it asks of them, and is told.

Transactions are of version 2 on both brokers; the sink speaks the first protocol to them. Rows are counted by
confluent-kafka, which reads what is committed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from odradek.client.direct.transactions import Transactions
from odradek.client.producer.murmur2 import partition_for_key
from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition as Place
from odradek.common.ids import uuid_to_text
from odradek.errors import BatchLost, BatchTorn, Refused, Superseded, UnknownTopic
from odradek.spark.exactly_once import decision_log, decision_topic
from odradek.spark.exactly_once.coordinator import SinkCoordinator
from odradek.spark.exactly_once.decision_log import DecisionLog
from odradek.spark.exactly_once.decisions import TOPIC, Decision, PreparedTransaction
from odradek.spark.exactly_once.protocol import ExactlyOnce, Fate, transactional_id
from odradek.spark.sink.options import SinkOptions, sink_options
from odradek.spark.sink.task_writer import TaskWriter, leaders_for, transactions_for
from odradek.testing import Cluster
from support.peers.kafka_node import kafka_node
from support.peers.librdkafka_reader import read_by_librdkafka
from support.waiting import wait_until

_SETTINGS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
_PARTITIONS = 2
_numbers = count()


@contextmanager
def _ours() -> Iterator[str]:
    with Cluster(settings=_SETTINGS) as cluster:
        yield cluster.bootstrap


@contextmanager
def _kafkas(directory: Path) -> Iterator[str]:
    with kafka_node(
        directory / "data", directory / "scratch", settings=_SETTINGS, cluster_id=uuid_to_text(bytes(range(16)))
    ) as node:
        yield node.bootstrap


@pytest.fixture(scope="module", params=["odradek", pytest.param("kafka", marks=[pytest.mark.peer, pytest.mark.slow])])
def bootstrap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    nodes: AbstractContextManager[str] = (
        _ours() if request.param == "odradek" else _kafkas(tmp_path_factory.mktemp("kafka"))
    )
    with nodes as address:
        yield address


def lanes_of(options: SinkOptions) -> list[Transactions]:
    return [transactions_for(options, lane) for lane in range(3)]


class Sink:
    """A topic of its own, and a driver with tasks for it."""

    def __init__(self, bootstrap: str, **settings: str) -> None:
        number = next(_numbers)
        self.topic, self.id, self.bootstrap = f"topic-{number}", f"sink-{number}", bootstrap
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(self.topic, _PARTITIONS, 1)])[self.topic].result(60)
        given = {"kafka.bootstrap.servers": bootstrap, "topic": self.topic, "delivery": "exactly-once"}
        self.options: SinkOptions = sink_options({**given, "sinkId": self.id, **settings})
        self.coordinator = SinkCoordinator(lanes_of(self.options))
        self._attempts = count()

    def store(self, patience_ms: int = 120_000) -> DecisionLog:
        transactions = Transactions(leaders_for(self.options), patience_ms)
        return DecisionLog(leaders_for(self.options), transactions, self.options.producer, self.id)

    def driver(self, coordinator: SinkCoordinator | None = None) -> ExactlyOnce:
        return ExactlyOnce(self.id, self.store(), coordinator or self.coordinator)

    def fate(self, transaction: PreparedTransaction) -> Fate:
        return self.coordinator.fates([transaction])[transaction]

    def write(self, run: int, *rows: str) -> PreparedTransaction:
        name = transactional_id(self.id, run, 0, next(self._attempts))
        writer = TaskWriter(self.options, name)
        writer.write([pa.RecordBatch.from_pydict({"key": rows, "value": rows})])
        return PreparedTransaction(name, *writer.identity)

    def rows(self) -> Counter[str]:
        """What is committed, up to the end of each partition: nothing may be open."""
        found = read_by_librdkafka(
            self.bootstrap, self.topic, _PARTITIONS, tolerates_errors=False, isolation_level="read_committed"
        )
        return Counter((seen.value or b"").decode() for seen in found)

    def wait_for(self, *rows: str) -> None:
        """Markers are written after the answer."""
        wait_until(lambda: self.rows() == Counter(rows), f"{rows} are committed", explain=lambda: str(self.rows()))


class Dying(SinkCoordinator):
    """Of a driver that dies after so many commits."""

    def __init__(self, sink: Sink, commits: int) -> None:
        super().__init__(lanes_of(sink.options))
        self._commits = commits

    def commit(self, transactions: Sequence[PreparedTransaction]) -> None:
        for each in transactions:
            if self._commits == 0:
                raise KeyboardInterrupt
            self._commits -= 1
            super().commit([each])


def test_batches_are_committed_and_a_replay_is_known(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    for batch_id in range(3):
        driver = sink.driver()
        run = driver.begin_run()
        prepared = [sink.write(run, f"{batch_id}a"), sink.write(run, f"{batch_id}b", f"{batch_id}c")]
        driver.commit(run, "query", batch_id, prepared, 3)
    sink.wait_for(*(f"{batch_id}{row}" for batch_id in range(3) for row in "abc"))
    driver = sink.driver()
    run = driver.begin_run()
    driver.commit(run, "query", 2, [sink.write(run, "2a"), sink.write(run, "2b", "2c")], 3)
    sink.wait_for(*(f"{batch_id}{row}" for batch_id in range(3) for row in "abc"))


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_what_was_decided_is_finished_by_the_next_driver(bootstrap: str, commits: int) -> None:
    sink = Sink(bootstrap)
    driver = sink.driver(Dying(sink, commits))
    run = driver.begin_run()
    prepared = [sink.write(run, row) for row in "abc"]
    with pytest.raises(KeyboardInterrupt):
        driver.commit(run, "query", 0, prepared, 3)
    following = sink.driver()
    run = following.begin_run()
    sink.wait_for("a", "b", "c")
    following.commit(run, "query", 0, [sink.write(run, "a", "b", "c")], 3)
    sink.wait_for("a", "b", "c")


def test_a_decision_may_be_about_many_tasks(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    store = sink.store()
    names = [transactional_id(sink.id * 4, 1_000, task, 1_000_000 + task) for task in range(25_000)]
    transactions = tuple(PreparedTransaction(name, 5_000 + number, 0) for number, name in enumerate(names))
    state = store.open().decided(Decision("query", 0, 1, transactions))
    store.write(state)
    decision_log._memory.cache_clear()  # as in another process
    assert sink.store().open() == state


def test_an_end_that_is_asked_for_twice_is_answered_as_the_first(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    run = sink.driver().begin_run()
    committed, aborted = sink.write(run, "a"), sink.write(run, "b")
    for _ in range(3):
        sink.coordinator.commit([committed])
        sink.coordinator.abort(aborted)
    sink.coordinator.abort(committed)
    with pytest.raises(Refused, match="INVALID_TXN_STATE"):
        sink.coordinator.commit([aborted])
    wait_until(lambda: sink.fate(committed) is Fate.COMMITTED, "it is committed")
    assert sink.fate(aborted) is Fate.ABORTED
    assert sink.fate(PreparedTransaction("nobody's", 1, 0)) is Fate.UNKNOWN
    sink.wait_for("a")


def test_what_dead_attempts_left_open_is_aborted_at_once(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    driver = sink.driver()
    run = driver.begin_run()
    left = sink.write(run, "left over")
    assert sink.coordinator.open_ids(f"{sink.id}-") == [left.transactional_id]
    driver.commit(run, "query", 0, [sink.write(run, "a")], 1)
    assert sink.coordinator.open_ids(f"{sink.id}-") == []
    sink.write(run, "of a driver that died")
    sink.driver().begin_run()
    assert sink.coordinator.open_ids(f"{sink.id}-") == []
    with pytest.raises(Refused):
        sink.coordinator.commit([left])
    sink.wait_for("a")


def test_a_topic_that_deletes_decisions_by_age_is_refused_until_it_is_put_right(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    sink.driver().begin_run()
    for policy in ("delete", "compact,delete"):
        decision_topic._check.cache_clear()  # as in another process
        _set_policy(bootstrap, policy)
        with pytest.raises(InputError, match=f"cleanup.policy={policy}, .* --set cleanup.policy=compact"):
            sink.driver().begin_run()
    _set_policy(bootstrap, "compact")
    assert sink.driver().begin_run() == 2


def _set_policy(bootstrap: str, policy: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    change = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC, incremental_configs=[change])
    admin.incremental_alter_configs([resource])[resource].result(60)

    def policy_now() -> str:
        (found,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, TOPIC)]).values()
        value: str = found.result(60)["cleanup.policy"].value
        return value

    wait_until(lambda: policy_now() == policy, "the setting has reached the broker")


def test_a_topic_of_decisions_that_is_deleted_while_a_sink_lives(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    run = sink.driver().begin_run()
    prepared = sink.write(run, "a")
    _delete(bootstrap, TOPIC)
    with pytest.raises(BatchLost, match=f"run 1 is no longer in topic {TOPIC}"):
        sink.driver().commit(run, "query", 0, [prepared], 1)
    sink.driver().abort(run, [prepared])
    run = sink.driver().begin_run()
    store = sink.store(patience_ms=2_000)
    state = store.open()
    _delete(bootstrap, TOPIC)
    with pytest.raises(UnknownTopic, match=f"topic {TOPIC} was deleted while the sink wrote to it"):
        store.write(state)
    run = sink.driver().begin_run()
    sink.driver().commit(run, "query", 0, [sink.write(run, "a")], 1)
    sink.wait_for("a")


def _delete(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(60)
    wait_until(lambda: topic not in admin.list_topics(timeout=60).topics, "the topic is gone")


def test_what_somebody_else_wrote_for_a_sink_is_told_and_can_be_taken_away(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    assert sink.driver().begin_run() == 1
    key, producer = sink.id.encode(), Producer({"bootstrap.servers": bootstrap})

    def write(value: bytes | None) -> None:
        producer.produce(TOPIC, key=key, value=value, partition=partition_for_key(key, 16))
        assert producer.flush(60) == 0

    write(b"what?")
    with pytest.raises(InputError, match=r"the sink's decisions cannot be read: .*what"):
        sink.driver().begin_run()
    write(None)
    assert sink.driver().begin_run() == 1


def test_an_attempt_that_fails_aborts_what_it_wrote_and_can_write_no_more(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    name = transactional_id(sink.id, sink.driver().begin_run(), 0, 0)

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"key": ["a"], "value": ["a"]})
        raise InputError("the second batch is bad")

    writer = TaskWriter(sink.options, name)
    with pytest.raises(InputError):
        writer.write(rows())
    assert sink.coordinator.open_ids(f"{sink.id}-") == []
    transactions = transactions_for(sink.options)
    with pytest.raises(Refused, match=r"INVALID_PRODUCER_EPOCH|PRODUCER_FENCED"):
        transactions.add_partitions(name, writer.identity, [Place(sink.topic, 0)])
    sink.wait_for()


def test_a_second_driver_takes_over(bootstrap: str) -> None:
    sink = Sink(bootstrap)
    old = sink.driver()
    old_run = old.begin_run()
    of_old = sink.write(old_run, "old")
    new = sink.driver()
    new_run = new.begin_run()
    of_new = sink.write(new_run, "new")
    with pytest.raises(Superseded, match="run 1 tried to commit, but run 2 has begun"):
        old.commit(old_run, "query", 0, [of_old], 1)
    old.abort(old_run, [of_old])
    new.commit(new_run, "query", 0, [of_new], 1)
    sink.wait_for("new")


def test_a_transaction_whose_time_is_up_before_the_decision_fails_the_batch(bootstrap: str) -> None:
    # Long enough to write the records in, also on a machine that is busy.
    sink = Sink(bootstrap, **{"kafka.transaction.timeout.ms": "5000"})
    driver = sink.driver()
    run = driver.begin_run()
    prepared = sink.write(run, "late")
    wait_until(lambda: sink.fate(prepared) is Fate.ABORTED, "its time is up")
    with pytest.raises(BatchLost, match="exceeded the transaction time-out"):
        driver.commit(run, "query", 0, [prepared], 1)
    sink.wait_for()


def left_by_a_dead_driver(bootstrap: str, commits: int) -> tuple[Sink, list[PreparedTransaction]]:
    """A batch of two transactions that is decided, of which so many are committed."""
    # Long enough to write and to decide in, also on a machine that is busy.
    sink = Sink(bootstrap, **{"kafka.transaction.timeout.ms": "10000"})
    driver = sink.driver(Dying(sink, commits))
    run = driver.begin_run()
    prepared = [sink.write(run, "a"), sink.write(run, "b")]
    with pytest.raises(KeyboardInterrupt):
        driver.commit(run, "query", 0, prepared, 2)
    return sink, prepared


def test_a_decision_is_revoked_if_the_broker_aborted_all_of_it(bootstrap: str) -> None:
    sink, prepared = left_by_a_dead_driver(bootstrap, commits=0)
    wait_until(lambda: all(sink.fate(each) is Fate.ABORTED for each in prepared), "their time is up")
    following = sink.driver()
    run = following.begin_run()
    following.commit(run, "query", 0, [sink.write(run, "a", "b")], 2)
    sink.wait_for("a", "b")


def test_half_a_batch_is_an_error_that_stays(bootstrap: str) -> None:
    sink, prepared = left_by_a_dead_driver(bootstrap, commits=1)
    wait_until(lambda: sink.fate(prepared[1]) is Fate.ABORTED, "its time is up")
    for _ in range(2):
        with pytest.raises(BatchTorn, match=r"committed, .* aborted"):
            sink.driver().begin_run()
