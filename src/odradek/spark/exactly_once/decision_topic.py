"""The topic in which sinks keep their decisions: created by the first sink, and checked before it is used.

A lost decision lets a batch be written twice. So a topic that deletes records by age is rejected, and a warning is
logged, once for each process, for a topic with fewer replicas than the cluster could have.
"""

import logging
import time
from functools import lru_cache

from odradek.client.direct.leader_connections import Leaders
from odradek.client.errors import check_error, is_retriable
from odradek.client.producer.murmur2 import partition_for_key
from odradek.client.settings.settings import ProducerConfig
from odradek.common.failures import ApiError, InputError
from odradek.common.ids import TopicPartition
from odradek.errors import Refused
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.spark.exactly_once.decisions import TOPIC

#: Sinks share partitions; a driver that dies during a write delays the other sinks of the partition for a moment.
_PARTITIONS = 16

#: A decision must survive the loss of a broker: the replication factor of Kafka's transaction log, if there are so many
#: brokers.
_REPLICATION_MAX = 3

#: Interval between look-ups of the topic while it is being created.
_RETRY_S = 0.1

#: Compaction skips the active segment, which is read when a sink starts.
_SEGMENT_BYTES = 1024 * 1024

#: Clusters of one process whose topic was checked.
_CLUSTERS_MAX = 64

_POLICY, _IN_SYNC = "cleanup.policy", "min.insync.replicas"

_log = logging.getLogger(__name__)


def decision_partition(leaders: Leaders, settings: ProducerConfig, sink_id: str) -> TopicPartition:
    """Return the partition of a sink, which stays the same if partitions are added. Raise InputError for an unsuitable
    topic, or the error of the cluster."""
    count = _partition_count(leaders, settings)
    if count < _PARTITIONS:
        raise InputError(f"topic {TOPIC} has {count} partitions; expected at least {_PARTITIONS}")
    return TopicPartition(TOPIC, partition_for_key(sink_id.encode(), _PARTITIONS))


def _partition_count(leaders: Leaders, settings: ProducerConfig) -> int:
    """Return the partition count of the topic, after creating it if it does not exist, and checking it."""
    deadline_s = time.monotonic() + settings.max_block_ms / 1000
    while True:
        try:
            partitions = leaders.topics([TOPIC]).get(TOPIC)
            if partitions:
                _check(leaders)
                return len(partitions)
            _create(leaders, settings)
        except ApiError as error:
            if not is_retriable(error) or time.monotonic() > deadline_s:
                raise
        time.sleep(_RETRY_S)


def _create(leaders: Leaders, settings: ProducerConfig) -> None:
    replicas = min(_REPLICATION_MAX, len(leaders.brokers()))
    configs = {_POLICY: "compact", "segment.bytes": str(_SEGMENT_BYTES), _IN_SYNC: str(_in_sync(replicas))}
    topic = CreatableTopic(
        name=TOPIC,
        num_partitions=_PARTITIONS,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=settings.request_timeout_ms)
    (created,) = leaders.ask_any(request).topics
    if created.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
        check_error(created.error_code, f"topic {TOPIC}: {created.error_message}")


def _in_sync(replicas: int) -> int:
    """Return the minimum of in-sync replicas, with which one broker may be down."""
    return max(1, replicas - 1)


@lru_cache(_CLUSTERS_MAX)
def _check(leaders: Leaders) -> None:
    try:
        configs = _configs(leaders)
    except Refused as error:
        if error.code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise
        _log.warning("topic %s cannot be checked: not authorized to describe its configuration", TOPIC)
        return
    if configs[_POLICY] != "compact":
        raise InputError(
            f"topic {TOPIC} has {_POLICY}={configs[_POLICY]}, which deletes decisions by their age: rows could be "
            f"written twice. Set it to compact: odradek configs alter --topic {TOPIC} --set {_POLICY}=compact"
        )
    replicas, possible = _replication(leaders)
    if replicas < possible or int(configs[_IN_SYNC]) < _in_sync(possible):
        _log.warning(
            "topic %s has %d replicas and %s=%s: decisions can be lost with a broker; expected %d and %d",
            *(TOPIC, replicas, _IN_SYNC, configs[_IN_SYNC], possible, _in_sync(possible)),
        )


def _configs(leaders: Leaders) -> dict[str, str]:
    resource = DescribeConfigsResource(
        resource_type=ConfigResourceType.TOPIC, resource_name=TOPIC, configuration_keys=[_POLICY, _IN_SYNC]
    )
    (description,) = leaders.ask_any(DescribeConfigsRequest(resources=[resource])).results
    check_error(description.error_code, description.error_message)
    return {config.name: config.value or "" for config in description.configs}


def _replication(leaders: Leaders) -> tuple[int, int]:
    """Return the smallest replica count of a partition, and the largest possible one."""
    response = leaders.ask_any(
        MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
    )
    possible = min(_REPLICATION_MAX, len(response.brokers))
    counts = (len(partition.replica_nodes) for topic in response.topics for partition in topic.partitions)
    return min(counts, default=possible), possible
