"""One replica of the metadata log: a driver feeds it with events, and the controller writes through it.

A driver waits for a message or for `deadline_ms`, calls `step`, and carries out the effects in their order before it
calls again:

    raft = Raft(local, config, log, store.read(), random, clock, now_ms)
    while not raft.is_stopped:
        for effect in raft.step(event or TICK, clock.monotonic_ms()):
            carry_out(effect)

Nothing here waits, sends or syncs. `append`, `resign`, `shutdown` and `upgrade_kraft_version` only record the call; the
next step (a `TICK` is enough) acts on it. A `Fault` that leaves a call means that the replica is broken: stop it.

The constructor connects the owners in `roles/`. Each reads what all share from the `QuorumContext`, puts its effects
into the `Outbox`, and changes only its own state.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from odradek.common.failures import ApiError, check
from odradek.common.ports import Clock
from odradek.common.randomness import Randomness
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
from odradek.raft.effects import CommittedBatch, Effect
from odradek.raft.events import Event, Request, RequestFailed, Response
from odradek.raft.outbox import Outbox
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.request_manager import RequestManager
from odradek.raft.roles.elections import Elections
from odradek.raft.roles.follower_replication import FollowerReplication
from odradek.raft.roles.kraft_version_upgrade import KRaftVersionUpgrade
from odradek.raft.roles.leader_discovery import LeaderDiscovery
from odradek.raft.roles.leader_replication import LeaderReplication
from odradek.raft.roles.quorum_description import QuorumDescription
from odradek.raft.roles.resignation import Resignation
from odradek.raft.roles.role_changes import RoleChanges
from odradek.raft.roles.shutdown import Shutdown
from odradek.raft.roles.voter_changes import VoterChanges
from odradek.raft.roles.voter_registration import VoterRegistration
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.follower import Follower
from odradek.raft.states.leader import Leader
from odradek.raft.states.prospective import Prospective
from odradek.raft.states.resigned import Resigned
from odradek.raft.states.state import State
from odradek.raft.states.transitions import Quorum
from odradek.raft.states.unattached import Unattached
from odradek.raft.storage.commit_listener import CommitListener
from odradek.raft.storage.control_record_history import ControlState
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.storage.raft_log import Fit, RaftLog, validate_offset_and_epoch
from odradek.raft.storage.snapshots import SnapshotWriter, read_snapshot
from odradek.raft.values import NEVER_MS, LeaderAndEpoch, OffsetAndEpoch
from odradek.raft.voters import VoterSet
from odradek.raft.waiting_fetches import WaitingFetches

#: Polls in one step, for changes of the state. An election of the only voter takes three; more is a bug, which must not
#: keep the driver from its other work.
_MAX_POLLS = 8


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
        """`stored` is the content of `quorum-state`, None for a new replica. `clock` only stamps records and
        responses."""
        requests = RequestManager(config.retry_backoff_ms, config.request_timeout_ms, random)
        outbox = Outbox(requests)
        control = ControlState(log, local.static_voters)
        quorum = Quorum(local, config, control, random, outbox.emit)
        context = QuorumContext(local, config, log, control, quorum, outbox, clock, now_ms)
        listener, waiting = CommitListener(outbox.emit), WaitingFetches()
        upgrade, shutdown = KRaftVersionUpgrade(context), Shutdown(context, requests)
        voter_changes = VoterChanges(context, upgrade)
        role_changes = RoleChanges(context, requests, listener, waiting, voter_changes)
        discovery = LeaderDiscovery(context, requests, role_changes)
        elections = Elections(context, requests, listener, voter_changes, role_changes, discovery, shutdown)
        registration = VoterRegistration(context, discovery)
        leader = LeaderReplication(
            context, requests, listener, waiting, voter_changes, role_changes, discovery, shutdown
        )
        follower = FollowerReplication(context, requests, elections, discovery, registration, shutdown)
        self._context, self._quorum, self._outbox = context, quorum, outbox
        self._requests, self._listener, self._waiting = requests, listener, waiting
        self._elections, self._leader_replication, self._follower_replication = elections, leader, follower
        self._resignation = Resignation(context, role_changes, discovery, shutdown)
        self._voter_changes, self._upgrade, self._registration = voter_changes, upgrade, registration
        self._shutdown = shutdown
        self._handlers: dict[type[Message], Callable[[Request, Any], None]] = {
            VoteRequest: elections.handle_vote_request,
            BeginQuorumEpochRequest: follower.handle_begin_epoch_request,
            EndQuorumEpochRequest: self._resignation.handle_end_epoch_request,
            FetchRequest: leader.handle_fetch_request,
            FetchSnapshotRequest: leader.handle_fetch_snapshot_request,
            DescribeQuorumRequest: QuorumDescription(context).handle_describe_request,
            AddRaftVoterRequest: voter_changes.handle_add_request,
            RemoveRaftVoterRequest: voter_changes.handle_remove_request,
            UpdateRaftVoterRequest: voter_changes.handle_update_request,
        }
        self._clean_at_ms = now_ms + config.clean_interval_ms
        #: When to call `step` even if nothing happens.
        self.deadline_ms = now_ms
        self._start(stored)

    def _start(self, stored: ElectionState | None) -> None:
        """Begin where the last process ended; the only voter elects itself."""
        quorum, context = self._quorum, self._context
        quorum.initialize(stored, context.log_end, context.now_ms)
        if quorum.is_only_voter and not isinstance(quorum.state, Candidate):
            self._elections.start_pre_vote()
        else:
            self._elections.maybe_win()

    @property
    def is_stopped(self) -> bool:
        return self._shutdown.is_complete

    @property
    def local(self) -> LocalNode:
        return self._context.local

    @property
    def state(self) -> State:
        return self._quorum.state

    @property
    def leader_and_epoch(self) -> LeaderAndEpoch:
        return self.state.leader_and_epoch

    @property
    def contradictions(self) -> int:
        """Number of messages of peers since the start that contradict what this replica knows, and were ignored."""
        return self._context.contradictions.count

    @property
    def is_leader(self) -> bool:
        return isinstance(self.state, Leader)

    @property
    def is_voter(self) -> bool:
        return self._quorum.is_voter

    @property
    def high_watermark(self) -> int | None:
        return self.state.high_watermark

    @property
    def voters(self) -> VoterSet:
        """The last voters in the log, committed or not; the static voters if the log has none."""
        return self._context.voters

    @property
    def voters_entry(self) -> tuple[int, VoterSet] | None:
        """The last voters in the log and their offset; None while the voters are static."""
        return self._context.control.voters_entry

    @property
    def kraft_version(self) -> int:
        """The level of the log; at a leader that has written a new one, that level."""
        return self._upgrade.kraft_version

    @property
    def log_end_offset(self) -> int:
        return self._context.log.end_offset

    @property
    def next_append_offset(self) -> int:
        """The offset of the next record that this replica appends, after all that wait to be written."""
        state = self.state
        return state.accumulator.next_offset if isinstance(state, Leader) else self._context.log.end_offset

    @property
    def unreachable_nodes(self) -> tuple[int, ...]:
        """Nodes whose process does not run: they refused the last request and have sent nothing since."""
        return self._requests.unreachable

    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None:
        return self._context.log.latest_snapshot_id

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Handle `event` at `now_ms` of the monotonic clock. Return the effects in the order to carry them out."""
        check(not self._shutdown.is_complete, "the replica has stopped")
        self._context.advance_to(now_ms)
        self._leader_replication.expire_waiting()
        self._dispatch(event)
        self._poll()
        return self._outbox.take()

    def append(self, epoch: int, values: Sequence[bytes], now_ms: int, objects: Sequence[object] | None = None) -> int:
        """Write records, all in one batch, as the leader of `epoch`. Return the offset that the last one will have if
        it is committed; a `Commit` with it, or a `LeaderChange`, follows. The `Commit` at this replica has `objects`.

        Raises NotLeader, BatchTooLarge, TooManyWaiting; nothing is written then.
        """
        leader = self._leader(epoch)
        self.deadline_ms = min(self.deadline_ms, now_ms + self._context.config.append_linger_ms)
        return leader.accumulator.append(values, objects, now_ms, self._context.wall_ms)

    def resign(self, epoch: int) -> None:
        """Resign as the leader of `epoch`. Does nothing if that leadership is over."""
        check(epoch <= self.state.epoch, f"epoch {epoch} has not come yet")
        state = self.state
        if isinstance(state, Leader) and state.epoch == epoch:
            state.request_resignation()
            self.deadline_ms = 0

    def shutdown(self, timeout_ms: int, now_ms: int) -> None:
        """Stop once another replica leads, and after `timeout_ms` at the latest. The effect `Stopped` is the last."""
        self._shutdown.request(timeout_ms, now_ms)
        self.deadline_ms = now_ms

    def upgrade_kraft_version(self, epoch: int, version: int, *, validate_only: bool = False) -> bool:
        """Write a new level as the leader of `epoch`. Return False if the log has it already, or will have it.

        Raises NotLeader, InvalidUpdateVersion.
        """
        self.deadline_ms = 0
        return self._upgrade.upgrade(self._leader(epoch), version, validate_only=validate_only)

    def create_snapshot(self, snapshot_id: OffsetAndEpoch, last_contained_log_timestamp: int) -> SnapshotWriter | None:
        """Create a snapshot of everything before `snapshot_id.offset`, which is committed and the end of a batch.
        Return None if there is one already, or the log starts beyond it."""
        context, log = self._context, self._context.log
        if snapshot_id.offset < log.start_offset:
            return None
        check(snapshot_id.offset <= log.high_watermark, f"{snapshot_id} is beyond {log.high_watermark}")
        validity = validate_offset_and_epoch(log, snapshot_id.offset, snapshot_id.epoch)
        check(validity.fit is Fit.VALID, f"the log has no {snapshot_id}: {validity.fit.value} at {validity.at}")
        raw = log.create_snapshot(snapshot_id)
        if raw is None:
            return None
        last_offset = snapshot_id.offset - 1
        return SnapshotWriter(
            raw,
            last_contained_log_timestamp=last_contained_log_timestamp,
            kraft_version=context.control.kraft_version_at(last_offset),
            voters=context.control.voters_at(last_offset),
            wall_ms=context.wall_ms,
        )

    def read_snapshot(self, snapshot_id: OffsetAndEpoch) -> Iterator[CommittedBatch]:
        return read_snapshot(self._context.log, snapshot_id)

    def snapshot_frozen(self, snapshot_id: OffsetAndEpoch) -> None:
        """Forget the control records before a snapshot; call this once its writer has frozen it."""
        self._context.control.truncate_old(snapshot_id.offset)

    def _leader(self, epoch: int) -> Leader:
        state = self.state
        check(epoch <= state.epoch, f"epoch {epoch} has not come yet")
        if not isinstance(state, Leader) or state.epoch != epoch:
            raise NotLeader(f"not the leader of epoch {epoch}: {state}")
        return state

    def _dispatch(self, event: Event) -> None:
        if isinstance(event, Request):
            self._handlers[type(event.message)](event, event.message)
        elif isinstance(event, Response):
            self._handle_response(event.correlation_id, event.message)
        elif isinstance(event, RequestFailed):
            self._handle_failure(event)

    def _handle_response(self, correlation_id: int, message: Message) -> None:
        """Handle the response to a request in flight; any other response is dropped."""
        requests = self._requests
        node_id = requests.node_id(correlation_id)
        if node_id is None:
            return
        requests.mark_reachable(node_id)
        if self._is_successful(node_id, message):
            requests.record_success(correlation_id)
        else:
            requests.record_failure(correlation_id, self._context.now_ms)

    def _is_successful(self, node_id: int, message: Message) -> bool:
        """Let the owner handle the response. Return whether the node may be sent another request at once."""
        if isinstance(message, FetchResponse):
            return self._follower_replication.handle_fetch_response(message)
        if isinstance(message, VoteResponse):
            return self._elections.handle_vote_response(node_id, message)
        if isinstance(message, BeginQuorumEpochResponse):
            return self._leader_replication.handle_begin_epoch_response(message)
        if isinstance(message, EndQuorumEpochResponse):
            return self._resignation.handle_end_epoch_response(node_id, message)
        if isinstance(message, FetchSnapshotResponse):
            return self._follower_replication.handle_fetch_snapshot_response(message)
        if isinstance(message, ApiVersionsResponse):
            return self._voter_changes.handle_api_versions_response(node_id, message)
        if isinstance(message, UpdateRaftVoterResponse):
            return self._registration.handle_update_response(message)
        assert isinstance(message, AddRaftVoterResponse | RemoveRaftVoterResponse)
        return self._registration.handle_join_response(message)

    def _handle_failure(self, event: RequestFailed) -> None:
        requests, now_ms = self._requests, self._context.now_ms
        node_id, message_class = requests.node_id(event.correlation_id), requests.message_class(event.correlation_id)
        if node_id is None:
            return
        requests.record_failure(event.correlation_id, now_ms)
        if event.refused:
            requests.mark_unreachable(node_id)
        state = self.state
        if message_class is VoteRequest:
            self._elections.handle_vote_failure(event.error)
        elif message_class is ApiVersionsRequest:
            self._voter_changes.handle_api_versions_failure(node_id)
        elif event.refused and isinstance(state, Follower) and state.leader_id == node_id and not state.doubts_leader:
            self._quorum.doubt_leader(now_ms)

    def _poll(self) -> None:
        context, now_ms = self._context, self._context.now_ms
        if self._maybe_stop():
            return
        for _ in range(_MAX_POLLS):
            deadline_ms = self._poll_role()
            if deadline_ms > now_ms:
                break
        has_more = self._advance_listener()
        has_more = self._leader_replication.allow_writes() or has_more
        if now_ms >= self._clean_at_ms:
            context.log.clean(context.wall_ms)
            self._clean_at_ms = now_ms + context.config.clean_interval_ms
        if self._maybe_stop():
            return
        earliest_ms = min(deadline_ms, self._waiting.deadline_ms, self._clean_at_ms)
        self.deadline_ms = now_ms if has_more else max(earliest_ms, now_ms + 1)

    def _poll_role(self) -> int:
        """Let the owner of the current state do what is due. Return when to poll again; a change of the state asks for
        another poll at once."""
        state = self._quorum.state
        if isinstance(state, Leader):
            return self._leader_replication.poll(state)
        if isinstance(state, Follower):
            return self._follower_replication.poll(state)
        if isinstance(state, Resigned):
            return self._resignation.poll(state)
        assert isinstance(state, Unattached | Prospective | Candidate)
        return self._elections.poll(state)

    def _advance_listener(self) -> bool:
        """Notify the listener of commits and the leader. Return whether there are more commits."""
        state = self._quorum.state
        high_watermark = state.high_watermark
        has_more = high_watermark is not None and self._listener.advance(self._context.log, high_watermark)
        self._listener.maybe_leader_change(state)
        return has_more

    def _maybe_stop(self) -> bool:
        if self._shutdown.deadline_ms is None or not self._shutdown.maybe_complete():
            return False
        self.deadline_ms = NEVER_MS
        return True
