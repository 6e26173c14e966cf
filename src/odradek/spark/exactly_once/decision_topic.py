"""The topic in which sinks keep their decisions: made when the first of them begins, looked at before it is trusted.

A decision that is lost lets a batch be there twice. So a topic that deletes by age is refused, and one with fewer
copies than the cluster could have is told of in the log, once for each process.
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

#: Sinks share partitions; a driver that dies while it writes holds up those that share one, for a moment.
_PARTITIONS = 16

#: A decision must outlive a broker: as many copies as Kafka's own logs of transactions have, where there are brokers.
_REPLICATION_MAX = 3

#: Between two looks for the topic, which takes a moment to be made.
_RETRY_S = 0.1

#: Compaction leaves the newest segment alone, and that one is read when a sink starts.
_SEGMENT_BYTES = 1024 * 1024

#: Clusters of one process whose topic was looked at.
_CLUSTERS_MAX = 64

_POLICY, _IN_SYNC = "cleanup.policy", "min.insync.replicas"

_log = logging.getLogger(__name__)


def decision_partition(leaders: Leaders, settings: ProducerConfig, sink_id: str) -> TopicPartition:
    """The sink's; the same for ever, also if somebody adds partitions. Raises InputError for a topic that will not do,
    and what the cluster says."""
    count = _partition_count(leaders, settings)
    if count < _PARTITIONS:
        raise InputError(f"topic {TOPIC} has {count} partitions; right would be {_PARTITIONS}")
    return TopicPartition(TOPIC, partition_for_key(sink_id.encode(), _PARTITIONS))


def _partition_count(leaders: Leaders, settings: ProducerConfig) -> int:
    """Of the topic, which is made if it is not there, and looked at."""
    deadline_s = time.monotonic() + settings.max_block_ms / 1000
    while True:
        try:
            found = leaders.topics([TOPIC]).get(TOPIC)
            if found:
                _check(leaders)
                return len(found)
            _create(leaders, settings)
        except ApiError as error:
            if not is_retriable(error) or time.monotonic() > deadline_s:
                raise
        time.sleep(_RETRY_S)


def _create(leaders: Leaders, settings: ProducerConfig) -> None:
    copies = min(_REPLICATION_MAX, len(leaders.brokers()))
    configs = {_POLICY: "compact", "segment.bytes": str(_SEGMENT_BYTES), _IN_SYNC: str(_in_sync(copies))}
    topic = CreatableTopic(
        name=TOPIC,
        num_partitions=_PARTITIONS,
        replication_factor=copies,
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=settings.request_timeout_ms)
    (created,) = leaders.ask_any(request).topics
    if created.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
        check_error(created.error_code, f"topic {TOPIC}: {created.error_message}")


def _in_sync(copies: int) -> int:
    """One broker may be away."""
    return max(1, copies - 1)


@lru_cache(_CLUSTERS_MAX)
def _check(leaders: Leaders) -> None:
    try:
        configs = _configs(leaders)
    except Refused as error:
        if error.code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise
        _log.warning("topic %s cannot be checked: its settings may not be seen", TOPIC)
        return
    if configs[_POLICY] != "compact":
        raise InputError(
            f"topic {TOPIC} has {_POLICY}={configs[_POLICY]}, which deletes decisions by their age: rows could be "
            f"written twice. Right is compact: odradek configs alter --topic {TOPIC} --set {_POLICY}=compact"
        )
    copies, possible = _copies(leaders)
    if copies < possible or int(configs[_IN_SYNC]) < _in_sync(possible):
        _log.warning(
            "topic %s has %d replicas and %s=%s: what was decided can be lost with a broker; right would be %d and %d",
            *(TOPIC, copies, _IN_SYNC, configs[_IN_SYNC], possible, _in_sync(possible)),
        )


def _configs(leaders: Leaders) -> dict[str, str]:
    resource = DescribeConfigsResource(
        resource_type=ConfigResourceType.TOPIC, resource_name=TOPIC, configuration_keys=[_POLICY, _IN_SYNC]
    )
    (found,) = leaders.ask_any(DescribeConfigsRequest(resources=[resource])).results
    check_error(found.error_code, found.error_message)
    return {each.name: each.value or "" for each in found.configs}


def _copies(leaders: Leaders) -> tuple[int, int]:
    """Of the partition that has the fewest, and how many there could be."""
    response = leaders.ask_any(
        MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
    )
    possible = min(_REPLICATION_MAX, len(response.brokers))
    copies = (len(each.replica_nodes) for topic in response.topics for each in topic.partitions)
    return min(copies, default=possible), possible
