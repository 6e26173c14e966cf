"""A simulated node: a replica with its disk, its clock and its state machine, and the driver between them.

The driver is the whole of what a real one does: give the replica an event, carry out the effects in their order, wake
up at its deadline. On top of that a node here may stop between any two effects, sleep, and have a clock of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from odradek.common.failures import check
from odradek.protocol.message import Message
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse, SupportedFeatureKey
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.raft.config import LocalNode, QuorumConfig
from odradek.raft.effects import Commit, Effect, Flush, LeaderChange, LoadSnapshot, Persist, Reply, Send, Stopped
from odradek.raft.events import TICK, Event, Request
from odradek.raft.raft import Raft
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.values import KRAFT_VERSION_FEATURE, ReplicaKey
from odradek.sim.raft.log import SimulatedRaftLog
from odradek.sim.raft.workload_counter import ReplicatedCounter

if TYPE_CHECKING:
    from odradek.sim.raft.cluster import RaftCluster

#: Wall clocks begin at some day; nothing depends on which.
_EPOCH_START_MS = 1_700_000_000_000


class Handle(NamedTuple):
    """Sender of a request. `on_reply` is set for requests of the simulation itself."""

    node_id: int
    incarnation: int
    correlation_id: int
    on_reply: Callable[[Message], None] | None = None


class NodeClock:
    """Runs fast or slow; begins anywhere."""

    def __init__(self, node: SimulatedNode, rate: float, offset_ms: int) -> None:
        self._scheduler = node.cluster.scheduler
        self.rate = rate
        self._offset_ms = offset_ms

    def monotonic_ms(self) -> int:
        return int(self._scheduler.now_ms * self.rate) + self._offset_ms

    def wall_ms(self) -> int:
        return _EPOCH_START_MS + self._scheduler.now_ms

    def real_ms(self, monotonic_ms: int) -> int:
        """Return the simulated time at which this clock shows `monotonic_ms`."""
        return int((monotonic_ms - self._offset_ms) / self.rate) + 1


class SimulatedNode:
    def __init__(self, cluster: RaftCluster, node_id: int, directory_id: bytes, random: Random) -> None:
        self.cluster = cluster
        self.id = node_id
        self.directory_id = directory_id
        self.random = random
        self.election: ElectionState | None = None
        self.log = SimulatedRaftLog(cluster.ledger.appended, cluster.ledger.chain_of, random)
        self.clock = NodeClock(self, 1.0, 0)
        self.raft: Raft | None = None
        self.counter = ReplicatedCounter(node_id, cluster.snapshot_interval)
        self.incarnation = 0
        #: Set: stop dead after so many effects of the next step.
        self.effects_until_crash: int | None = None
        self._paused_until_ms = 0
        self._wakes_at_ms: int | None = None

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.id, self.directory_id)

    @property
    def is_running(self) -> bool:
        return self.raft is not None

    @property
    def is_paused(self) -> bool:
        return self.cluster.scheduler.now_ms < self._paused_until_ms

    @property
    def high_watermark(self) -> int:
        return 0 if self.raft is None else self.raft.high_watermark or 0

    def start(self, local: LocalNode, config: QuorumConfig) -> None:
        check(self.raft is None, f"{self} is running")
        self.incarnation += 1
        self.counter = ReplicatedCounter(self.id, self.cluster.snapshot_interval)
        now_ms = self.clock.monotonic_ms()
        self.raft = self.cluster.raft_class(local, config, self.log, self.election, self.random, self.clock, now_ms)
        self.cluster.say(self, "starts")
        self.handle(TICK)

    def crash(self) -> None:
        """Stop dead. What was not synced is lost, or not."""
        if self.raft is not None:
            self.cluster.say(self, "crashes")
            self._stop()
            self.log.crash()

    def _stop(self) -> None:
        self.raft = None
        self.effects_until_crash = None
        self._wakes_at_ms = None
        self._paused_until_ms = 0

    def wipe(self, directory_id: bytes) -> None:
        """A new, empty disk."""
        check(self.raft is None, f"{self} is running")
        self.directory_id = directory_id
        self.election = None
        self.log = SimulatedRaftLog(self.cluster.ledger.appended, self.cluster.ledger.chain_of, self.random)

    def pause(self, until_ms: int) -> None:
        """Sleep; everything that comes meanwhile is dealt with afterwards."""
        if self.raft is not None:
            self.cluster.say(self, "pauses")
            self._paused_until_ms = until_ms

    def shutdown(self, timeout_ms: int) -> None:
        if self.raft is not None:
            self.raft.shutdown(timeout_ms, self.clock.monotonic_ms())
            self.handle(TICK)

    def increment(self, count: int) -> None:
        """A client's write, if this node thinks that it leads."""
        raft = self.raft
        if raft is not None and not self.is_paused and raft.is_leader and raft.state.epoch == self.counter.leader_epoch:
            self.counter.increment(raft, count, self.clock.monotonic_ms())
            self.handle(TICK)

    def handle(self, event: Event) -> None:
        if self.raft is None:
            return
        if self.is_paused:
            scheduler = self.cluster.scheduler
            scheduler.at(self._paused_until_ms, partial(self._handle_later, self.incarnation, event))
            return
        if isinstance(event, Request) and isinstance(event.message, ApiVersionsRequest):
            self._reply(event.handle, _api_versions(self.raft))
            return
        previous = self.raft.state
        effects = self.raft.step(event, self.clock.monotonic_ms())
        if self.cluster.transcript is not None:
            self.cluster.transcript.stepped(self, previous, event, effects)
        self._carry_out(effects)
        self.cluster.after_event(self)
        if self.raft is not None:
            self._wake_at(self.raft.deadline_ms)

    def _handle_later(self, incarnation: int, event: Event) -> None:
        if incarnation == self.incarnation:
            self.handle(event)

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            if self.effects_until_crash is not None:
                self.effects_until_crash -= 1
                if self.effects_until_crash < 0:
                    break
            self._carry_out_one(effect)
        if self.effects_until_crash is not None:
            self.crash()
            self.cluster.crashed(self)

    def _carry_out_one(self, effect: Effect) -> None:
        raft = self.raft
        assert raft is not None
        if isinstance(effect, Send):
            self.cluster.request(self, effect)
        elif isinstance(effect, Reply):
            if isinstance(effect.message, FetchResponse) and effect.message.responses:
                self.cluster.ledger.exposed(self, effect.message.responses[0].partitions[0].high_watermark)
            self._reply(effect.handle, effect.message)
        elif isinstance(effect, Commit):
            self.cluster.ledger.exposed(self, effect.batches[-1].last_offset + 1)
            self.counter.commit(raft, effect)
        elif isinstance(effect, Flush):
            self.flush()
        elif isinstance(effect, Persist):
            self.persist(effect)
        elif isinstance(effect, LeaderChange):
            self.counter.leader_change(effect)
        elif isinstance(effect, LoadSnapshot):
            self.counter.load(raft, effect)
        elif isinstance(effect, Stopped):
            self.cluster.say(self, "has stopped")
            self._stop()

    def flush(self) -> None:
        self.log.flush()

    def persist(self, effect: Persist) -> None:
        self.election = effect.election
        self.cluster.ledger.persisted(self, effect.election)
        if effect.election.voted_key is not None:
            self.cluster.on_vote(self)

    def _reply(self, handle: object, message: Message) -> None:
        assert isinstance(handle, Handle)
        if handle.on_reply is not None:
            handle.on_reply(message)
            return
        self.cluster.respond(self, handle, message)

    def _wake_at(self, deadline_ms: int) -> None:
        """One alarm at a time is enough, unless the deadline has come nearer."""
        at_ms = self.clock.real_ms(deadline_ms)
        if self._wakes_at_ms is None or at_ms < self._wakes_at_ms:
            self._wakes_at_ms = at_ms
            self.cluster.scheduler.at(at_ms, partial(self._wake, self.incarnation, at_ms))

    def _wake(self, incarnation: int, at_ms: int) -> None:
        if incarnation != self.incarnation or self.raft is None or at_ms != self._wakes_at_ms:
            return
        self._wakes_at_ms = None
        if self.clock.monotonic_ms() >= self.raft.deadline_ms:
            self.handle(TICK)
        else:
            self._wake_at(self.raft.deadline_ms)

    def __str__(self) -> str:
        state = "down" if self.raft is None else str(self.raft.state)
        return f"node {self.id} ({state}, {self.log}, high watermark {self.high_watermark})"


def _api_versions(raft: Raft) -> ApiVersionsResponse:
    versions = raft.local.kraft_versions
    feature = SupportedFeatureKey(name=KRAFT_VERSION_FEATURE, min_version=versions.first, max_version=versions.last)
    return ApiVersionsResponse(supported_features=[feature])
