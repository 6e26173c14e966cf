"""The committed metadata log of a running cluster, read over the wire into memory.

The leader serves its log to replicas. The client fetches as an observer without an id, which the leader does not
remember: the quorum does not change. Fetch returns batches from an offset on; if the log starts later, the response
names a snapshot, which FetchSnapshot returns in chunks. The leader's log ends after the last committed record, so
batches from the high watermark on are left out.

The log is read up to the high watermark of the first response. If the leader changes meanwhile, reading continues from
the new one: committed records are the same on all replicas.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.quorum import QuorumOperations
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
from odradek.protocol.messages.fetch_snapshot_response import PartitionSnapshot as SnapshotChunk
from odradek.records.batch import Batch, read_batches

_METADATA_TOPIC_ID = bytes(15) + b"\x01"

#: Fetch size of Kafka's replicas.
_FETCH_BYTES = 8 * 1024 * 1024

#: A new leader does not know its high watermark until its followers have fetched from it.
_MAX_WAIT_MS = 500

#: Kafka cannot open a larger snapshot: positions in it have 31 bits.
_SNAPSHOT_BYTES_MAX = 2**31 - 1

#: Consecutive responses without progress: leaders may change, snapshots may be deleted while they are fetched.
_FRUITLESS_ATTEMPTS_MAX = 20
_BACKOFF_S = 0.1

_EPOCH_CHANGED = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)


@dataclass(frozen=True, slots=True)
class FetchedSnapshot:
    """Snapshot file with the state of all records before `end_offset`."""

    end_offset: int
    epoch: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class FetchedLog:
    """Committed metadata log: a snapshot and the batches after it."""

    #: None if the log begins at offset 0.
    snapshot: FetchedSnapshot | None
    #: Committed batches after the snapshot, in order.
    batches: tuple[Batch, ...] = field(repr=False)
    end_offset: int


async def fetch_metadata_log(router: ClusterRouter) -> FetchedLog:
    """Read the log from the controllers. Raises what `ClusterRouter.send_to_leader` raises, and Refused.

    The addresses of `router` must be those of controllers.
    """
    return await _Observer(router).read()


class _Observer:
    """Reads the log from the leader, and from its successors."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router
        self._leader_epoch = 0
        self._offset = 0
        self._last_epoch = 0
        self._snapshot: FetchedSnapshot | None = None
        self._batches: list[Batch] = []
        #: High watermark of the first response that has one: the end of what is read.
        self._end_offset: int | None = None
        self._fruitless_attempts = 0

    async def read(self) -> FetchedLog:
        await self._learn_epoch()
        while self._end_offset is None or self._offset < self._end_offset:
            previous_offset = self._offset
            await self._fetch()
            self._fruitless_attempts = 0 if self._offset > previous_offset else self._fruitless_attempts + 1
            if self._fruitless_attempts:
                await self._back_off()
        return FetchedLog(self._snapshot, tuple(self._batches), self._offset)

    async def _learn_epoch(self) -> None:
        self._leader_epoch = (await QuorumOperations(self._router).describe()).leader_epoch

    async def _back_off(self) -> None:
        if self._fruitless_attempts > _FRUITLESS_ATTEMPTS_MAX:
            raise Refused(f"the leader returned no committed records at offset {self._offset}; try again later")
        await asyncio.sleep(_BACKOFF_S)

    async def _fetch(self) -> None:
        partition = await self._partition_response(self._fetch_request(), _fetched_partition)
        if partition is None:
            return
        if partition.snapshot_id.end_offset >= 0:
            await self._fetch_snapshot(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
        elif partition.diverging_epoch.end_offset >= 0:
            raise Refused(f"the log changed below offset {self._offset} while it was read; try again")
        else:
            self._append_batches(partition)

    def _append_batches(self, partition: PartitionData) -> None:
        """Append the committed batches of a response. An unknown high watermark is -1."""
        high_watermark = partition.high_watermark
        if self._end_offset is None and high_watermark >= 0:
            self._end_offset = high_watermark
        for batch in read_batches(partition.records or b""):
            if batch.last_offset >= high_watermark:
                break
            batch.check()
            self._batches.append(batch)
            self._offset, self._last_epoch = batch.next_offset, batch.leader_epoch

    async def _fetch_snapshot(self, end_offset: int, epoch: int) -> None:
        """Fetch a snapshot, which replaces everything read before. If it is deleted meanwhile, Fetch names another."""
        data = bytearray()
        while True:
            request = self._snapshot_request(SnapshotId(end_offset=end_offset, epoch=epoch), len(data))
            chunk = await self._partition_response(request, _snapshot_chunk)
            if chunk is None:
                return
            if chunk.position != len(data) or not 0 < chunk.size <= _SNAPSHOT_BYTES_MAX or not chunk.unaligned_records:
                raise ProtocolError(
                    f"FetchSnapshot at position {len(data)} returned position {chunk.position} of {chunk.size}"
                )
            data += chunk.unaligned_records
            if len(data) >= chunk.size:
                break
        self._snapshot = FetchedSnapshot(end_offset, epoch, bytes(data))
        self._batches.clear()
        self._offset, self._last_epoch = end_offset, epoch

    async def _partition_response(self, request: Message, partition_of: Callable[[Any], Any]) -> Any:
        """Return the partition in the response; None if the request should be repeated."""
        response = await self._router.send_to_leader(
            request, lambda r: int(partition_of(r).error_code), repeatable=True
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
    """Return the partition of a response; an error of the whole response becomes one of the partition."""
    partitions = [partition for topic in response.responses for partition in topic.partitions]
    return partitions[0] if partitions and not response.error_code else PartitionData(error_code=response.error_code)


def _snapshot_chunk(response: Any) -> SnapshotChunk:
    partitions = [partition for topic in response.topics for partition in topic.partitions]
    return partitions[0] if partitions and not response.error_code else SnapshotChunk(error_code=response.error_code)
