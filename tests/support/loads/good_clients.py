"""Clients that must not notice what else a cluster is asked: producers, a group, and transactions.

`with GoodClients(cluster) as clients:` runs idempotent producers (`data_load`), a consumer in a group that
commits its offsets, and a producer of transactions, of which every fifth is aborted. `more` waits until each of them
has made progress. On leaving the block they finish; `check` reads everything back: no record lost, repeated, reordered
or changed, nothing of an aborted transaction visible, and no client told of an error.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from support.loads.data_load import CLIENT, DataLoad, Verdict, bootstrap_of, create_topic
from support.processes.nodes import Cluster
from support.waiting import wait_until

TOPIC, PARTITIONS = "good", 2
TRANSACTIONS = "good-transactions"
GROUP = "good-group"
_TRANSACTION_RECORDS = 5
_ABORT_EVERY = 5
_PAUSE_S = 0.1
_TIMEOUT_S = 120
_COORDINATOR_MOVES = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)


class GoodClients:
    def __init__(self, cluster: Cluster) -> None:
        for topic in (TOPIC, TRANSACTIONS):
            create_topic(cluster, topic, PARTITIONS, 3)
        self._bootstrap = bootstrap_of(cluster)
        self.load = DataLoad(self._bootstrap, TOPIC, PARTITIONS)
        self.committed: list[bytes] = []
        self.consumed = 0
        self.errors: list[str] = []
        #: What a group's member has read, by partition, in order.
        self._read: dict[int, list[int]] = {}
        self._is_stopping = threading.Event()
        self._threads = [threading.Thread(target=self._guarded, args=(work,)) for work in (self._consume, self._commit)]

    def __enter__(self) -> "GoodClients":
        self.load.__enter__()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_stopping.set()
        for thread in self._threads:
            thread.join()
        self.load.__exit__(kind, error, traceback)

    def more(self) -> None:
        """Until every client has made progress."""
        before = (self.consumed, len(self.committed))
        self.load.more(20)

        def all_have() -> bool:
            return bool(self.errors) or (self.consumed > before[0] and len(self.committed) > before[1])

        wait_until(all_have, "the group reads and transactions commit", _TIMEOUT_S)
        assert not self.errors, self.errors[:3]

    def check(self) -> Verdict:
        """When they have finished."""
        assert not self.errors, self.errors[:3]
        verdict = self.load.check(minimum=100)
        for partition, offsets in self._read.items():
            assert offsets == list(range(len(offsets))), f"partition {partition} was not read in order, once"
        assert self._visible() == self.committed
        return verdict

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (KafkaException, AssertionError) as error:
            self.errors.append(f"{work.__name__}: {error!r}")

    def _consume(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **CLIENT,
            }
        )
        consumer.subscribe([TOPIC])
        while not self._is_stopping.is_set():
            messages = consumer.consume(200, 0.2)
            for message in messages:
                error = message.error()
                assert error is None, str(error)
                self._read.setdefault(message.partition() or 0, []).append(message.offset() or 0)
            if messages:
                self._commit_offsets(consumer)
                self.consumed += len(messages)
        consumer.close()

    @staticmethod
    def _commit_offsets(consumer: Consumer) -> None:
        """As an application does it: librdkafka leaves it to its caller to commit again when a coordinator moves, which
        happens on a machine so busy that a broker misses its heartbeats."""
        deadline_s = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                consumer.commit(asynchronous=False)
                return
            except KafkaException as error:
                if error.args[0].code() not in _COORDINATOR_MOVES or time.monotonic() > deadline_s:
                    raise

    def _commit(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "transactional.id": "good-transactions", **CLIENT})
        producer.init_transactions(_TIMEOUT_S)
        number = 0
        while not self._is_stopping.wait(_PAUSE_S):
            number += 1
            values = [b"%d:%d" % (number, index) for index in range(_TRANSACTION_RECORDS)]
            producer.begin_transaction()
            for value in values:
                producer.produce(TRANSACTIONS, value, partition=0)
            # With all records there: librdkafka may end a transaction to which no partition has been added yet, because
            # the last one was still being completed, and INVALID_TXN_STATE is fatal for it.
            assert producer.flush(_TIMEOUT_S) == 0, "records of a transaction were not acknowledged"
            if number % _ABORT_EVERY == 0:
                producer.abort_transaction(_TIMEOUT_S)
            else:
                producer.commit_transaction(_TIMEOUT_S)
                self.committed += values

    def _visible(self) -> list[bytes]:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                **CLIENT,
            }
        )
        consumer.assign([TopicPartition(TRANSACTIONS, 0, 0)])
        values: list[bytes] = []
        deadline_s = time.monotonic() + _TIMEOUT_S
        try:
            while True:
                assert time.monotonic() < deadline_s, "the transactions cannot be read to their end"
                for message in consumer.consume(500, 0.2):
                    error = message.error()
                    if error is None:
                        values.append(message.value() or b"")
                    elif error.code() == KafkaError._PARTITION_EOF:
                        return values
                    else:
                        raise KafkaException(error)
        finally:
            consumer.close()
