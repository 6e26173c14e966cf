"""One replica of the metadata log, whole: what a driver feeds with events, and what the controller writes through.

A driver waits for a message or for `deadline_ms`, calls `step`, and carries out the effects in their order before it
calls again:

    raft = Raft(local, config, log, store.read(), random, clock, now_ms)
    while not raft.is_stopped:
        for effect in raft.step(event or TICK, clock.monotonic_ms()):
            carry_out(effect)

Nothing here waits, sends or syncs. `append`, `resign`, `shutdown` and `upgrade_kraft_version` only note what is wanted;
the next step (a `TICK` will do) acts on it. A `Fault` that leaves a call means that the replica is broken: stop it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from odradek.common.failures import ApiError, check
from odradek.common.ports import Clock
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from odradek.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from odradek.protocol.messages.update_raft_voter_response import UpdateRaftVoterResponse
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.protocol.messages.vote_response import VoteResponse
from odradek.raft.config import LocalNode, QuorumConfig
from odradek.raft.effects import CommittedBatch, Effect, Stopped
from odradek.raft.events import Event, Request, RequestFailed, Response
from odradek.raft.quorum_context import Core
from odradek.raft.roles import (
    begin_epoch,
    elections,
    fetch,
    fetch_snapshot,
    polling,
    quorum_description,
    resignation,
    voter_changes,
)
from odradek.raft.roles.kraft_version_upgrade import upgrade_kraft_version
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.follower import Follower
from odradek.raft.states.leader import Leader
from odradek.raft.states.state import State
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.storage.raft_log import Fit, RaftLog, validate_offset_and_epoch
from odradek.raft.storage.snapshots import SnapshotWriter, read_snapshot
from odradek.raft.values import NEVER_MS, LeaderAndEpoch, OffsetAndEpoch, Randomness
from odradek.raft.voters import VoterSet

#: Looks that a step takes after changes of state. An election of the only voter takes three; more is a loop of ours,
#: which must not keep the driver from its other work.
_MAX_POLLS = 8

_HANDLERS: dict[type[Message], Callable[[Core, Request, Any], None]] = {
    VoteRequest: elections.handle_request,
    BeginQuorumEpochRequest: begin_epoch.handle_request,
    EndQuorumEpochRequest: resignation.handle_request,
    FetchRequest: fetch.handle_request,
    FetchSnapshotRequest: fetch_snapshot.handle_request,
    DescribeQuorumRequest: quorum_description.handle_request,
    AddRaftVoterRequest: voter_changes.handle_add,
    RemoveRaftVoterRequest: voter_changes.handle_remove,
    UpdateRaftVoterRequest: voter_changes.handle_update,
}


class NotLeader(ApiError):
    """This replica does not lead, or not in the epoch that the caller thinks of."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class Raft:
    def __init__(
        self,
        local: LocalNode,
        config: QuorumConfig,
        log: RaftLog,
        stored: ElectionState | None,
        random: Randomness,
        clock: Clock,
        now_ms: int,
    ) -> None:
        """`stored` is what `quorum-state` says, None for a new replica. `clock` only stamps records and answers."""
        self._core = Core(local, config, log, stored, random, clock, now_ms)
        self._clean_at_ms = now_ms + config.clean_interval_ms
        self.is_stopped = False
        #: When to call `step` even if nothing happens.
        self.deadline_ms = now_ms
        if self._core.quorum.is_only_voter and not isinstance(self._core.quorum.state, Candidate):
            self._core.become_prospective()
        else:
            self._core.maybe_win()

    @property
    def local(self) -> LocalNode:
        return self._core.local

    @property
    def state(self) -> State:
        return self._core.quorum.state

    @property
    def leader_and_epoch(self) -> LeaderAndEpoch:
        return self.state.leader_and_epoch

    @property
    def contradictions(self) -> int:
        """Messages of peers that were ignored since the start, because they contradict what this replica knows."""
        return self._core.contradictions

    @property
    def is_leader(self) -> bool:
        return isinstance(self.state, Leader)

    @property
    def is_voter(self) -> bool:
        return self._core.quorum.is_voter

    @property
    def high_watermark(self) -> int | None:
        return self.state.high_watermark

    @property
    def voters(self) -> VoterSet:
        """The latest in the log, committed or not."""
        return self._core.control.voters

    @property
    def voters_entry(self) -> tuple[int, VoterSet] | None:
        """The same with their offset; None while static voters hold."""
        return self._core.control.voters_entry

    @property
    def kraft_version(self) -> int:
        """What is, or will be: a leader that has written a new level says so already."""
        state = self.state
        if isinstance(state, Leader) and state.requested_kraft_version is not None:
            return state.requested_kraft_version
        return self._core.control.kraft_version

    @property
    def log_end_offset(self) -> int:
        return self._core.log.end_offset

    @property
    def next_append_offset(self) -> int:
        """What the next record that this replica appends will have, behind all that waits to be written."""
        state = self.state
        return state.accumulator.next_offset if isinstance(state, Leader) else self._core.log.end_offset

    @property
    def gone(self) -> tuple[int, ...]:
        """Nodes that refused our last request to them, and have not been heard of since: their process is gone."""
        return tuple(self._core.gone)

    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None:
        return self._core.log.latest_snapshot_id

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Let `event` happen at `now_ms` of the monotonic clock."""
        check(not self.is_stopped, "the replica has stopped")
        core = self._core
        core.now_ms = now_ms
        fetch.expire(core)
        self._dispatch(event)
        self._poll()
        effects, core.effects = core.effects, []
        return effects

    def append(self, epoch: int, values: Sequence[bytes], now_ms: int, objects: Sequence[object] | None = None) -> int:
        """Write records, all in one batch, as the leader of `epoch`. The offset that the last one will have, should
        it be committed; a `Commit` with it, or a `LeaderChange`, tells. `objects` come back with the commit here.

        Raises NotLeader, BatchTooLarge, TooManyWaiting; nothing is written then.
        """
        leader = self._leader(epoch)
        self.deadline_ms = min(self.deadline_ms, now_ms + self._core.config.append_linger_ms)
        return leader.accumulator.append(values, objects, now_ms, self._core.wall_ms)

    def resign(self, epoch: int) -> None:
        """Give up the leadership of `epoch`; nothing to do if it is over already."""
        check(epoch <= self.state.epoch, f"epoch {epoch} has not come yet")
        state = self.state
        if isinstance(state, Leader) and state.epoch == epoch:
            state.resign_requested = True
            self.deadline_ms = 0

    def shutdown(self, timeout_ms: int, now_ms: int) -> None:
        """Stop when somebody else leads, or after `timeout_ms`. The effect `Stopped` is the last."""
        self._core.shutdown_deadline_ms = now_ms + timeout_ms
        self._core.resign_deadline_ms = now_ms + min(timeout_ms, self._core.config.disconnect_grace_ms)
        self.deadline_ms = now_ms

    def upgrade_kraft_version(self, epoch: int, version: int, *, validate_only: bool = False) -> bool:
        """As the leader of `epoch`. Whether there is anything to do."""
        self.deadline_ms = 0
        return upgrade_kraft_version(self._core, self._leader(epoch), version, validate_only=validate_only)

    def create_snapshot(self, snapshot_id: OffsetAndEpoch, last_contained_log_timestamp: int) -> SnapshotWriter | None:
        """Of committed state: everything before `snapshot_id.offset`, which ends a batch. None if there is one already
        or the log has moved beyond it."""
        core, log = self._core, self._core.log
        if snapshot_id.offset < log.start_offset:
            return None
        check(snapshot_id.offset <= log.high_watermark, f"{snapshot_id} is beyond {log.high_watermark}")
        validity = validate_offset_and_epoch(log, snapshot_id.offset, snapshot_id.epoch)
        check(validity.fit is Fit.VALID, f"the log knows no {snapshot_id}: {validity.fit.value} at {validity.at}")
        raw = log.create_snapshot(snapshot_id)
        if raw is None:
            return None
        last_offset = snapshot_id.offset - 1
        return SnapshotWriter(
            raw,
            last_contained_log_timestamp=last_contained_log_timestamp,
            kraft_version=core.control.kraft_version_at(last_offset),
            voters=core.control.voters_at(last_offset),
            wall_ms=core.wall_ms,
        )

    def read_snapshot(self, snapshot_id: OffsetAndEpoch) -> Iterator[CommittedBatch]:
        return read_snapshot(self._core.log, snapshot_id)

    def snapshot_frozen(self, snapshot_id: OffsetAndEpoch) -> None:
        """Call it when a writer has frozen: what held before it need not be remembered."""
        self._core.control.truncate_old(snapshot_id.offset)

    def _leader(self, epoch: int) -> Leader:
        state = self.state
        check(epoch <= state.epoch, f"epoch {epoch} has not come yet")
        if not isinstance(state, Leader) or state.epoch != epoch:
            raise NotLeader(f"not the leader of epoch {epoch}: {state}")
        return state

    def _dispatch(self, event: Event) -> None:
        if isinstance(event, Request):
            _HANDLERS[type(event.message)](self._core, event, event.message)
        elif isinstance(event, Response):
            self._handle_response(event.correlation_id, event.message)
        elif isinstance(event, RequestFailed):
            self._handle_failure(event)

    def _handle_response(self, correlation_id: int, message: Message) -> None:
        """An answer that nobody waits for any more is dropped."""
        connections = self._core.connections
        node_id = connections.expected_from(correlation_id)
        if node_id is None:
            return
        self._core.gone.pop(node_id, None)
        if self._is_good(node_id, message):
            connections.succeeded(correlation_id)
        else:
            connections.failed(correlation_id, self._core.now_ms)

    def _is_good(self, node_id: int, message: Message) -> bool:
        """Whether the node may be asked again at once."""
        core = self._core
        if isinstance(message, FetchResponse):
            return fetch.handle_response(core, message)
        if isinstance(message, VoteResponse):
            return elections.handle_response(core, node_id, message)
        if isinstance(message, BeginQuorumEpochResponse):
            return begin_epoch.handle_response(core, node_id, message)
        if isinstance(message, EndQuorumEpochResponse):
            return resignation.handle_response(core, node_id, message)
        if isinstance(message, FetchSnapshotResponse):
            return fetch_snapshot.handle_response(core, message)
        if isinstance(message, ApiVersionsResponse):
            return voter_changes.handle_api_versions(core, node_id, message)
        if isinstance(message, UpdateRaftVoterResponse):
            return polling.handle_update_voter_response(core, message)
        assert isinstance(message, AddRaftVoterResponse | RemoveRaftVoterResponse)
        return polling.handle_join_response(core, message)

    def _handle_failure(self, event: RequestFailed) -> None:
        core, connections = self._core, self._core.connections
        node_id, asked = connections.expected_from(event.correlation_id), connections.asked(event.correlation_id)
        if node_id is None:
            return
        connections.failed(event.correlation_id, core.now_ms)
        if event.refused:
            core.gone[node_id] = None
        state = core.quorum.state
        if asked is VoteRequest:
            elections.handle_failure(core, event.error)
        elif asked is ApiVersionsRequest:
            voter_changes.failed_api_versions(core, node_id)
        elif event.refused and isinstance(state, Follower) and state.leader_id == node_id and not state.doubts_leader:
            core.doubt_leader(node_id)

    def _poll(self) -> None:
        core, now_ms = self._core, self._core.now_ms
        if self._maybe_stop():
            return
        for _ in range(_MAX_POLLS):
            deadline_ms = polling.poll(core)
            if deadline_ms > now_ms:
                break
        more = self._advance_listener()
        if self.is_leader and core.writable_epoch != core.epoch:
            core.writable_epoch, more = core.epoch, True
        if now_ms >= self._clean_at_ms:
            core.log.clean(core.wall_ms)
            self._clean_at_ms = now_ms + core.config.clean_interval_ms
        if self._maybe_stop():
            return
        earliest_ms = min(deadline_ms, core.parked.deadline_ms, self._clean_at_ms)
        self.deadline_ms = now_ms if more else max(earliest_ms, now_ms + 1)

    def _advance_listener(self) -> bool:
        core = self._core
        high_watermark = core.quorum.state.high_watermark
        more = high_watermark is not None and core.listener.advance(core.log, high_watermark)
        core.listener.maybe_leader_change(core.quorum.state)
        return more

    def _maybe_stop(self) -> bool:
        core, deadline_ms = self._core, self._core.shutdown_deadline_ms
        if deadline_ms is None or self.is_stopped:
            return self.is_stopped
        quorum, leader_id = core.quorum, core.quorum.state.leader_id
        others_lead = leader_id is not None and leader_id != core.local.id
        handed_over = not quorum.is_voter or quorum.is_only_voter or others_lead
        if handed_over or core.now_ms >= deadline_ms or self._nobody_can_succeed():
            self.is_stopped = True
            self.deadline_ms = NEVER_MS
            core.emit(Stopped(handed_over))
        return self.is_stopped

    def _nobody_can_succeed(self) -> bool:
        """So many of the other voters are gone that they cannot elect one of themselves: it is no use to wait."""
        core = self._core
        others = [voter_id for voter_id in core.control.voters.ids if voter_id != core.local.id]
        alive = [voter_id for voter_id in others if voter_id not in core.gone]
        return len(alive) <= len(core.control.voters) // 2
