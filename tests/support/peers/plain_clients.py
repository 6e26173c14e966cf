"""librdkafka on a cluster of a test: a few records in, all of them out."""

from confluent_kafka import Consumer, Producer, TopicPartition

#: A machine may be busy; a test that fails because of it says nothing.
_PATIENCE_S = 60


def produce(bootstrap: str, topic: str, values: list[str]) -> None:
    """Until all are acknowledged by all replicas that are in sync."""
    refused: list[object] = []
    producer = Producer(
        {"bootstrap.servers": bootstrap, "message.timeout.ms": _PATIENCE_S * 1000, "log_level": 0, "linger.ms": 0}
    )

    def delivered(error: object, message: object) -> None:
        if error is not None:
            refused.append(error)

    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=delivered)
    assert producer.flush(_PATIENCE_S) == 0 and not refused, refused


def consume(bootstrap: str, topic: str, count: int) -> list[str]:
    """The first `count` values of partition 0."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False, "log_level": 0}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = consumer.consume(count, _PATIENCE_S)
    consumer.close()
    return [str((message.value() or b"").decode()) for message in found]
