"""kafka-python's admin client against the broker at argv[1]: makes, changes, describes and deletes a topic.

A program of its own: the client leaves sockets open until its process ends, which our tests count as an error.
"""

import sys
import time
from collections.abc import Callable

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewPartitions, NewTopic
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

TIMEOUT_S = 60


def until(condition: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.02)


def refused(error: type[Exception], call: Callable[[], object]) -> bool:
    try:
        call()
    except error:
        return True
    return False


def main(address: str) -> None:
    client = KafkaAdminClient(bootstrap_servers=address)
    assert [broker["broker_id"] for broker in client.describe_cluster()["brokers"]] == [1]
    client.create_topics([NewTopic("python", 2, 1)])
    until(lambda: "python" in client.list_topics(), "the topic is there")
    assert refused(TopicAlreadyExistsError, lambda: client.create_topics([NewTopic("python", 2, 1)]))
    client.create_partitions({"python": NewPartitions(4)})
    until(lambda: len(client.describe_topics(["python"])[0]["partitions"]) == 4, "four partitions")
    resource = ConfigResource(ConfigResourceType.TOPIC, "python")
    described = client.describe_configs([resource], config_filter="all")["topic"]["python"]
    assert described["max.message.bytes"]["value"] in (2_000_000, "2000000"), described
    client.delete_topics(["python"])
    until(lambda: "python" not in client.list_topics(), "the topic is gone")
    assert refused(UnknownTopicOrPartitionError, lambda: client.delete_topics(["python"]))
    client.close()


if __name__ == "__main__":
    main(sys.argv[1])
