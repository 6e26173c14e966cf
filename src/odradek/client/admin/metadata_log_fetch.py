"""The committed metadata log of a running cluster, read over the wire into memory.

The leader serves its log to whoever asks like a replica. We ask as an observer without an id, which it answers and
forgets: nothing about the quorum changes. Fetch brings batches from an offset on; where the log no longer begins there
the answer names a snapshot, and FetchSnapshot brings it piece by piece. The leader's log runs ahead of what is
committed, so that batches from the high watermark on are left out.

What is read is the log as it was at the first answer. A leader that changes meanwhile is followed: what is committed
is the same everywhere.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.quorum import describe_quorum
from odradek.client.errors import check_error
from odradek.common.failures import ProtocolError
from odradek.common.ids import METADATA_TOPIC
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData
from odradek.protocol.messages.fetch_snapshot_request import (
    FetchSnapshotRequest,
    PartitionSnapshot,
    SnapshotId,
    TopicSnapshot,
)
from odradek.protocol.messages.fetch_snapshot_response import PartitionSnapshot as SnapshotPiece
from odradek.records.batch import Batch, read_batches

_METADATA_TOPIC_ID = bytes(15) + b"\x01"

#: Kafka's replicas ask for 8 MiB at a time.
_FETCH_BYTES = 8 * 1024 * 1024

#: A new leader does not know its high watermark until its followers have fetched from it.
_MAX_WAIT_MS = 500

#: Kafka opens no snapshot that is larger: positions in it have 31 bits.
_SNAPSHOT_BYTES_MAX = 2**31 - 1

#: Answers without progress before we give up: leaders that change, snapshots that are dropped while we fetch them.
_VAIN_ATTEMPTS_MAX = 20
_BACKOFF_S = 0.1

_EPOCH_CHANGED = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)


@dataclass(frozen=True, slots=True)
class FetchedSnapshot:
    """Everything before `end_offset`, as one whole snapshot file."""

    end_offset: int
    epoch: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class FetchedLog:
    #: None if the log begins at offset 0.
    snapshot: FetchedSnapshot | None
    #: What was committed behind it, in order.
    batches: tuple[Batch, ...] = field(repr=False)
    end_offset: int


async def fetch_metadata_log(cluster: ClusterRouter) -> FetchedLog:
    """`cluster` must be known by its controllers. Raises what `ClusterRouter.send_to_leader` raises, and Refused."""
    return await _Observer(cluster).read()


class _Observer:
    def __init__(self, cluster: ClusterRouter) -> None:
        self._cluster = cluster
        self._leader_epoch = 0
        self._offset = 0
        self._last_epoch = 0
        self._snapshot: FetchedSnapshot | None = None
        self._batches: list[Batch] = []
        #: That of the first answer that had one; reading ends there.
        self._until: int | None = None
        self._vain_attempts = 0

    async def read(self) -> FetchedLog:
        await self._learn_epoch()
        while self._until is None or self._offset < self._until:
            before = self._offset
            await self._fetch()
            self._vain_attempts = 0 if self._offset > before else self._vain_attempts + 1
            if self._vain_attempts:
                await self._back_off()
        return FetchedLog(self._snapshot, tuple(self._batches), self._offset)

    async def _learn_epoch(self) -> None:
        self._leader_epoch = (await describe_quorum(self._cluster)).leader_epoch

    async def _back_off(self) -> None:
        if self._vain_attempts > _VAIN_ATTEMPTS_MAX:
            raise Refused(f"the leader has no committed records to give at offset {self._offset}; try again later")
        await asyncio.sleep(_BACKOFF_S)

    async def _fetch(self) -> None:
        partition = await self._ask(self._fetch_request(), _fetched_partition)
        if partition is None:
            return
        if partition.snapshot_id.end_offset >= 0:
            await self._fetch_snapshot(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
        elif partition.diverging_epoch.end_offset >= 0:
            raise Refused(f"the log changed below offset {self._offset} while it was read; try again")
        else:
            self._take(partition)

    def _take(self, partition: PartitionData) -> None:
        """A high watermark that is not known is -1."""
        high_watermark = partition.high_watermark
        if self._until is None and high_watermark >= 0:
            self._until = high_watermark
        for batch in read_batches(partition.records or b""):
            if batch.last_offset >= high_watermark:
                break
            batch.check()
            self._batches.append(batch)
            self._offset, self._last_epoch = batch.next_offset, batch.leader_epoch

    async def _fetch_snapshot(self, end_offset: int, epoch: int) -> None:
        """It takes the place of all that was read before it. If it is dropped meanwhile, Fetch will name another."""
        data = bytearray()
        while True:
            request = self._snapshot_request(SnapshotId(end_offset=end_offset, epoch=epoch), len(data))
            piece = await self._ask(request, _snapshot_piece)
            if piece is None:
                return
            if piece.position != len(data) or not 0 < piece.size <= _SNAPSHOT_BYTES_MAX or not piece.unaligned_records:
                raise ProtocolError(f"FetchSnapshot at {len(data)} was answered for {piece.position} of {piece.size}")
            data += piece.unaligned_records
            if len(data) >= piece.size:
                break
        self._snapshot = FetchedSnapshot(end_offset, epoch, bytes(data))
        self._batches.clear()
        self._offset, self._last_epoch = end_offset, epoch

    async def _ask(self, request: Message, partition_of: Callable[[Any], Any]) -> Any:
        """The partition's part of the answer; None if it is worth another attempt."""
        response = await self._cluster.send_to_leader(
            request, lambda answer: int(partition_of(answer).error_code), repeatable=True
        )
        partition = partition_of(response)
        if partition.error_code in _EPOCH_CHANGED:
            await self._learn_epoch()
        elif partition.error_code != ErrorCode.SNAPSHOT_NOT_FOUND:
            check_error(partition.error_code, None)
            return partition
        return None

    def _fetch_request(self) -> FetchRequest:
        partition = FetchPartition(
            current_leader_epoch=self._leader_epoch,
            fetch_offset=self._offset,
            last_fetched_epoch=self._last_epoch,
            partition_max_bytes=_FETCH_BYTES,
        )
        topic = FetchTopic(topic=METADATA_TOPIC, topic_id=_METADATA_TOPIC_ID, partitions=[partition])
        return FetchRequest(max_wait_ms=_MAX_WAIT_MS, max_bytes=_FETCH_BYTES, topics=[topic])

    def _snapshot_request(self, snapshot_id: SnapshotId, position: int) -> FetchSnapshotRequest:
        partition = PartitionSnapshot(
            current_leader_epoch=self._leader_epoch, snapshot_id=snapshot_id, position=position
        )
        topic = TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
        return FetchSnapshotRequest(max_bytes=_FETCH_BYTES, topics=[topic])


def _fetched_partition(response: FetchResponse) -> PartitionData:
    """An error of the whole response is told like one of the partition."""
    found = [partition for topic in response.responses for partition in topic.partitions]
    return found[0] if found and not response.error_code else PartitionData(error_code=response.error_code)


def _snapshot_piece(response: Any) -> SnapshotPiece:
    found = [partition for topic in response.topics for partition in topic.partitions]
    return found[0] if found and not response.error_code else SnapshotPiece(error_code=response.error_code)
