"""A cluster for random requests: what they may name exists, and a broker that only they speak for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from odradek.metadata.features.feature_versions import supported_features
from odradek.protocol.messages import broker_registration_request as registration
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from odradek.protocol.messages.metadata_request import MetadataRequest
from support.fuzzing.typed_requests import Vocabulary
from support.fuzzing.typed_sender import exchange
from support.loads.data_load import create_topic
from support.processes.nodes import OURS, PATIENT_QUORUM, Cluster, NodeSpec
from support.waiting import wait_until

#: Members that vanish as soon as they like, and coordinators that outlive a node.
_SETTINGS = {
    **PATIENT_QUORUM,
    "group.min.session.timeout.ms": "10",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}
_TOPICS = tuple(f"fuzz-{number}" for number in range(5))
#: The others are there to be created.
_EXISTING, _PARTITIONS = 3, 3
_METADATA_VERSION = 12
_REGISTRATION_VERSION = 4
_INCARNATION = (0xF0).to_bytes(16, "big")


@contextmanager
def fuzzed_cluster(root: Path) -> Iterator[tuple[Cluster, Vocabulary]]:
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with Cluster(root, specs, settings=_SETTINGS, dynamic=True) as cluster:
        cluster.start()
        for name in _TOPICS[:_EXISTING]:
            create_topic(cluster, name, _PARTITIONS, len(specs))
        vocabulary = Vocabulary(
            cluster.cluster_id,
            topics=_TOPICS,
            topic_ids=_topic_ids(cluster),
            groups=("fuzz-group-0", "fuzz-group-1", "fuzz-group-2"),
            transactional_ids=("fuzz-transaction-0", "fuzz-transaction-1"),
            features=tuple((name, levels.min, levels.max) for name, levels in supported_features().items()),
            broker_ports=tuple(node.broker_port for node in cluster.nodes.values()),
        )
        yield cluster, vocabulary


def _topic_ids(cluster: Cluster) -> list[bytes]:
    """In the order of the topics' names."""
    ids: dict[str, bytes] = {}

    def are_known() -> bool:
        answer = exchange(cluster[1].broker_port, MetadataRequest(topics=None), _METADATA_VERSION)
        ids.update({topic.name: topic.topic_id for topic in answer.topics})
        return ids.keys() >= set(_TOPICS[:_EXISTING])

    wait_until(are_known, "node 1 knows the topics")
    return [ids[name] for name in _TOPICS[:_EXISTING]]


def register_own_broker(cluster: Cluster, vocabulary: Vocabulary) -> None:
    """The requests' own broker, which stays fenced until some request unfences it. Topics that are created from now on
    may have replicas on it."""
    request = BrokerRegistrationRequest(
        rack=None,
        broker_id=vocabulary.own_broker,
        cluster_id=cluster.cluster_id,
        incarnation_id=_INCARNATION,
        listeners=[registration.Listener(name="PLAINTEXT", host="127.0.0.1", port=1)],
        features=[
            registration.Feature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
            for name, levels in supported_features().items()
        ],
        log_dirs=[(0xF1).to_bytes(16, "big")],
    )

    def is_registered() -> bool:
        for node in cluster.controllers:
            answer = exchange(node.controller_port, request, _REGISTRATION_VERSION)
            if answer.error_code == 0:
                vocabulary.own_broker_epoch, vocabulary.own_incarnation = answer.broker_epoch, _INCARNATION
                return True
        return False

    wait_until(is_registered, "the requests' own broker is registered")
