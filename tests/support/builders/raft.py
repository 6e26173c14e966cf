"""One replica on the bench: events go in by hand, effects come out to be looked at."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message
from odradek.protocol.messages import (
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    fetch_request,
    fetch_response,
    vote_request,
    vote_response,
)
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.raft.config import LocalNode, QuorumConfig
from odradek.raft.effects import Effect, Flush, Persist, Reply, Send
from odradek.raft.events import TICK, Event, Request, RequestFailed, Response
from odradek.raft.raft import Raft
from odradek.raft.storage.control_records import build_control_batch, leader_change
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.storage.snapshots import SnapshotWriter
from odradek.raft.values import (
    BOOTSTRAP_SNAPSHOT_ID,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    Destination,
    Endpoint,
    Endpoints,
    OffsetAndEpoch,
    ReplicaKey,
    VersionRange,
)
from odradek.raft.voters import Voter, VoterSet
from odradek.records.builder import BatchBuilder
from odradek.sim.raft.log import SimulatedRaftLog

CLUSTER_ID = "bench"
LISTENER = "CONTROLLER"
WALL_MS = 1_700_000_000_000
T = TypeVar("T", bound=Effect)

#: The end of an empty log.
EMPTY = OffsetAndEpoch(0, 0)


def directory(node_id: int) -> bytes:
    return bytes([node_id % 256]) * 16


def key(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id, directory(node_id))


def endpoints(node_id: int) -> Endpoints:
    return Endpoints((Endpoint(LISTENER, f"node{node_id}", 9093),))


def voter(node_id: int) -> Voter:
    return Voter(key(node_id), endpoints(node_id), VersionRange(0, 1))


def static_voters(*ids: int) -> VoterSet:
    return VoterSet.static({node_id: (f"node{node_id}", 9093) for node_id in ids}, LISTENER)


def new_log() -> SimulatedRaftLog:
    return SimulatedRaftLog(lambda entry: None, lambda snapshot_id: 0, Random(0))


def data_batch(base_offset: int, epoch: int, *values: bytes) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=epoch)
    for value in values or (b"x",):
        builder.append(WALL_MS, None, value)
    return builder.build()


def log_of(*epochs: int) -> SimulatedRaftLog:
    """A synced log with one record for each epoch that is given."""
    log = new_log()
    for offset, epoch in enumerate(epochs):
        log.append_as_follower(data_batch(offset, epoch), epoch)
    log.flush()
    return log


def leader_change_batch(base_offset: int, epoch: int, leader_id: int = 2) -> bytes:
    return build_control_batch([leader_change(leader_id, (1, 2, 3), (1, 2))], base_offset, epoch, WALL_MS)


class _Clock:
    def monotonic_ms(self) -> int:
        raise AssertionError("time comes as an argument")

    def wall_ms(self) -> int:
        return WALL_MS


class Bench:
    """Replica 1 of the voters 1, 2, 3, unless it is said otherwise. Time is `now_ms`."""

    def __init__(
        self,
        *,
        local_id: int | None = 1,
        voters: tuple[int, ...] = (1, 2, 3),
        dynamic: bool = False,
        log: SimulatedRaftLog | None = None,
        stored: ElectionState | None = None,
        config: QuorumConfig | None = None,
        **local: Any,
    ) -> None:
        self.log = new_log() if log is None else log
        self.now_ms = 1_000_000
        self.stored = stored
        if dynamic and self.log.latest_snapshot_id is None:
            write_bootstrap(self.log, voters)
        servers = tuple(Destination(-2 - i if dynamic else v, f"node{v}", 9093) for i, v in enumerate(voters))
        self.local = LocalNode(
            cluster_id=CLUSTER_ID,
            id=local_id,
            directory_id=directory(local_id or 99),
            listener=LISTENER,
            endpoints=endpoints(local_id or 99),
            static_voters=VoterSet() if dynamic else static_voters(*voters),
            bootstrap_servers=servers,
        )
        self.local = replace(self.local, **local)
        self.config = config or QuorumConfig(append_linger_ms=0)
        self.random = Random(7)
        self.raft = Raft(self.local, self.config, self.log, stored, self.random, _Clock(), self.now_ms)
        self.effects: list[Effect] = []
        self._handles = 0

    def step(self, event: Event = TICK) -> list[Effect]:
        """The effects are carried out as far as the disk is concerned."""
        self.effects = self.raft.step(event, self.now_ms)
        for effect in self.effects:
            if isinstance(effect, Persist):
                self.stored = effect.election
            elif isinstance(effect, Flush):
                self.log.flush()
        return self.effects

    def after(self, delay_ms: int) -> list[Effect]:
        self.now_ms += delay_ms
        return self.step()

    def until_deadline(self) -> list[Effect]:
        self.now_ms = max(self.now_ms, self.raft.deadline_ms)
        return self.step()

    def find(self, kind: type[T]) -> list[T]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def sends(self, kind: type[Message]) -> list[Send]:
        return [send for send in self.find(Send) if isinstance(send.message, kind)]

    def keep_fetching(self, first: Send, leader_id: int, epoch: int, until: type[Message]) -> Send:
        """Answer fetches, with nothing new, until the replica sends something else: the `until`."""
        send = first
        for _ in range(20):
            self.now_ms += 300
            self.answer(send, fetched(leader_id, epoch))
            if self.sends(until):
                return self.sends(until)[0]
            (send,) = self.sends(FetchRequest)
        raise AssertionError(f"no {until.__name__} was sent")

    def next_fetch(self) -> Send:
        """The request that follows an answer, at once or after a pause."""
        while not self.sends(FetchRequest):
            self.until_deadline()
        return self.sends(FetchRequest)[-1]

    def ask(self, message: Message, version: int | None = None) -> Any:
        """The answer, or None if it is not given in this step."""
        self._handles += 1
        handle = self._handles
        highest = type(message).VERSIONS[1]
        self.step(Request(handle, message, highest if version is None else version, LISTENER))
        return next((reply.message for reply in self.find(Reply) if reply.handle == handle), None)

    def answer(self, send: Send, message: Message) -> list[Effect]:
        return self.step(Response(send.correlation_id, message))

    def fail(self, send: Send, **details: Any) -> list[Effect]:
        return self.step(RequestFailed(send.correlation_id, **details))

    @property
    def state(self) -> str:
        return self.raft.state.name

    @property
    def epoch(self) -> int:
        return self.raft.state.epoch

    def become_candidate(self) -> list[Send]:
        """Through the election time-out and a granted pre-vote; the requests for votes."""
        self.step()
        for _ in range(10):
            if self.state == "Prospective":
                break
            self.until_deadline()
        pre_vote = self.sends(VoteRequest)[0]
        self.answer(pre_vote, granted(self.epoch))
        assert self.state == "Candidate"
        return self.sends(VoteRequest)

    def become_leader(self) -> None:
        """With the first record of the epoch written."""
        if self.raft.is_leader:
            self.step()
        else:
            self.answer(self.become_candidate()[0], granted(self.epoch + 0))
        assert self.raft.is_leader
        self.step()

    def become_follower(self, leader_id: int = 2, epoch: int = 5) -> Send:
        """The first fetch that it sends."""
        self.step()
        self.ask(begin_epoch(leader_id, epoch))
        assert self.state == "Follower"
        fetches = self.sends(FetchRequest)
        if not fetches:
            self.after(1)
            fetches = self.sends(FetchRequest)
        return fetches[0]


def write_bootstrap(log: SimulatedRaftLog, voters: tuple[int, ...]) -> None:
    write_snapshot(log, BOOTSTRAP_SNAPSHOT_ID, VoterSet(map(voter, voters)), [])


def write_snapshot(log: SimulatedRaftLog, snapshot_id: OffsetAndEpoch, voters: VoterSet, values: list[bytes]) -> None:
    raw = log.create_snapshot(snapshot_id)
    assert raw is not None
    writer = SnapshotWriter(raw, last_contained_log_timestamp=0, kraft_version=1, voters=voters, wall_ms=WALL_MS)
    if values:
        writer.append(values)
    writer.freeze()


def vote(
    candidate_id: int = 2,
    epoch: int = 5,
    *,
    end: OffsetAndEpoch = EMPTY,
    pre_vote: bool = False,
    cluster_id: str | None = CLUSTER_ID,
    voter_id: int = 1,
    voter_directory_id: bytes = ZERO_UUID,
    directory_id: bytes | None = None,
) -> VoteRequest:
    partition = vote_request.PartitionData(
        replica_epoch=epoch,
        replica_id=candidate_id,
        replica_directory_id=directory(candidate_id) if directory_id is None else directory_id,
        voter_directory_id=voter_directory_id,
        last_offset_epoch=end.epoch,
        last_offset=end.offset,
        pre_vote=pre_vote,
    )
    topic = vote_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return VoteRequest(cluster_id=cluster_id, voter_id=voter_id, topics=[topic])


def granted(epoch: int, *, vote_granted: bool = True, leader_id: int = -1, error: int = 0) -> VoteResponse:
    partition = vote_response.PartitionData(
        vote_granted=vote_granted, leader_epoch=epoch, leader_id=leader_id, error_code=error
    )
    return VoteResponse(topics=[vote_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])])


def begin_epoch(leader_id: int, epoch: int, *, voter_id: int = -1) -> BeginQuorumEpochRequest:
    partition = begin_quorum_epoch_request.PartitionData(leader_id=leader_id, leader_epoch=epoch)
    topic = begin_quorum_epoch_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    at = begin_quorum_epoch_request.LeaderEndpoint(name=LISTENER, host=f"node{leader_id}", port=9093)
    return BeginQuorumEpochRequest(cluster_id=CLUSTER_ID, voter_id=voter_id, topics=[topic], leader_endpoints=[at])


def end_epoch(leader_id: int, epoch: int, successors: tuple[int, ...]) -> EndQuorumEpochRequest:
    partition = end_quorum_epoch_request.PartitionData(
        leader_id=leader_id,
        leader_epoch=epoch,
        preferred_candidates=[
            end_quorum_epoch_request.ReplicaInfo(candidate_id=i, candidate_directory_id=directory(i))
            for i in successors
        ],
    )
    topic = end_quorum_epoch_request.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return EndQuorumEpochRequest(cluster_id=CLUSTER_ID, topics=[topic])


def fetch(
    replica_id: int,
    epoch: int,
    end: OffsetAndEpoch,
    *,
    max_wait_ms: int = 0,
    high_watermark: int = -1,
    directory_id: bytes | None = None,
) -> FetchRequest:
    partition = fetch_request.FetchPartition(
        current_leader_epoch=epoch,
        fetch_offset=end.offset,
        last_fetched_epoch=end.epoch,
        replica_directory_id=directory(replica_id) if directory_id is None else directory_id,
        high_watermark=high_watermark,
    )
    topic = fetch_request.FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return FetchRequest(
        cluster_id=CLUSTER_ID,
        replica_state=fetch_request.ReplicaState(replica_id=replica_id),
        max_wait_ms=max_wait_ms,
        topics=[topic],
    )


def fetched(
    leader_id: int,
    epoch: int,
    records: bytes = b"",
    *,
    high_watermark: int = -1,
    error: int = 0,
    diverging: OffsetAndEpoch | None = None,
    snapshot_id: OffsetAndEpoch | None = None,
) -> FetchResponse:
    partition = fetch_response.PartitionData(
        error_code=error,
        high_watermark=high_watermark,
        current_leader=fetch_response.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch),
        records=records,
    )
    if diverging is not None:
        partition.diverging_epoch = fetch_response.EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.offset)
    if snapshot_id is not None:
        partition.snapshot_id = fetch_response.SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch)
    topic = fetch_response.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return FetchResponse(responses=[topic])


def partition_of(response: Any) -> Any:
    """Of whatever answer, its only partition."""
    topics = response.responses if hasattr(response, "responses") else response.topics
    return topics[0].partitions[0]
