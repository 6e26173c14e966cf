"""The states of a replica and every legal move between them, and the one object that makes the moves.

A move that is not in the table is a bug and halts the node. A move changes memory at once and, where the epoch, the
leader or the vote changes, puts a `Persist` among the effects before anything that tells others: what nobody has heard
of may be forgotten in a crash, what somebody has heard of may not.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.common.failures import check
from odradek.common.randomness import Randomness
from odradek.raft.config import LocalNode, QuorumConfig
from odradek.raft.effects import Effect, Persist
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.follower import Follower
from odradek.raft.states.leader import Leader
from odradek.raft.states.prospective import Prospective
from odradek.raft.states.resigned import Resigned
from odradek.raft.states.state import State
from odradek.raft.states.unattached import Unattached
from odradek.raft.states.vote_count import EpochElection
from odradek.raft.storage.batch_accumulator import Accumulator
from odradek.raft.storage.control_record_history import ControlState
from odradek.raft.storage.quorum_state_file import ElectionState, data_version
from odradek.raft.values import NEVER_MS, Endpoints, OffsetAndEpoch, ReplicaKey
from odradek.raft.voters import Voter


class Move(NamedTuple):
    origin: type[State]
    target: type[State]
    why: str


#: Every legal move; anything else is a bug and halts the node. The table in docs/raft.md is drawn from this one.
MOVES = (
    Move(Unattached, Unattached, "hears of a later epoch without a leader; or grants its vote"),
    Move(Unattached, Prospective, "a voter's election time-out passes"),
    Move(Unattached, Follower, "learns who leads"),
    Move(Prospective, Unattached, "loses or times out and knows no leader; or hears of a later epoch"),
    Move(Prospective, Prospective, "grants its vote to a candidate of its epoch"),
    Move(Prospective, Candidate, "a majority would vote for it"),
    Move(Prospective, Follower, "loses or times out and goes back to its leader; or learns who leads"),
    Move(Candidate, Unattached, "hears of a later epoch without a leader"),
    Move(Candidate, Prospective, "its election time-out passes"),
    Move(Candidate, Leader, "a majority has voted for it"),
    Move(Candidate, Follower, "learns who leads"),
    Move(Leader, Unattached, "hears of a later epoch without a leader"),
    Move(Leader, Follower, "hears of a later epoch and its leader"),
    Move(Leader, Resigned, "a majority has not fetched for too long; or it is told to resign or to shut down"),
    Move(Follower, Unattached, "hears of a later epoch without a leader"),
    Move(Follower, Prospective, "a voter's fetch time-out passes"),
    Move(Follower, Follower, "hears of a later epoch and its leader; or of more listeners of its leader"),
    Move(Resigned, Unattached, "its election time-out passes (in the next epoch); or hears of a later epoch"),
    Move(Resigned, Prospective, "starts as the only voter"),
    Move(Resigned, Follower, "learns who leads a later epoch"),
)

#: Where a replica may begin, from what it finds on its disk.
INITIAL = (Unattached, Follower, Candidate, Resigned)

_LEGAL = frozenset((move.origin, move.target) for move in MOVES)


class Quorum:
    """Holds the state, and changes it."""

    def __init__(
        self,
        local: LocalNode,
        config: QuorumConfig,
        control: ControlState,
        random: Randomness,
        emit: Callable[[Effect], None],
    ) -> None:
        self.local = local
        self.config = config
        self.control = control
        self._random = random
        self._emit = emit
        self.state: State = Unattached(0, election_deadline_ms=NEVER_MS)
        self._persisted: Persist | None = None

    @property
    def epoch(self) -> int:
        return self.state.epoch

    def turn_ms(self, leader_id: int) -> int:
        """Delay before an election: followers lose their leader at the same time, and simultaneous candidates split the
        votes. They take turns instead, half a grace apart, in the order of their ids, down from the leader's."""
        ids = sorted(self.control.voters.ids, reverse=True)
        order = [voter_id for voter_id in ids if voter_id < leader_id] + [
            voter_id for voter_id in ids if voter_id > leader_id
        ]
        turn = order.index(self.local.id) if self.local.id in order else 0
        return turn * self.config.disconnect_grace_ms // 2

    def doubt_leader(self, now_ms: int) -> None:
        """Doubt a leader whose process does not run: start an election soon, but let the others notice it first."""
        state = self.state
        assert isinstance(state, Follower)
        state.doubt_leader(now_ms + self.config.disconnect_grace_ms // 2 + self.turn_ms(state.leader_id))

    @property
    def is_voter(self) -> bool:
        key = self.local.key
        return key is not None and self.control.voters.is_voter(key)

    @property
    def may_stand(self) -> bool:
        """Return whether this replica may start an election: as a voter, or as one that the last record in our log
        removes, as long as we do not know that it is committed. Its voters may lack that record, and then nobody else
        could be elected: their logs are behind ours. Elected, we commit it and resign."""
        key, entry, before = self.local.key, self.control.voters_entry, self.control.voters_before
        if key is None or self.is_voter or entry is None or before is None:
            return self.is_voter
        return entry[0] >= (self.state.high_watermark or 0) and before.is_voter(key)

    @property
    def is_only_voter(self) -> bool:
        key = self.local.key
        return key is not None and self.control.voters.is_only_voter(key)

    @property
    def local_key(self) -> ReplicaKey:
        key = self.local.key
        check(key is not None, "a replica without an id votes for nobody and leads nothing")
        assert key is not None
        return key

    @property
    def local_voter(self) -> Voter:
        return Voter(self.local_key, self.local.endpoints, self.local.kraft_versions)

    def initialize(self, stored: ElectionState | None, log_end: OffsetAndEpoch, now_ms: int) -> None:
        """Start in the state in which the last process ended."""
        election = stored or ElectionState(0)
        state = self._initial_state(election, log_end, now_ms)
        check(type(state) in INITIAL, f"a replica does not begin as {state}")
        self.state = state
        self._persist()

    def _initial_state(self, election: ElectionState, log_end: OffsetAndEpoch, now_ms: int) -> State:
        key, deadline_ms = self.local.key, self._election_deadline_ms(now_ms)
        check(key is not None or election.voted_key is None, "quorum-state has a vote, but this replica has no id")
        if election.epoch < log_end.epoch:
            return Unattached(log_end.epoch, election_deadline_ms=deadline_ms)
        if key is not None and election.leader_id == key.id:
            return self._resigned(election.epoch, (), deadline_ms, None)
        if key is not None and election.voted_key is not None and election.voted_key.covers(key):
            return Candidate(
                election.epoch,
                key,
                votes=EpochElection(self.control.voters, key.id),
                election_deadline_ms=deadline_ms,
                high_watermark=None,
            )
        if election.leader_id is not None:
            endpoints = self.control.voters.endpoints(election.leader_id)
            if endpoints:
                return self._follower(election.epoch, election.leader_id, endpoints, election.voted_key, None, now_ms)
        return Unattached(
            election.epoch,
            leader_id=election.leader_id,
            voted_key=election.voted_key,
            election_deadline_ms=deadline_ms if self.may_stand else NEVER_MS,
        )

    def to_unattached(self, epoch: int, leader_id: int | None, now_ms: int) -> None:
        """Become unattached, in a later epoch or, from Prospective, in the same one."""
        same = epoch == self.epoch
        check(epoch > self.epoch or (same and isinstance(self.state, Prospective)), f"{self.state}, not {epoch}")
        self._move(
            Unattached(
                epoch,
                leader_id=leader_id,
                voted_key=self.state.voted_key if same else None,
                election_deadline_ms=self._unattached_deadline_ms(now_ms),
                high_watermark=self.state.high_watermark,
            )
        )
        self._persist()

    def _unattached_deadline_ms(self, now_ms: int) -> int:
        """Return the election deadline. Time that has passed in the previous state counts."""
        state = self.state
        if not self.may_stand:
            return NEVER_MS
        if isinstance(state, Prospective) and state.votes.is_rejected:
            return self._election_deadline_ms(now_ms)
        if isinstance(state, Candidate | Unattached | Prospective | Resigned) and state.election_deadline_ms < NEVER_MS:
            return state.election_deadline_ms
        return self._election_deadline_ms(now_ms)

    def add_vote(self, candidate: ReplicaKey, now_ms: int) -> None:
        """Grant the vote of this epoch. The candidate is at least as up to date: the election timeout restarts."""
        state = self.state
        check(state.voted_key is None, f"{state} cannot vote for {candidate}")
        check(candidate.id != self.local_key.id, "a vote for ourselves is not granted but taken")
        deadline_ms = self._election_deadline_ms(now_ms)
        if isinstance(state, Prospective):
            self._move(self._prospective(candidate, deadline_ms))
        else:
            self._move(
                Unattached(
                    state.epoch,
                    leader_id=state.leader_id,
                    voted_key=candidate,
                    election_deadline_ms=deadline_ms,
                    high_watermark=state.high_watermark,
                )
            )
        self._persist()

    def to_follower(self, epoch: int, leader_id: int, endpoints: Endpoints, now_ms: int) -> None:
        state, same = self.state, epoch == self.epoch
        check(bool(endpoints), f"no listener of the leader {leader_id} of epoch {epoch} is known")
        check(leader_id != self.local.id, f"we cannot follow ourselves in epoch {epoch}")
        check(epoch >= state.epoch, f"{state} cannot go back to epoch {epoch}")
        if same:
            check(not isinstance(state, Leader), f"{state} cannot follow {leader_id} in its own epoch")
            check(
                not isinstance(state, Follower) or len(endpoints) > len(state.leader_endpoints),
                f"{state} learns nothing new about {leader_id}",
            )
        voted_key = state.voted_key if same else None
        self._move(self._follower(epoch, leader_id, endpoints, voted_key, state.high_watermark, now_ms))
        self._persist()

    def to_prospective(self, now_ms: int) -> None:
        """Become prospective. The quorum state file does not change."""
        check(self.may_stand, f"{self.local_key} is no voter of {self.control.voters}")
        self._move(self._prospective(self.state.voted_key, self._election_deadline_ms(now_ms)))

    def to_candidate(self, now_ms: int) -> None:
        check(self.may_stand, f"{self.local_key} is no voter of {self.control.voters}")
        self._move(
            Candidate(
                self.epoch + 1,
                self.local_key,
                votes=EpochElection(self.control.voters, self.local_key.id),
                election_deadline_ms=self._election_deadline_ms(now_ms),
                high_watermark=self.state.high_watermark,
            )
        )
        self._persist()

    def to_leader(self, epoch_start_offset: int, now_ms: int) -> Leader:
        state = self.state
        check(isinstance(state, Candidate) and state.votes.is_granted, f"{state} is not elected")
        assert isinstance(state, Candidate)
        config = self.config
        leader = Leader(
            state.epoch,
            self.local_voter,
            epoch_start_offset=epoch_start_offset,
            voters=self.control.voters,
            granting_voters=state.votes.granting,
            accumulator=Accumulator(
                state.epoch,
                epoch_start_offset,
                linger_ms=config.append_linger_ms,
                max_batch_bytes=config.max_batch_bytes,
                max_waiting_batches=config.max_waiting_batches,
            ),
            fetch_timeout_ms=config.fetch_timeout_ms,
            now_ms=now_ms,
        )
        self._move(leader)
        self._persist()
        return leader

    def to_resigned(self, preferred_successors: tuple[ReplicaKey, ...], now_ms: int) -> None:
        """Become resigned. The quorum state file does not change: a leader that restarts is resigned anyway."""
        high_watermark = self.state.high_watermark
        self._move(self._resigned(self.epoch, preferred_successors, self._election_deadline_ms(now_ms), high_watermark))

    def _move(self, target: State) -> None:
        origin = self.state
        check((type(origin), type(target)) in _LEGAL, f"there is no move from {origin} to {target}")
        check(target.epoch >= origin.epoch, f"the epoch goes back from {origin} to {target}")
        if isinstance(origin, Follower):
            origin.set_snapshot(None)
        self.state = target

    def _persist(self) -> None:
        """Persist the election state, unless the file has it already."""
        persist = Persist(self.state.election(self.control.voters.ids), data_version(self.control.kraft_version))
        if persist != self._persisted:
            self._persisted = persist
            self._emit(persist)

    def _election_deadline_ms(self, now_ms: int) -> int:
        """Return a random election deadline, so that voters do not become candidates at the same time."""
        timeout_ms = self.config.election_timeout_ms
        return now_ms + timeout_ms + (self._random.randrange(timeout_ms) if timeout_ms else 0)

    def _prospective(self, voted_key: ReplicaKey | None, deadline_ms: int) -> Prospective:
        state = self.state
        return Prospective(
            state.epoch,
            votes=EpochElection(self.control.voters, self.local_key.id),
            election_deadline_ms=deadline_ms,
            leader_id=state.leader_id,
            leader_endpoints=state.leader_endpoints,
            voted_key=voted_key,
            high_watermark=state.high_watermark,
            doubts_leader=isinstance(state, Follower) and state.doubts_leader,
        )

    def _follower(
        self,
        epoch: int,
        leader_id: int,
        endpoints: Endpoints,
        voted_key: ReplicaKey | None,
        high_watermark: int | None,
        now_ms: int,
    ) -> Follower:
        return Follower(
            epoch,
            leader_id=leader_id,
            leader_endpoints=endpoints,
            voted_key=voted_key,
            high_watermark=high_watermark,
            fetch_timeout_ms=self.config.fetch_timeout_ms + self.turn_ms(leader_id),
            now_ms=now_ms,
        )

    def _resigned(
        self, epoch: int, successors: tuple[ReplicaKey, ...], deadline_ms: int, high_watermark: int | None
    ) -> Resigned:
        return Resigned(
            epoch,
            self.local_key.id,
            endpoints=self.local.endpoints,
            voter_ids=self.control.voters.ids,
            preferred_successors=successors,
            election_deadline_ms=deadline_ms,
            high_watermark=high_watermark,
        )
