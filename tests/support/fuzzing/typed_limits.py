"""What random requests must not ask for, since a cluster rightly obeys, to the harm of others or of the test.

Each rule says why. All else is sent as it was drawn.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.message import Message
from odradek.raft.values import METADATA_TOPIC, METADATA_TOPIC_ID
from support.fuzzing.typed_requests import Vocabulary

#: Whoever asks to wait for so long is kept waiting, by Apache Kafka too: an answer is due within the test's time.
WAIT_MS_MAX = 200
_WAITS = {
    ApiKey.FETCH: ("max_wait_ms",),
    ApiKey.JOIN_GROUP: ("rebalance_timeout_ms", "session_timeout_ms"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ("rebalance_timeout_ms",),
    ApiKey.ADD_RAFT_VOTER: ("timeout_ms",),
    ApiKey.DELETE_RECORDS: ("timeout_ms",),
    ApiKey.PRODUCE: ("timeout_ms",),
}

#: So many partitions are created as asked for, and a machine of two cores is busy with them for long; more than ten
#: thousand records of metadata are refused.
_PARTITIONS_MAX = 4
_REFUSED_FROM = 10_001

#: Between these, an election and the nodes' own work have time.
_EPOCH_PROBABILITY = 0.02
_UNREGISTER_PROBABILITY = 0.02


class Limits:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._rules: dict[int, Callable[[int, Any, Random], None]] = {
            ApiKey.CREATE_TOPICS: self._create_topics,
            ApiKey.CREATE_PARTITIONS: self._create_partitions,
            ApiKey.ALTER_CONFIGS: self._alter_configs,
            ApiKey.INCREMENTAL_ALTER_CONFIGS: self._alter_configs,
            ApiKey.ALTER_CLIENT_QUOTAS: self._alter_client_quotas,
            ApiKey.UPDATE_FEATURES: self._update_features,
            ApiKey.BROKER_REGISTRATION: self._own_broker_only,
            ApiKey.BROKER_HEARTBEAT: self._own_broker_only,
            ApiKey.UNREGISTER_BROKER: self._unregister,
            ApiKey.FETCH: self._fetch,
            ApiKey.CONTROLLER_REGISTRATION: self._controller_registration,
            ApiKey.VOTE: self._quorum_epoch,
            ApiKey.BEGIN_QUORUM_EPOCH: self._quorum_epoch,
            ApiKey.END_QUORUM_EPOCH: self._quorum_epoch,
        }

    def __call__(self, key: int, version: int, message: Message, random: Random) -> None:
        for name in _WAITS.get(ApiKey(key), ()):
            if getattr(message, name) > WAIT_MS_MAX:
                setattr(message, name, random.choice((1, WAIT_MS_MAX)))
        rule = self._rules.get(key)
        if rule is not None:
            rule(version, message, random)

    @staticmethod
    def _create_topics(_version: int, message: Any, random: Random) -> None:
        for topic in message.topics:
            if _PARTITIONS_MAX < topic.num_partitions < _REFUSED_FROM:
                topic.num_partitions = random.randint(1, _PARTITIONS_MAX)
            del topic.assignments[_PARTITIONS_MAX:]

    @staticmethod
    def _create_partitions(_version: int, message: Any, random: Random) -> None:
        for topic in message.topics:
            if _PARTITIONS_MAX < topic.count < _REFUSED_FROM:
                topic.count = random.randint(1, _PARTITIONS_MAX)

    @staticmethod
    def _alter_configs(_version: int, message: Any, _random: Random) -> None:
        """A broker's settings and log levels are everybody's: connections could be limited to none."""
        for resource in message.resources:
            if resource.resource_type in (4, 8):
                resource.resource_name = "no broker"

    @staticmethod
    def _alter_client_quotas(_version: int, message: Any, _random: Random) -> None:
        """The quota of all, or of all others, is the good clients' too."""
        for entry in message.entries:
            for entity in entry.entity:
                entity.entity_name = entity.entity_name or "fuzz"

    @staticmethod
    def _update_features(version: int, message: Any, _random: Random) -> None:
        """A level that is not that of the good clients' protocols would end them."""
        if version >= 1:
            message.validate_only = True
        else:
            message.feature_updates = [one for one in message.feature_updates if "version" not in one.feature]

    def _own_broker_only(self, _version: int, message: Any, _random: Random) -> None:
        """Whoever speaks for a living broker may fence it, stop it, or take its place."""
        if message.broker_id in self._vocabulary.nodes:
            message.broker_id = self._vocabulary.own_broker

    def _unregister(self, version: int, message: Any, random: Random) -> None:
        """Also of the requests' own broker, but seldom: most requests to controllers are in its name."""
        self._own_broker_only(version, message, random)
        if random.random() > _UNREGISTER_PROBABILITY:
            message.broker_id = self._vocabulary.own_broker + 1

    def _fetch(self, _version: int, message: Any, _random: Random) -> None:
        """A voter that fetches says that it has all before: whoever speaks for it commits what nobody else has."""
        if any(topic.topic_id == METADATA_TOPIC_ID or topic.topic == METADATA_TOPIC for topic in message.topics):
            for replica in (message, message.replica_state):
                if replica.replica_id in self._vocabulary.nodes:
                    replica.replica_id = self._vocabulary.own_broker

    def _controller_registration(self, _version: int, message: Any, _random: Random) -> None:
        """Controllers tell each other in this way where they are."""
        if message.controller_id in self._vocabulary.nodes:
            message.controller_id = self._vocabulary.own_broker

    def _quorum_epoch(self, _version: int, message: Any, random: Random) -> None:
        """The epoch of a quorum only grows: one of two thousand million leaves room for no election. And a quorum that
        is always voting decides nothing else."""
        current = self._vocabulary.quorum_epoch
        for topic in message.topics:
            for partition in topic.partitions:
                for name in ("replica_epoch", "leader_epoch"):
                    epoch = getattr(partition, name, None)
                    if epoch is not None and epoch >= current:
                        is_rare = random.random() < _EPOCH_PROBABILITY
                        setattr(partition, name, current + random.randrange(2) if is_rare else current - 1)
