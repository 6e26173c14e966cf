"""What the parts of a replica share during a step: the state, the log, the time, and the list of effects.

The modules of the RPCs (`elections`, `fetch`, …) and `polling` work on a `Core`; `raft.Raft` is what the outside sees.
The moves of `transitions` are wrapped here with what must happen beside them: forget requests that are in flight,
refuse fetches that are parked, tell the listener.
"""

import logging
from collections.abc import Callable

from odradek.common.failures import fail
from odradek.common.ports import Clock
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.kraft_version_record import KRaftVersionRecord
from odradek.raft.config import LocalNode, QuorumConfig
from odradek.raft.effects import Effect, LeaderChange, Persist, Reply, Send
from odradek.raft.messages.responses import build_fetch_response
from odradek.raft.request_manager import Connections
from odradek.raft.roles.pending_voter_change import answer_voter_change
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.follower import Follower
from odradek.raft.states.leader import Leader
from odradek.raft.states.prospective import Prospective
from odradek.raft.states.state import State
from odradek.raft.states.transitions import Quorum
from odradek.raft.storage.commit_listener import Listener
from odradek.raft.storage.control_record_history import ControlState
from odradek.raft.storage.control_records import leader_change
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.storage.raft_log import RaftLog, log_end
from odradek.raft.values import (
    NEVER_MS,
    NO_EPOCH,
    RECONFIGURABLE,
    Destination,
    Endpoints,
    OffsetAndEpoch,
    Randomness,
    ReplicaKey,
)
from odradek.raft.waiting_fetches import ParkedFetches

logger = logging.getLogger("odradek.raft")


class Core:
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
        self.local = local
        self.config = config
        self.log = log
        self.random = random
        self.clock = clock
        self.now_ms = now_ms
        self.effects: list[Effect] = []
        self.control = ControlState(log, local.static_voters)
        self.quorum = Quorum(local, config, self.control, random, self.emit)
        self.connections = Connections(config.retry_backoff_ms, config.request_timeout_ms, random)
        self.parked = ParkedFetches()
        self.listener = Listener(self.emit)
        self.shutdown_deadline_ms: int | None = None
        #: Nodes whose process is not there: they refused the last request, and have not been heard of since.
        self.gone: dict[int, None] = {}
        #: A leader that is told to stop goes on as one until everything is committed, but no longer than this.
        self.resign_deadline_ms = NEVER_MS
        #: The epoch that we may write records of. A new leader begins in the step after the one that elected it: its
        #: epoch must be in `quorum-state` before it is in the log.
        self.writable_epoch = NO_EPOCH
        #: Fetched batches that were not fit to be appended, since the start.
        self.damaged_fetches = 0
        #: Messages of peers that cannot be true if what we know is, since the start. They are ignored.
        self.contradictions = 0
        self.quorum.initialize(stored, log_end(log), now_ms)

    def note_contradiction(self, level: int, text: str) -> None:
        """Count a message of a peer that cannot be true, and log it. The peer may repeat it fifty times a second for as
        long as it lives, so that of many only the first, second, fourth, eighth … are logged."""
        self.contradictions += 1
        if self.contradictions & (self.contradictions - 1) == 0:
            logger.log(level, "%s; ignored (%d such messages since the start)", text, self.contradictions)

    @property
    def epoch(self) -> int:
        return self.quorum.state.epoch

    @property
    def end(self) -> OffsetAndEpoch:
        return log_end(self.log)

    @property
    def wall_ms(self) -> int:
        return self.clock.wall_ms()

    @property
    def is_reconfigurable(self) -> bool:
        return self.control.kraft_version >= RECONFIGURABLE

    def emit(self, effect: Effect) -> None:
        """Of two states to remember, with nothing between them that leaves the node, the first need not be written."""
        if isinstance(effect, Persist):
            last = next((e for e in reversed(self.effects) if not isinstance(e, LeaderChange)), None)
            if isinstance(last, Persist):
                self.effects.remove(last)
        self.effects.append(effect)

    def reply(self, handle: object, message: Message) -> None:
        self.effects.append(Reply(handle, message))

    def servers(self) -> tuple[Destination, ...]:
        """Whom to ask for the leader: the bootstrap servers, which may be out of date, and the voters of the log. Not
        ourselves."""
        listener = self.local.listener
        voters = [self.control.voters.destination(voter_id, listener) for voter_id in self.control.voters.ids]
        known = {(e.host, e.port): True for e in self.local.endpoints}
        servers = []
        for server in (*self.local.bootstrap_servers, *voters):
            if server is not None and (server.host, server.port) not in known:
                known[server.host, server.port] = True
                servers.append(server)
        return tuple(servers)

    def send(self, destination: Destination, build: Callable[[], Message]) -> tuple[bool, int]:
        """Ask `destination`, unless it is busy or in its pause. Whether it was asked, and when to try again."""
        if not self.connections.is_ready(destination.id, self.now_ms):
            return False, self.connections.ready_at_ms(destination.id, self.now_ms)
        message = build()
        correlation_id = self.connections.sent(destination.id, type(message), self.now_ms)
        self.effects.append(Send(correlation_id, destination, message))
        return True, self.now_ms + self.config.request_timeout_ms

    def become_prospective(self) -> None:
        self.quorum.to_prospective(self.now_ms)
        self.connections.reset_all()
        self.maybe_win()

    def become_candidate(self) -> None:
        self.quorum.to_candidate(self.now_ms)
        self.connections.reset_all()
        self.listener.maybe_leader_change(self.quorum.state)
        self.maybe_win()

    def maybe_win(self) -> None:
        """The next step of an election, if the votes for it are there; at once where we are the only voter."""
        state = self.quorum.state
        if isinstance(state, Prospective) and state.votes.is_granted:
            self.become_candidate()
        elif isinstance(state, Candidate) and state.votes.is_granted:
            self._become_leader()

    def _become_leader(self) -> None:
        """A record of the new epoch is written at once: without one nothing of earlier epochs can be committed."""
        leader = self.quorum.to_leader(self.log.end_offset, self.now_ms)
        self.log.initialize_leader_epoch(leader.epoch)
        messages: list[Message] = [leader_change(leader.leader_id, tuple(leader.voters), leader.granting_voters)]
        if self.is_reconfigurable:
            messages += self._voters_records_for_epoch(leader)
        else:
            leader.told_voters = self.control.voters.update(leader.local, ignoring_directory=True)
        leader.accumulator.append_control(messages, self.now_ms, self.wall_ms)
        self.connections.reset_all()

    def _voters_records_for_epoch(self, leader: Leader) -> list[Message]:
        """Once from the bootstrap snapshot, which is not replicated, into the log; and whenever we have moved."""
        entry = self.control.voters_entry
        if entry is None:
            fail("kraft.version says that the log has voters, but it has none")
        offset, voters = entry
        updated = voters.update(leader.local)
        if updated is None or (offset >= 0 and not voters.needs_update(leader.local)):
            return []
        return [KRaftVersionRecord(kraft_version=self.control.kraft_version), updated.to_record()]

    def become_unattached(self, epoch: int, leader_id: int | None = None) -> None:
        was = self.quorum.state
        self.quorum.to_unattached(epoch, leader_id, self.now_ms)
        self._leave(was)

    def become_follower(self, epoch: int, leader_id: int, endpoints: Endpoints) -> None:
        was = self.quorum.state
        self.quorum.to_follower(epoch, leader_id, endpoints, self.now_ms)
        self._leave(was)

    def doubt_leader(self, leader_id: int) -> None:
        """As a follower whose leader is gone: stand soon, but give the others the time to notice it too."""
        state = self.quorum.state
        assert isinstance(state, Follower)
        state.doubt_leader(self.now_ms + self.config.disconnect_grace_ms // 2 + self.quorum.turn_ms(leader_id))

    def become_resigned(self, successors: tuple[ReplicaKey, ...]) -> None:
        was = self.quorum.state
        self.quorum.to_resigned(successors, self.now_ms)
        self._leave(was)

    def _leave(self, was: State) -> None:
        """What others wait for at a leader that is none any more, they wait for in vain."""
        self.connections.reset_all()
        if isinstance(was, Leader):
            self.listener.drop_retained()
            refused = ErrorCode.NOT_LEADER_OR_FOLLOWER
            for fetch in self.parked.take_all():
                self.reply(fetch.request.handle, build_fetch_response(self, fetch.request, refused))
            self.finish_voter_change(was, refused)
        self.listener.maybe_leader_change(self.quorum.state)

    def finish_voter_change(self, leader: Leader, error: ErrorCode, message: str | None = None) -> None:
        change, leader.voter_change = leader.voter_change, None
        if change is not None and change.handle is not None:
            self.reply(change.handle, answer_voter_change(change, error, message))
