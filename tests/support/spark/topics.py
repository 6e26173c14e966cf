"""Topics for Spark's jobs to read, the same in every cluster: same partitions, offsets, times, codecs, transactions."""

from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from support.waiting import wait_until

TIMEOUT_S = 60

#: When the first record of `plain` was made; each of the following is a second later.
FIRST_MS = 1_700_000_000_000

PLAIN_RECORDS = 90
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CODEC_RECORDS = 40
TRANSACTIONS, TRANSACTION_RECORDS = 5, 7
TRIMMED_RECORDS, TRIMMED_BEFORE = 30, 12

#: The records say that they are old.
_KEPT = {"retention.ms": "-1"}

_TOPICS: Mapping[str, tuple[int, dict[str, str]]] = {
    "plain": (3, {}),
    "codecs": (1, {}),
    "empty": (2, {}),
    "committed": (1, {}),
    "trimmed": (1, {}),
    "stamped": (1, {"message.timestamp.type": "LogAppendTime"}),
    "grow-a": (1, {}),
    "grow-b": (1, {}),
    "late": (1, {}),
}


class Topics:
    """Of one cluster. An open transaction stays open for as long as this is there."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._client = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._admin = AdminClient(self._client)
        self._transactional = Producer({**self._client, "transactional.id": "spark-topics"})

    def create(self) -> None:
        new = [NewTopic(name, count, 1, config=_KEPT | config) for name, (count, config) in _TOPICS.items()]
        for made in self._admin.create_topics(new, operation_timeout=TIMEOUT_S).values():
            made.result(TIMEOUT_S)

    def fill(self) -> None:
        self.write("plain", range(PLAIN_RECORDS))
        for number, codec in enumerate(CODECS):
            first = number * CODEC_RECORDS
            self.write("codecs", range(first, first + CODEC_RECORDS), codec=codec)
        for topic, count in (("trimmed", TRIMMED_RECORDS), ("stamped", 10)):
            self.write(topic, range(count))
        self.trim("trimmed", TRIMMED_BEFORE)
        self._write_transactions()

    def write(self, topic: str, numbers: Sequence[int], *, partitions: int | None = None, codec: str = "none") -> None:
        """Keys, values and headers, each of which some records have and some have not; spread by number."""
        producer = Producer({**self._client, "compression.type": codec, "linger.ms": 20})
        count = partitions or _TOPICS[topic][0]
        for number in numbers:
            producer.produce(
                topic,
                key=None if number % 4 == 0 else f"key-{number}".encode(),
                value=None if number % 5 == 0 else f"value-{number}".encode() * (number % 7),
                headers=[("first", b"\x00\xff"), ("näme", None), ("first", b"")] if number % 3 == 0 else None,
                timestamp=FIRST_MS + number * 1000,
                partition=number % count,
            )
        assert producer.flush(TIMEOUT_S) == 0

    def trim(self, topic: str, before: int) -> None:
        """Deletes the records of partition 0 before the offset."""
        for done in self._admin.delete_records([TopicPartition(topic, 0, before)]).values():
            done.result(TIMEOUT_S)

    def grow(self, topic: str, partitions: int) -> None:
        for done in self._admin.create_partitions([NewPartitions(topic, partitions)]).values():
            done.result(TIMEOUT_S)

    def delete(self, topic: str) -> None:
        for done in self._admin.delete_topics([topic]).values():
            done.result(TIMEOUT_S)

    def make(self, topic: str, records: int = 1) -> None:
        """Of one partition; once it is gone if it was deleted."""
        producer = Producer(self._client)
        wait_until(lambda: self._admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(TIMEOUT_S) is None, "it is")
        for _ in range(records):
            producer.produce(topic, value=b"record", partition=0)
        assert producer.flush(TIMEOUT_S) == 0

    def topic_id(self, topic: str) -> str:
        """As Kafka prints it; librdkafka uses the other alphabet of base64."""
        described = self._admin.describe_topics(TopicCollection([topic]))[topic].result(TIMEOUT_S)
        return str(described.topic_id).replace("+", "-").replace("/", "_")

    def commit(self, group_id: str, topic: str) -> None:
        """An offset of a group."""
        consumer = Consumer({**self._client, "group.id": group_id})
        consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
        consumer.close()

    def _write_transactions(self) -> None:
        """Every second one is aborted, and the last one stays open."""
        producer = self._transactional
        producer.init_transactions(TIMEOUT_S)
        for number in range(TRANSACTIONS + 1):
            producer.begin_transaction()
            for each in range(TRANSACTION_RECORDS):
                timestamp_ms = FIRST_MS + number * 1000 + each
                producer.produce("committed", value=f"{number}-{each}".encode(), timestamp=timestamp_ms, partition=0)
            assert producer.flush(TIMEOUT_S) == 0
            if number == TRANSACTIONS:
                return
            if number % 2:
                producer.abort_transaction(TIMEOUT_S)
            else:
                producer.commit_transaction(TIMEOUT_S)
