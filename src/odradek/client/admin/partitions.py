"""Offsets of partitions, deletion of their oldest records, and elections of their leaders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.node_requests import LeaderRequests
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.partitions_by_topic import indexes_by_topic
from odradek.client.errors import check_error, refusal
from odradek.client.types import TopicPartition
from odradek.common.addresses import HostPort
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.delete_records_response import DeleteRecordsResponse
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.elect_leaders_response import ElectLeadersResponse
from odradek.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsResponse

#: Offset for delete_records: all committed records.
HIGH_WATERMARK = -1

_CONSUMER = -1


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """Offset and timestamp of a record; None if there is no such record: the log is empty, or has none so late."""

    offset: int | None
    timestamp_ms: int | None
    leader_epoch: int | None


class ElectionType(IntEnum):
    """Rule by which a leader is elected."""

    #: The first replica of the assignment, if it is in sync.
    PREFERRED = 0
    #: Any replica that is alive, for partitions without a leader: records that only the others have are lost.
    UNCLEAN = 1


class PartitionOperations:
    """Operations of partition leaders, and elections of leaders."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router
        self._leaders = LeaderRequests(router)

    async def list_offsets(
        self,
        timestamps: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        api_timeout_ms: int | None = None,
    ) -> Outcomes[TopicPartition, OffsetAndTimestamp]:
        """Return the first offset at or after each timestamp, or the offset that a special timestamp stands for."""

        async def send(
            address: HostPort, partitions: Sequence[TopicPartition]
        ) -> dict[TopicPartition, OffsetAndTimestamp | Refused]:
            topics = [
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(partition_index=index, timestamp=timestamps[TopicPartition(topic, index)])
                        for index in indexes
                    ],
                )
                for topic, indexes in indexes_by_topic(partitions).items()
            ]
            request = ListOffsetsRequest(
                replica_id=_CONSUMER,
                isolation_level=int(read_committed),
                topics=topics,
                timeout_ms=self._router.config.request_timeout_ms,
            )
            response: ListOffsetsResponse = await self._router.send_to(address, request)
            return {
                TopicPartition(topic.name, partition.partition_index): refusal(partition.error_code)
                or _offset_and_timestamp(partition)
                for topic in response.topics
                for partition in topic.partitions
            }

        return await self._leaders.send(timestamps, send, api_timeout_ms=api_timeout_ms)

    async def delete_records(self, offsets: Mapping[TopicPartition, int]) -> Outcomes[TopicPartition, int]:
        """Delete all records before these offsets. The value is the log start offset of all replicas afterwards."""

        async def send(address: HostPort, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int | Refused]:
            topics = [
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=index, offset=offsets[TopicPartition(topic, index)])
                        for index in indexes
                    ],
                )
                for topic, indexes in indexes_by_topic(partitions).items()
            ]
            request = DeleteRecordsRequest(topics=topics, timeout_ms=self._router.config.request_timeout_ms)
            response: DeleteRecordsResponse = await self._router.send_to(address, request)
            return {
                TopicPartition(topic.name, partition.partition_index): refusal(partition.error_code)
                or partition.low_watermark
                for topic in response.topics
                for partition in topic.partitions
            }

        return await self._leaders.send(offsets, send)

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Sequence[TopicPartition] | None = None
    ) -> Outcomes[TopicPartition, bool]:
        """Elect leaders of these partitions, or of all that need it. The value is false if no election was needed."""
        topics = None
        if partitions is not None:
            topics = [
                TopicPartitions(topic=topic, partitions=indexes)
                for topic, indexes in indexes_by_topic(partitions).items()
            ]
        request = ElectLeadersRequest(
            election_type=election_type, topic_partitions=topics, timeout_ms=self._router.config.request_timeout_ms
        )
        response: ElectLeadersResponse = await self._router.send_change(request, lambda r: [r.error_code])
        check_error(response.error_code, None)
        return Outcomes(
            {
                TopicPartition(topic.topic, partition.partition_id): _election_outcome(
                    partition.error_code, partition.error_message
                )
                for topic in response.replica_election_results
                for partition in topic.partition_result
            }
        )


def _election_outcome(code: int, message: str | None) -> bool | Refused:
    if code == ErrorCode.ELECTION_NOT_NEEDED:
        return False
    return refusal(code, message) or True


def _offset_and_timestamp(partition: ListOffsetsPartitionResponse) -> OffsetAndTimestamp:
    return OffsetAndTimestamp(
        _none_if_negative(partition.offset),
        _none_if_negative(partition.timestamp),
        _none_if_negative(partition.leader_epoch),
    )


def _none_if_negative(value: int) -> int | None:
    return None if value < 0 else value
