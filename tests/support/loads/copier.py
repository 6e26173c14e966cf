"""A process that copies partitions of a topic to another, exactly once: `copier.py BOOTSTRAP ID IN OUT PARTITION…`

It reads from what it has committed, writes what it read in a transaction together with the new offsets, and begins
again. Every fifth transaction is aborted once, and its records are read again. Each record says which transaction it
belongs to and how many records that has. It ends when every partition is at its end; whoever kills it starts it anew.
"""

import faulthandler
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

#: Records of a transaction.
SIZE = 200
_ABORT_EVERY = 5
#: Of one call; the coordinator may be on its way to another node.
_TIMEOUT_S = 20
#: `send_offsets_to_transaction` heeds no time-out, and librdkafka from 2.10 on may wait in it without end: for a
#: coordinator that it has forgotten, since Metadata did not name the broker while it was away.
_STUCK_S = 15

_CLIENT = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 200,
    "topic.metadata.refresh.fast.interval.ms": 50,
    "log_level": 0,
}


class Copier:
    def __init__(self, bootstrap: str, name: str, source: str, target: str, partitions: list[int]) -> None:
        self._name = name
        self._source = source
        self._target = target
        self._partitions = partitions
        self._number = 0
        #: The end of a partition is told once each time that it is reached.
        self._ended: set[int] = set()
        client = {"bootstrap.servers": bootstrap, **_CLIENT}
        self._producer = Producer({**client, "transactional.id": name, "transaction.timeout.ms": 30_000})
        self._consumer = Consumer(
            {
                **client,
                "group.id": name,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )

    def run(self) -> None:
        self._producer.init_transactions(_TIMEOUT_S)
        self._rewind()
        while records := self._read():
            self._copy(records)
        self._consumer.close()

    def _rewind(self) -> None:
        """To what is committed."""
        self._ended.clear()
        places = [TopicPartition(self._source, partition) for partition in self._partitions]
        found = self._consumer.committed(places, _TIMEOUT_S)
        self._consumer.assign([TopicPartition(p.topic, p.partition, max(0, p.offset)) for p in found])

    def _read(self) -> list[Message]:
        """As many as a transaction has, or what is left; nothing when all partitions are at their end."""
        records: list[Message] = []
        deadline_s = time.monotonic() + _TIMEOUT_S
        while len(records) < SIZE and len(self._ended) < len(self._partitions):
            assert time.monotonic() < deadline_s, "nothing could be read"
            for message in self._consumer.consume(SIZE - len(records), 0.5):
                if message.error() is None:
                    records.append(message)
                    self._ended.discard(message.partition() or 0)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    self._ended.add(message.partition() or 0)
        return records

    def _copy(self, records: list[Message]) -> None:
        self._number += 1
        tag = f"{self._name}/{time.time_ns()}/{len(records)}"
        self._producer.begin_transaction()
        for message in records:
            partition = message.partition() or 0
            headers = [("transaction", tag.encode())]
            self._producer.produce(self._target, message.value(), partition=partition, headers=headers)
            self._producer.poll(0)
        if self._number % _ABORT_EVERY == 0:
            self._producer.flush(_TIMEOUT_S)  # so that there is something to be aborted
            self._abort()
            return
        try:
            group = self._consumer.consumer_group_metadata()
            with ended_if_stuck(_STUCK_S):
                self._producer.send_offsets_to_transaction(
                    self._consumer.position(self._consumer.assignment()), group, _TIMEOUT_S
                )
            self._producer.commit_transaction(_TIMEOUT_S)
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self._abort()

    def _abort(self) -> None:
        self._producer.abort_transaction(_TIMEOUT_S)
        self._rewind()


@contextmanager
def ended_if_stuck(seconds: float) -> Iterator[None]:
    """The process ends and says where it was, if this takes so long."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    bootstrap, name, source, target, *partitions = sys.argv[1:]
    Copier(bootstrap, name, source, target, [int(partition) for partition in partitions]).run()
