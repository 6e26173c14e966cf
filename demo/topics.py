"""The pipeline's topics, read to their ends by librdkafka: what is committed, and nothing else."""

import json
from collections.abc import Iterator

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from demo.accounting import Sale
from demo.cluster import DEAD_LETTERS, SALES
from demo.expected import Place, Totals, Window
from odradek.errors import Fault

#: Of silence, before the end of a partition has come: a cluster that is up answers within milliseconds.
_PATIENCE_S = 60.0

#: Headers of dead letters that say where they come from.
_TOPIC, _PARTITION, _OFFSET = "odradek-topic", "odradek-partition", "odradek-offset"


def read_dead_letters(bootstrap: str) -> list[Place]:
    found = []
    for message in read_topic(bootstrap, DEAD_LETTERS):
        headers = dict(message.headers() or [])
        found.append(Place(_text(headers[_TOPIC]), int(_text(headers[_PARTITION])), int(_text(headers[_OFFSET]))))
    return found


def read_sales(bootstrap: str) -> list[Sale]:
    values = (json.loads(message.value() or b"") for message in read_topic(bootstrap, SALES))
    return [
        Sale(Window(value["start_ms"], value["category"]), Totals(value["orders"], value["units"], value["cents"]))
        for value in values
    ]


def count_records(bootstrap: str, topic: str) -> int:
    return sum(1 for _ in read_topic(bootstrap, topic))


def read_topic(bootstrap: str, topic: str) -> Iterator[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "accounting",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        partitions = consumer.list_topics(topic, _PATIENCE_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        ended: set[int] = set()
        while len(ended) < len(partitions):
            messages = consumer.consume(10_000, 1.0)
            for message in messages:
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
                else:
                    raise Fault(f"{topic} cannot be read: {error.str()}")
    finally:
        consumer.close()


def _text(value: str | bytes | None) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""
