"""Offsets by time, or of the ends of the log, asked of the leaders of many partitions."""

import time
from collections.abc import Mapping

from odradek.client.consumer.offset_requests import list_offsets_request
from odradek.client.direct.leaders import Leaders
from odradek.client.errors import Disconnected, NoLeader, Refused, RequestTimedOut, Unreachable
from odradek.common.addresses import HostPort
from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.list_offsets_response import ListOffsetsResponse

#: Said by one that does not lead the partition, or not yet, or does not know of it yet.
MOVED = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OFFSET_NOT_AVAILABLE,
)

#: retry.backoff.ms
_RETRY_S = 0.1


def list_offsets(
    leaders: Leaders,
    timestamps_ms: Mapping[TopicPartition, int],
    *,
    is_read_committed: bool = False,
    timeout_ms: int = 60_000,
) -> dict[TopicPartition, int]:
    """For each partition the offset of the first record that is not older, -1 if there is none; `special_timestamps`
    ask for the ends. Raises RequestTimedOut with the last reason, or what the cluster says."""
    deadline_s = time.monotonic() + timeout_ms / 1000
    found: dict[TopicPartition, int] = {}
    while True:
        left = {partition: ms for partition, ms in timestamps_ms.items() if partition not in found}
        reason = _ask(leaders, left, is_read_committed, found) if left else ""
        if len(found) == len(timestamps_ms):
            return found
        if time.monotonic() > deadline_s:
            raise RequestTimedOut(f"no offsets of {', '.join(map(str, left))} in {timeout_ms} ms: {reason}")
        time.sleep(_RETRY_S)


def _ask(
    leaders: Leaders, wanted: Mapping[TopicPartition, int], is_read_committed: bool, found: dict[TopicPartition, int]
) -> str:
    """One round; adds to `found`. Gives why some are missing."""
    reason = ""
    by_leader: dict[HostPort, list[TopicPartition]] = {}
    for partition in wanted:
        try:
            by_leader.setdefault(leaders.of(partition).leader, []).append(partition)
        except (NoLeader, Unreachable) as error:
            reason = error.message
    for leader, partitions in by_leader.items():
        try:
            asked = {partition: wanted[partition] for partition in partitions}
            response = leaders.connection(leader).ask(list_offsets_request(asked, {}, int(is_read_committed), 0))
        except (Disconnected, RequestTimedOut) as error:
            reason = error.message
            for partition in partitions:
                leaders.forget(partition)
        else:
            reason = _take(leaders, response, found) or reason
    return reason


def _take(leaders: Leaders, response: ListOffsetsResponse, found: dict[TopicPartition, int]) -> str:
    reason = ""
    for topic in response.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if each.error_code == ErrorCode.NONE:
                found[partition] = each.offset
            elif each.error_code in MOVED:
                reason = f"{partition}: {error_name(each.error_code)}"
                leaders.forget(partition)
            else:
                raise Refused(f"{partition}: {error_name(each.error_code)}", each.error_code)
    return reason
