"""The metadata log over the wire: whole, only what is committed, with snapshots, through changes of leader."""

import asyncio
from pathlib import Path

import pytest

from odradek.client.admin import metadata_log_fetch
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.metadata_log_fetch import FetchedLog, fetch_metadata_log
from odradek.client.net.config import ClientConfig
from odradek.common.failures import ProtocolError
from odradek.errors import Refused
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest
from odradek.protocol.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
    SnapshotId,
)
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse, PartitionSnapshot, TopicSnapshot
from odradek.protocol.messages.fetch_snapshot_response import SnapshotId as PieceId
from odradek.records.batch import Batch, read_batches
from support import vectors
from support.fakes.quorum import FakeQuorum, running

SNAPSHOT = (148, 2)
SNAPSHOT_NAME = "00000000000000000148-0000000002.checkpoint"


class Leader(FakeQuorum):
    """Serves Kafka's own log, three batches at a time, and its snapshot, a thousand bytes at a time."""

    def __init__(self, directory: Path) -> None:
        super().__init__({ApiKey.FETCH: self.fetch, ApiKey.FETCH_SNAPSHOT: self.fetch_snapshot})
        self.batches = list(read_batches((directory / "00000000000000000000.log").read_bytes()))
        self.snapshot = (directory / SNAPSHOT_NAME).read_bytes()
        self.log_start_offset = 0
        self.high_watermark = self.batches[-1].next_offset
        #: Answers that come before the right ones.
        self.first: list[PartitionData | PartitionSnapshot] = []

    def fetch(self, _: int, request: FetchRequest) -> FetchResponse:
        asked = request.topics[0].partitions[0]
        assert (request.replica_id, request.replica_state.replica_id) == (-1, -1), "an observer without an id"
        assert asked.current_leader_epoch == self.quorum.leader_epoch or self.first
        return FetchResponse(
            responses=[FetchableTopicResponse(topic_id=request.topics[0].topic_id, partitions=[self._answer(asked)])]
        )

    def _answer(self, asked: FetchPartition) -> PartitionData:
        if self.first:
            answer = self.first.pop(0)
            assert isinstance(answer, PartitionData)
            return answer
        if asked.fetch_offset < self.log_start_offset:
            return PartitionData(snapshot_id=SnapshotId(end_offset=SNAPSHOT[0], epoch=SNAPSHOT[1]))
        following = [batch for batch in self.batches if batch.last_offset >= asked.fetch_offset][:3]
        return PartitionData(
            high_watermark=self.high_watermark, records=b"".join(bytes(batch.buffer) for batch in following)
        )

    def fetch_snapshot(self, _: int, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        asked = request.topics[0].partitions[0]
        piece = PartitionSnapshot(
            snapshot_id=PieceId(end_offset=SNAPSHOT[0], epoch=SNAPSHOT[1]),
            size=len(self.snapshot),
            position=asked.position,
            unaligned_records=self.snapshot[asked.position : asked.position + 1000],
        )
        return FetchSnapshotResponse(topics=[TopicSnapshot(name=request.topics[0].name, partitions=[piece])])


@pytest.fixture
def leader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Leader:
    monkeypatch.setattr(metadata_log_fetch, "_BACKOFF_S", 0.001)
    return Leader(vectors.unpack(vectors.CLEAN, tmp_path) / "__cluster_metadata-0")


def fetched(leader: FakeQuorum) -> FetchedLog:
    async def main() -> FetchedLog:
        async with (
            running(leader),
            ClusterRouter([leader.addresses[1]], ClientConfig(), are_controllers=True) as cluster,
        ):
            return await fetch_metadata_log(cluster)

    return asyncio.run(main())


def same(found: tuple[Batch, ...], expected: list[Batch]) -> bool:
    return [bytes(batch.buffer) for batch in found] == [bytes(batch.buffer) for batch in expected]


def test_a_log_that_begins_at_its_beginning(leader: Leader) -> None:
    log = fetched(leader)
    assert log.snapshot is None
    assert same(log.batches, leader.batches)
    assert log.end_offset == leader.high_watermark


def test_what_is_not_committed_is_left_out(leader: Leader) -> None:
    leader.high_watermark = leader.batches[-4].next_offset
    log = fetched(leader)
    assert same(log.batches, leader.batches[:-3])
    assert log.end_offset == leader.high_watermark


def test_a_log_that_grows_is_read_as_it_was(leader: Leader) -> None:
    """Or reading a busy cluster would never end."""
    at_first = leader.batches[10].next_offset
    leader.first = [PartitionData(high_watermark=at_first)]
    assert at_first <= fetched(leader).end_offset < leader.high_watermark


def test_a_snapshot_comes_in_pieces_and_the_log_goes_on_behind_it(leader: Leader) -> None:
    leader.log_start_offset = SNAPSHOT[0]
    log = fetched(leader)
    assert log.snapshot is not None
    assert (log.snapshot.end_offset, log.snapshot.epoch) == SNAPSHOT
    assert log.snapshot.data == leader.snapshot
    assert same(log.batches, [batch for batch in leader.batches if batch.base_offset >= SNAPSHOT[0]])
    assert leader.asked_for(FetchSnapshotRequest) == [1] * 4


def test_a_snapshot_that_is_dropped_meanwhile_is_asked_for_again(leader: Leader) -> None:
    leader.log_start_offset = SNAPSHOT[0]
    serve, refusals = leader.handlers[ApiKey.FETCH_SNAPSHOT], [ErrorCode.SNAPSHOT_NOT_FOUND]

    def dropped(node_id: int, request: FetchSnapshotRequest) -> Message:
        if request.topics[0].partitions[0].position and refusals:
            piece = PartitionSnapshot(error_code=refusals.pop())
            return FetchSnapshotResponse(topics=[TopicSnapshot(partitions=[piece])])
        return serve(node_id, request)

    leader.handlers[ApiKey.FETCH_SNAPSHOT] = dropped
    log = fetched(leader)
    assert log.snapshot is not None and log.snapshot.data == leader.snapshot


def test_pieces_that_do_not_fit_are_no_snapshot(leader: Leader) -> None:
    leader.log_start_offset = SNAPSHOT[0]
    misplaced = PartitionSnapshot(size=10, position=5, unaligned_records=b"12345")
    leader.handlers[ApiKey.FETCH_SNAPSHOT] = lambda _, request: FetchSnapshotResponse(
        topics=[TopicSnapshot(partitions=[misplaced])]
    )
    with pytest.raises(ProtocolError, match="FetchSnapshot at position 0 returned position 5 of 10"):
        fetched(leader)


def test_an_epoch_that_changed_is_learnt_anew(leader: Leader) -> None:
    leader.first = [
        PartitionData(error_code=ErrorCode.UNKNOWN_LEADER_EPOCH),
        PartitionData(error_code=ErrorCode.FENCED_LEADER_EPOCH),
    ]
    assert same(fetched(leader).batches, leader.batches)


def test_a_new_leader_is_given_time_to_learn_its_high_watermark(leader: Leader) -> None:
    leader.first = [PartitionData(high_watermark=-1, records=bytes(leader.batches[0].buffer))] * 3
    assert same(fetched(leader).batches, leader.batches)


def test_a_leader_without_anything_committed_is_given_up(leader: Leader) -> None:
    leader.high_watermark = -1
    with pytest.raises(Refused, match="returned no committed records at offset 0"):
        fetched(leader)


def test_a_log_that_changed_under_us_is_no_log(leader: Leader) -> None:
    leader.first = [PartitionData(diverging_epoch=EpochEndOffset(epoch=1, end_offset=0))]
    with pytest.raises(Refused, match="the log changed below offset 0"):
        fetched(leader)


def test_who_may_not_read_is_told_so(leader: Leader) -> None:
    leader.handlers[ApiKey.FETCH] = lambda _, request: FetchResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(Refused, match="CLUSTER_AUTHORIZATION_FAILED"):
        fetched(leader)
