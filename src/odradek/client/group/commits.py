"""Commits a group's offsets and asks for them, until the coordinator answers or the time is up.

Tried again is what Kafka's clients try again: there is no coordinator at the moment, it loads, a topic is not known to
it yet, a transaction is still open. Where our epoch has moved on and we did not know it yet, a heartbeat tells us, and
it is sent again with the new one: partitions are given up between polls only, so they are still ours.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from odradek.client.errors import refusal
from odradek.client.group.core import Identity
from odradek.client.group.offset_messages import (
    IDS_FROM,
    commit_errors,
    commit_request,
    fetch_request,
    fetched,
    has_ids,
)
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.net.network_client import NetworkClient
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import ApiError, InputError
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.offset_commit_request import OffsetCommitRequest
from odradek.protocol.messages.offset_commit_response import OffsetCommitResponse
from odradek.protocol.messages.offset_fetch_request import OffsetFetchRequest
from odradek.protocol.messages.offset_fetch_response import OffsetFetchResponse

_NO_COORDINATOR = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT)
_LATER = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.STALE_MEMBER_EPOCH,
)


_Result = TypeVar("_Result")


class _NotYet(Exception):
    """Try again; `reason` is told if there is no time for that."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Commits:
    def __init__(self, network: NetworkClient, group_id: str, group_instance_id: str | None) -> None:
        self._network = network
        self._group_id = group_id
        self._group_instance_id = group_instance_id
        self._topic_ids = network.metadata.topic_id

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        timeout_ms: float,
        identity: Callable[[], Identity],
        on_error: Callable[[int, Identity], ApiError],
        *,
        is_repeated: bool = True,
    ) -> None:
        """`identity` says as whom, each time anew; `on_error` what to raise. Raises RequestTimedOut, too. Not repeated,
        it cannot come after one that was made later."""
        for partition, offset in offsets.items():
            if offset.offset < 0:
                raise InputError(f"{partition}: {offset.offset} is not a valid offset; the first one is 0")
        if offsets:
            await self._until(
                timeout_ms,
                lambda left_ms: self._commit_once(offsets, left_ms, identity, on_error),
                is_repeated=is_repeated,
            )

    async def _commit_once(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        left_ms: float,
        identity: Callable[[], Identity],
        on_error: Callable[[int, Identity], ApiError],
    ) -> None:
        node_id = await self._coordinator(left_ms)
        sender = identity()
        request = commit_request(self._group_id, sender, self._group_instance_id, offsets, self._topic_ids)
        version = self._version(node_id, OffsetCommitRequest, offsets)
        response: OffsetCommitResponse = await self._network.send(
            node_id, request, self._limit(left_ms), version=version
        )
        for partition, code in commit_errors(request, response).items():
            self._check_retriable(code, partition)
            raise on_error(code, sender)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float, identity: Callable[[], Identity | None]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """In the order in which they are asked for."""
        requested = tuple(dict.fromkeys(partitions))
        if not requested:
            return {}
        offsets = await self._until(timeout_ms, lambda left_ms: self._fetch_once(requested, left_ms, identity))
        return {partition: offsets.get(partition) for partition in requested}

    async def _fetch_once(
        self, partitions: tuple[TopicPartition, ...], left_ms: float, identity: Callable[[], Identity | None]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        node_id = await self._coordinator(left_ms)
        version = self._version(node_id, OffsetFetchRequest, partitions)
        request = fetch_request(self._group_id, identity(), partitions, self._topic_ids, version)
        response: OffsetFetchResponse = await self._network.send(
            node_id, request, self._limit(left_ms), version=version
        )
        offsets, code, partition = fetched(request, response)
        if code:
            self._check_retriable(code, partition)
            raise refusal(code, f"{partition or f'group {self._group_id}'} cannot be asked for") or ApiError()
        return offsets

    # Ways and means

    async def _coordinator(self, left_ms: float) -> int:
        node_id = await self._network.coordinator(CoordinatorKind.GROUP, self._group_id, left_ms)
        if not await self._network.ready(node_id, left_ms):
            self._network.forget_coordinator(CoordinatorKind.GROUP, self._group_id)
            raise _NotYet("the coordinator cannot be reached")
        return node_id

    def _version(
        self,
        node_id: int,
        request_type: type[OffsetCommitRequest | OffsetFetchRequest],
        partitions: Iterable[TopicPartition],
    ) -> int:
        latest = self._network.version(node_id, request_type)
        if latest is None:
            raise _NotYet("the coordinator is not connected any more")
        return latest if has_ids(self._topic_ids, partitions) else min(latest, IDS_FROM - 1)

    def _limit(self, left_ms: float) -> float:
        return min(left_ms, self._network.settings.request_timeout_ms)

    def _check_retriable(self, code: int, partition: TopicPartition | None) -> None:
        """Raises _NotYet for what may be tried again."""
        if code in _NO_COORDINATOR:
            self._network.forget_coordinator(CoordinatorKind.GROUP, self._group_id)
        elif code == ErrorCode.UNKNOWN_TOPIC_ID:
            self._network.request_update()
        elif code not in _LATER:
            return
        raise _NotYet(f"{partition or self._group_id}: {error_name(code)}")

    async def _until(
        self, timeout_ms: float, attempt: Callable[[float], Awaitable[_Result]], *, is_repeated: bool = True
    ) -> _Result:
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + timeout_ms / 1000
        failures = 0
        while True:
            try:
                return await attempt(max(0.0, (ends_s - loop.time()) * 1000))
            except (Disconnected, RequestTimedOut) as error:
                self._network.forget_coordinator(CoordinatorKind.GROUP, self._group_id)
                reason = error.message
            except _NotYet as error:
                reason = error.reason
            if not is_repeated:
                raise RequestTimedOut(f"group {self._group_id}: {reason}")
            failures += 1
            pause_s = self._network.backoff.delay_ms(failures, self._network.random) / 1000
            if loop.time() + pause_s >= ends_s:
                raise RequestTimedOut(f"group {self._group_id}: not done within {timeout_ms:g} ms: {reason}")
            await asyncio.sleep(pause_s)
