"""Tells the controller in which log directory each replica is, where the metadata says something else (KIP-858).

Replicas gather for a moment and go in one AssignReplicasToDirs request, of which one is under way at a time. What was
not taken is told again, unless it is no replica of this broker any more. A move between directories waits for the
controller's word: whoever tells it hears of what was taken through `on_accepted`.
"""

import asyncio
import logging
from collections.abc import Callable

from odradek.api.dispatch.services import Forwarder
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from odradek.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse

logger = logging.getLogger("odradek.replica")

#: Kafka's figures: for how long replicas gather, and after failures, each time twice as long; how many one request may
#: name.
_LINGER_MS = 500
_LINGER_MS_MAX = 10_000
_MAX_PER_REQUEST = 2250
_TIMEOUT_MS = 30_000

#: It is gone, or another broker's: there is nothing to tell any more.
_OVER = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)

_Replica = tuple[bytes, int]


def _ignore(_topic_id: bytes, _partition: int, _directory_id: bytes) -> None:
    pass


class DirectoryAssignments:
    def __init__(self, broker_id: int, broker_epoch: Callable[[], int], channel: Forwarder) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._waiting: dict[_Replica, bytes] = {}
        self._linger_ms = _LINGER_MS
        #: Told of each replica that the controller now takes to be in a directory.
        self.on_accepted: Callable[[bytes, int, bytes], None] = _ignore
        self._task: asyncio.Task[None] | None = None

    def tell(self, topic_id: bytes, partition: int, directory_id: bytes) -> None:
        self._waiting[topic_id, partition] = directory_id
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(self._linger_ms / 1000)
                batch = dict(list(self._waiting.items())[:_MAX_PER_REQUEST])
                answered = await self._send(batch)
                self._linger_ms = _LINGER_MS if answered else min(2 * self._linger_ms, _LINGER_MS_MAX)
                for replica, code in answered.items():
                    self._answered(replica, batch[replica], code)
        finally:
            self._task = None

    def _answered(self, replica: _Replica, directory_id: bytes, code: int) -> None:
        if code not in (ErrorCode.NONE, *_OVER):
            logger.warning("the log directory of partition %d is told again: %s", replica[1], error_name(code))
            return
        if self._waiting.get(replica) == directory_id:
            del self._waiting[replica]
        if code == ErrorCode.NONE:
            self.on_accepted(*replica, directory_id)

    async def _send(self, told: dict[_Replica, bytes]) -> dict[_Replica, int]:
        """The controller's word on each; none if it said nothing."""
        try:
            response: AssignReplicasToDirsResponse = await self._channel.send(self._request(told), _TIMEOUT_MS)
        except ApiError as error:
            logger.warning("the controller was not told of %d log directories: %s", len(told), error)
            return {}
        if response.error_code:
            logger.warning("AssignReplicasToDirs was refused with %s", error_name(response.error_code))
            return {}
        codes = {
            (topic.topic_id, partition.partition_index): partition.error_code
            for directory in response.directories
            for topic in directory.topics
            for partition in topic.partitions
        }
        return {replica: code for replica, code in codes.items() if replica in told}

    def _request(self, told: dict[_Replica, bytes]) -> AssignReplicasToDirsRequest:
        directories: dict[bytes, dict[bytes, TopicData]] = {}
        for (topic_id, partition), directory_id in told.items():
            topics = directories.setdefault(directory_id, {})
            topic = topics.setdefault(topic_id, TopicData(topic_id=topic_id))
            topic.partitions.append(PartitionData(partition_index=partition))
        return AssignReplicasToDirsRequest(
            broker_id=self._broker_id,
            broker_epoch=self._broker_epoch(),
            directories=[
                DirectoryData(id=directory_id, topics=list(topics.values()))
                for directory_id, topics in directories.items()
            ],
        )
