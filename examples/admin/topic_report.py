"""Create a topic if it does not exist, set its retention time, and report its replicas and the lag of a group.

    python topic_report.py orders billing

The brokers are those of ODRADEK_BOOTSTRAP, by default localhost:9092. The script works with Odradek and Apache Kafka.
"""

import os
import sys

from odradek.client import (
    ConfigChange,
    ConfigOp,
    ConfigResource,
    ConfigResourceType,
    KafkaError,
    NewTopic,
    OffsetSpec,
    TopicPartition,
    blocking,
)

BOOTSTRAP = os.environ.get("ODRADEK_BOOTSTRAP", "localhost:9092")
RETENTION_MS = 24 * 60 * 60 * 1000


def ensure_topic(admin: blocking.Admin, topic: str) -> None:
    if any(listing.name == topic for listing in admin.list_topics()):
        print(f"topic {topic} exists")
    else:
        admin.create_topics([NewTopic(topic, partitions=3)])
        print(f"topic {topic} created")
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    admin.incremental_alter_configs({resource: [ConfigChange("retention.ms", ConfigOp.SET, str(RETENTION_MS))]})
    retention = admin.describe_configs([resource])[resource]["retention.ms"]
    print(f"retention.ms = {retention.value}")


def report(admin: blocking.Admin, topic: str, group: str) -> None:
    description = admin.describe_topics([topic])[topic]
    partitions = [TopicPartition(topic, partition.index) for partition in description.partitions]
    ends = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    committed = admin.list_consumer_group_offsets([group])[group]
    for partition, key in zip(description.partitions, partitions, strict=True):
        end = ends[key].offset or 0
        position = committed[key].offset if key in committed else None
        lag = "no committed offset" if position is None else f"lag {end - position}"
        print(f"{topic}-{partition.index}: leader {partition.leader_id}, isr {list(partition.isr)}, end {end}, {lag}")


def main(topic: str, group: str) -> int:
    try:
        with blocking.Admin(bootstrap_servers=BOOTSTRAP) as admin:
            ensure_topic(admin, topic)
            report(admin, topic, group)
    except KafkaError as error:
        print(f"topic_report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python topic_report.py TOPIC GROUP")
    sys.exit(main(sys.argv[1], sys.argv[2]))
