"""What only the leader of a partition can say or do: its offsets, and the removal of its oldest records.

Leaders are looked up once, partitions of one leader are asked about together, and those that have moved meanwhile are
looked up again, until the operation's time is up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, TopicPartition, by_topic, in_order
from odradek.client.errors import refusal
from odradek.common.addresses import HostPort
from odradek.errors import Refused, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.delete_records_response import DeleteRecordsResponse
from odradek.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsResponse
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.metadata_response import MetadataResponse

#: For delete_records: everything that is committed.
HIGH_WATERMARK = -1

_CONSUMER = -1
_RETRY_BACKOFF_S = 0.1

_Asked = TypeVar("_Asked")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """None where there is no such record: an empty log, or none so late."""

    offset: int | None
    timestamp_ms: int | None
    leader_epoch: int | None


_OffsetOutcome = OffsetAndTimestamp | Refused


async def list_offsets(
    cluster: ClusterRouter, timestamps: Mapping[TopicPartition, int], *, read_committed: bool = False
) -> Outcomes[TopicPartition, OffsetAndTimestamp]:
    """Of the first record at or after each timestamp, or of one of the special ones."""

    async def ask(address: HostPort, asked: Mapping[TopicPartition, int]) -> dict[TopicPartition, _OffsetOutcome]:
        topics = [
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=asked[TopicPartition(topic, index)])
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(asked).items()
        ]
        request = ListOffsetsRequest(
            replica_id=_CONSUMER,
            isolation_level=int(read_committed),
            topics=topics,
            timeout_ms=cluster.config.request_timeout_ms,
        )
        response: ListOffsetsResponse = await cluster.send_to(address, request)
        return {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code) or _offset(each)
            for topic in response.topics
            for each in topic.partitions
        }

    return await ask_leaders(cluster, timestamps, ask)


async def delete_records(cluster: ClusterRouter, before: Mapping[TopicPartition, int]) -> Outcomes[TopicPartition, int]:
    """Everything before these offsets goes. The value is the log start offset that all replicas have then."""

    async def ask(address: HostPort, asked: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | Refused]:
        topics = [
            DeleteRecordsTopic(
                name=topic,
                partitions=[
                    DeleteRecordsPartition(partition_index=index, offset=asked[TopicPartition(topic, index)])
                    for index in indexes
                ],
            )
            for topic, indexes in by_topic(asked).items()
        ]
        request = DeleteRecordsRequest(topics=topics, timeout_ms=cluster.config.request_timeout_ms)
        response: DeleteRecordsResponse = await cluster.send_to(address, request)
        return {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code) or each.low_watermark
            for topic in response.topics
            for each in topic.partitions
        }

    return await ask_leaders(cluster, before, ask)


async def ask_leaders(
    cluster: ClusterRouter,
    asked: Mapping[TopicPartition, _Asked],
    ask: Callable[[HostPort, Mapping[TopicPartition, _Asked]], Awaitable[Mapping[TopicPartition, _Value | Refused]]],
) -> Outcomes[TopicPartition, _Value]:
    """Asks again for those whose leader was another one, or does not answer: all of this may be done twice."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + cluster.config.api_timeout_ms / 1000
    outcomes: dict[TopicPartition, _Value | Refused] = {}
    left = dict(asked)
    while left:
        leaders, failed = await _find_leaders(cluster, list(left))
        outcomes.update(failed)
        groups: dict[HostPort, dict[TopicPartition, _Asked]] = {}
        for partition, address in leaders.items():
            groups.setdefault(address, {})[partition] = left[partition]
        for address, group in groups.items():
            try:
                outcomes.update(await ask(address, group))
            except Unreachable as error:
                outcomes.update(dict.fromkeys(group, Refused(error.message, ErrorCode.LEADER_NOT_AVAILABLE)))
        left = {each: asked[each] for each in asked if _may_pass(outcomes.get(each))}
        if loop.time() >= deadline_s:
            break
        if left:
            await asyncio.sleep(_RETRY_BACKOFF_S)
    return in_order(outcomes, asked)


async def _find_leaders(
    cluster: ClusterRouter, partitions: Sequence[TopicPartition]
) -> tuple[dict[TopicPartition, HostPort], dict[TopicPartition, Refused]]:
    topics = [MetadataRequestTopic(name=name) for name in by_topic(partitions)]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response: MetadataResponse = await cluster.send_to_any(request)
    addresses = {broker.node_id: HostPort(broker.host, broker.port) for broker in response.brokers}
    errors = {topic.name: refusal(topic.error_code) for topic in response.topics}
    leader_ids = {
        TopicPartition(topic.name or "", partition.partition_index): partition.leader_id
        for topic in response.topics
        for partition in topic.partitions
    }
    found: dict[TopicPartition, HostPort] = {}
    failed: dict[TopicPartition, Refused] = {}
    for each in partitions:
        address = addresses.get(leader_ids.get(each, -1))
        if address is not None:
            found[each] = address
            continue
        failed[each] = errors.get(each.topic) or (_NO_LEADER if each in leader_ids else _NO_PARTITION)
    return found, failed


_NO_LEADER = Refused("LEADER_NOT_AVAILABLE: nobody leads the partition", ErrorCode.LEADER_NOT_AVAILABLE)
_NO_PARTITION = Refused("UNKNOWN_TOPIC_OR_PARTITION: no such partition", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


#: Where looking for the leader once more may help. A topic or partition that is unknown stays so.
_PASSING = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
)


def _may_pass(outcome: object) -> bool:
    return isinstance(outcome, Refused) and outcome.code in _PASSING


def _offset(answer: ListOffsetsPartitionResponse) -> OffsetAndTimestamp:
    return OffsetAndTimestamp(_known(answer.offset), _known(answer.timestamp), _known(answer.leader_epoch))


def _known(value: int) -> int | None:
    return None if value < 0 else value
