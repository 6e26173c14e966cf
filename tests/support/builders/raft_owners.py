"""The owners of one replica, built from their constructors; `take` returns the effects that they have put out."""

from __future__ import annotations

from random import Random

from odradek.protocol.message import Message
from odradek.raft.config import LocalNode, QuorumConfig
from odradek.raft.effects import Effect, Reply, Send
from odradek.raft.events import Request
from odradek.raft.outbox import Outbox
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.request_manager import RequestManager
from odradek.raft.roles.elections import Elections
from odradek.raft.roles.follower_replication import FollowerReplication
from odradek.raft.roles.kraft_version_upgrade import KRaftVersionUpgrade
from odradek.raft.roles.leader_discovery import LeaderDiscovery
from odradek.raft.roles.leader_replication import LeaderReplication
from odradek.raft.roles.resignation import Resignation
from odradek.raft.roles.role_changes import RoleChanges
from odradek.raft.roles.shutdown import Shutdown
from odradek.raft.roles.voter_changes import VoterChanges
from odradek.raft.roles.voter_registration import VoterRegistration
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.leader import Leader
from odradek.raft.states.prospective import Prospective
from odradek.raft.states.transitions import Quorum
from odradek.raft.storage.commit_listener import CommitListener
from odradek.raft.storage.control_record_history import ControlState
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.voters import VoterSet
from odradek.raft.waiting_fetches import WaitingFetches
from odradek.sim.raft.log import SimulatedRaftLog
from support.builders.raft import (
    CLUSTER_ID,
    LISTENER,
    WALL_MS,
    directory,
    endpoints,
    new_log,
    static_voters,
    write_bootstrap,
)

NOW_MS = 1_000


class FixedClock:
    def monotonic_ms(self) -> int:
        raise AssertionError("time is an argument")

    def wall_ms(self) -> int:
        return WALL_MS


class Owners:
    """Replica 1 of the given voters. Nothing calls the owners but the test."""

    def __init__(
        self,
        voters: tuple[int, ...] = (1, 2, 3),
        *,
        dynamic: bool = False,
        log: SimulatedRaftLog | None = None,
        stored: ElectionState | None = None,
    ) -> None:
        self.log = new_log() if log is None else log
        if dynamic:
            write_bootstrap(self.log, voters)
        local = LocalNode(
            cluster_id=CLUSTER_ID,
            id=1,
            directory_id=directory(1),
            listener=LISTENER,
            endpoints=endpoints(1),
            static_voters=VoterSet() if dynamic else static_voters(*voters),
        )
        config, random = QuorumConfig(append_linger_ms=0), Random(7)
        self.requests = RequestManager(config.retry_backoff_ms, config.request_timeout_ms, random)
        self.outbox = Outbox(self.requests)
        control = ControlState(self.log, local.static_voters)
        self.quorum = Quorum(local, config, control, random, self.outbox.emit)
        self.context = QuorumContext(local, config, self.log, control, self.quorum, self.outbox, FixedClock(), NOW_MS)
        self.listener = CommitListener(self.outbox.emit)
        self.waiting = WaitingFetches()
        self.upgrade = KRaftVersionUpgrade(self.context)
        self.voter_changes = VoterChanges(self.context, self.upgrade)
        self.role_changes = RoleChanges(self.context, self.requests, self.listener, self.waiting, self.voter_changes)
        self.discovery = LeaderDiscovery(self.context, self.requests, self.role_changes)
        self.shutdown = Shutdown(self.context, self.requests)
        self.quorum.initialize(stored, self.context.log_end, NOW_MS)
        self.take()

    def elections(self) -> Elections:
        return Elections(
            self.context,
            self.requests,
            self.listener,
            self.voter_changes,
            self.role_changes,
            self.discovery,
            self.shutdown,
        )

    def leader_replication(self) -> LeaderReplication:
        return LeaderReplication(
            self.context,
            self.requests,
            self.listener,
            self.waiting,
            self.voter_changes,
            self.role_changes,
            self.discovery,
            self.shutdown,
        )

    def follower_replication(self) -> FollowerReplication:
        registration = VoterRegistration(self.context, self.discovery)
        return FollowerReplication(
            self.context, self.requests, self.elections(), self.discovery, registration, self.shutdown
        )

    def resignation(self) -> Resignation:
        return Resignation(self.context, self.role_changes, self.discovery, self.shutdown)

    def become_leader(self) -> Leader:
        """Let voter 2 elect this replica."""
        elections = self.elections()
        elections.start_pre_vote()
        while isinstance(self.quorum.state, Prospective | Candidate):
            self.quorum.state.votes.record(2, True)
            elections.maybe_win()
        leader = self.quorum.state
        assert isinstance(leader, Leader)
        self.take()
        return leader

    def take(self) -> list[Effect]:
        return self.outbox.take()

    def take_reply(self) -> Message:
        """Return the message of the only reply among the effects."""
        (reply,) = [effect for effect in self.take() if isinstance(effect, Reply)]
        return reply.message

    def take_sends(self) -> list[Send]:
        return [effect for effect in self.take() if isinstance(effect, Send)]


def request(message: Message, handle: object = "handle") -> Request:
    return Request(handle, message, type(message).VERSIONS[1], LISTENER)
