"""Offsets by time, or of the ends of the log, asked of the leaders of many partitions."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from odradek.client.consumer.offset_requests import list_offsets_request
from odradek.client.direct.leader_connections import Leaders
from odradek.common.addresses import HostPort
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.errors import Disconnected, NoLeader, Refused, RequestTimedOut, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.message import Message
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
    clock_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[TopicPartition, int]:
    """For each partition the offset of the first record that is not older, -1 if there is none;
    `list_offsets_timestamps` ask for the ends. Raises RequestTimedOut with the last reason, or the cluster's error."""
    deadline_s = clock_s() + timeout_ms / 1000
    found: dict[TopicPartition, int] = {}
    while True:
        left = {partition: ms for partition, ms in timestamps_ms.items() if partition not in found}
        reason = _ask(leaders, left, is_read_committed, found) if left else ""
        if len(found) == len(timestamps_ms):
            return found
        if clock_s() > deadline_s:
            raise RequestTimedOut(f"no offsets of {', '.join(map(str, left))} in {timeout_ms} ms: {reason}")
        sleep(_RETRY_S)


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
    requests = {
        leader: list_offsets_request({each: wanted[each] for each in partitions}, {}, int(is_read_committed), 0)
        for leader, partitions in by_leader.items()
    }
    for leader, response in ask_each(leaders, requests).items():
        if isinstance(response, ListOffsetsResponse):
            reason = _take(leaders, response, found) or reason
        else:
            reason = response.message
            for partition in by_leader[leader]:
                leaders.forget(partition)
    return reason


def ask_each(leaders: Leaders, requests: Mapping[HostPort, Message]) -> dict[HostPort, Any]:
    """Ask several brokers at the same time. Returns the response of each, or the error where there was none."""
    results: dict[HostPort, Any] = {}
    sent: deque[HostPort] = deque()
    try:
        for address, request in requests.items():
            try:
                leaders.connection(address).send(request)
                sent.append(address)
            except (Disconnected, RequestTimedOut) as error:
                results[address] = error
        while sent:
            address = sent.popleft()
            try:
                results[address] = leaders.connection(address).receive()
            except (Disconnected, RequestTimedOut) as error:
                results[address] = error
    finally:
        for address in sent:  # nobody will receive these responses
            leaders.drop(address)
    for address, result in results.items():
        if isinstance(result, ApiError):
            leaders.drop(address)
    return results


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
