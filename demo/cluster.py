"""The demo's cluster: three Odradek nodes, a process each, and the topics, three replicas each."""

from pathlib import Path

from odradek.testing import Cluster

NODES = 3
PARTITIONS = 2

EVENT_TOPICS = ("orders", "payments", "clicks")
SALES, DEAD_LETTERS = "sales", "dead-letters"
TOPICS = (*EVENT_TOPICS, SALES, DEAD_LETTERS)

_SAFE = {"min.insync.replicas": 2}
#: What brokers keep themselves outlives a broker too.
_SETTINGS = {
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "transaction.state.log.num.partitions": 3,
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
}


def start_cluster(directory: Path) -> Cluster:
    """To be used as a block; the nodes end with it, and with this process, however that ends."""
    return Cluster(NODES, processes=True, settings=_SETTINGS, directory=str(directory))


def create_topics(cluster: Cluster) -> None:
    for topic in TOPICS:
        cluster.create_topic(topic, PARTITIONS, NODES, _SAFE)
