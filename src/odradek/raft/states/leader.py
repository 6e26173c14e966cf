"""Leader: writes the log of its epoch, and knows from the fetches of the others how far they have come.

The high watermark is what a majority of the voters has on disk, the leader's own synced log being one of them; but
nothing of earlier epochs counts until a record of this epoch is among it, or a later leader could still undo it. A
leader that a majority has not fetched from for one and a half fetch time-outs resigns (check-quorum): somebody else
may lead already.
"""

from typing import ClassVar

from odradek.common.failures import check
from odradek.raft.roles.pending_voter_change import VoterChange
from odradek.raft.states.replica_progress import LONG_AGO_MS, ReplicaProgress
from odradek.raft.states.state import State
from odradek.raft.storage.batch_accumulator import Accumulator
from odradek.raft.values import NEVER_MS, NO_ENDPOINTS, ReplicaKey
from odradek.raft.voters import Voter, VoterSet

#: An observer that has not fetched for so long is gone.
OBSERVER_SESSION_TIMEOUT_MS = 300_000

#: A replica that has caught up may become a voter if it has fetched within an hour.
CAUGHT_UP_FETCH_MS = 3_600_000


class Leader(State):
    name: ClassVar[str] = "Leader"

    leader_id: int

    def __init__(
        self,
        epoch: int,
        local: Voter,
        *,
        epoch_start_offset: int,
        voters: VoterSet,
        granting_voters: list[int],
        accumulator: Accumulator,
        fetch_timeout_ms: int,
        now_ms: int,
    ) -> None:
        """The high watermark of earlier states is forgotten: only one of this epoch is sure not to go back."""
        super().__init__(epoch, leader_id=local.key.id, leader_endpoints=local.endpoints)
        self.local = local
        self.epoch_start_offset = epoch_start_offset
        self.granting_voters = granting_voters
        self.accumulator = accumulator
        self.voters: dict[int, ReplicaProgress] = {
            voter.key.id: ReplicaProgress(voter.key, voter.endpoints, has_acknowledged=voter.key.covers(local.key))
            for voter in voters
        }
        self._observers: dict[ReplicaKey, ReplicaProgress] = {}
        self._fetched_voters: set[int] = set()
        self._check_quorum_ms = fetch_timeout_ms * 3 // 2
        self._check_quorum_deadline_ms = now_ms + self._check_quorum_ms
        self.begin_epoch_interval_ms = fetch_timeout_ms // 2
        self.begin_epoch_at_ms = now_ms
        self.resign_requested = False
        #: The change of voters that is under way; there is never a second one.
        self.voter_change: VoterChange | None = None
        #: While voters are static: what they have told us about themselves, for the day `kraft.version` is raised.
        self.told_voters: VoterSet | None = None
        #: The level of `kraft.version` that this leader has written, until the log says the same.
        self.requested_kraft_version: int | None = None

    @property
    def check_quorum_deadline_ms(self) -> int:
        return NEVER_MS if len(self.voters) == 1 else self._check_quorum_deadline_ms

    def progress_of(self, key: ReplicaKey) -> ReplicaProgress | None:
        voter = self.voters.get(key.id)
        return voter if voter is not None and voter.key.covers(key) else self._observers.get(key)

    def observers(self, now_ms: int) -> list[ReplicaProgress]:
        """Those that have fetched lately."""
        self._observers = {
            key: observer
            for key, observer in self._observers.items()
            if now_ms - observer.last_fetch_ms < OBSERVER_SESSION_TIMEOUT_MS or key == self.local.key
        }
        return list(self._observers.values())

    def has_caught_up(self, key: ReplicaKey, now_ms: int) -> bool:
        observer = self._observers.get(key)
        return (
            observer is not None
            and observer.caught_up_ms > LONG_AGO_MS
            and observer.last_fetch_ms > now_ms - CAUGHT_UP_FETCH_MS
        )

    def update_local(self, end_offset: int, voters: VoterSet) -> bool:
        """Our own log is on disk up to `end_offset`, and says that these are the voters. Whether more is committed."""
        self._update_voters(voters)
        mine = self._get_or_create(self.local.key)
        check(mine.end_offset is None or mine.end_offset <= end_offset, "the leader's log only grows")
        mine.end_offset = end_offset
        return self._maybe_advance_high_watermark()

    def update_replica(self, key: ReplicaKey, now_ms: int, fetch_offset: int) -> bool:
        """A replica fetches from `fetch_offset`: it has everything before. Whether more is committed."""
        if key.id < 0:
            return False
        replica = self._get_or_create(key)
        replica.fetched(now_ms, fetch_offset, self._get_or_create(self.local.key).end_offset)
        self.heard_from(key, now_ms)
        return self._is_voter(key) and self._maybe_advance_high_watermark()

    def heard_from(self, key: ReplicaKey, now_ms: int) -> None:
        """For check-quorum: the clock starts anew whenever a majority, with ourselves if we vote, has been heard."""
        if self._is_voter(key):
            self._fetched_voters.add(key.id)
        needed = len(self.voters) // 2 + 1 - (self.local.key.id in self.voters)
        if len(self._fetched_voters) >= needed:
            self._fetched_voters.clear()
            self._check_quorum_deadline_ms = now_ms + self._check_quorum_ms

    def successors(self) -> tuple[ReplicaKey, ...]:
        """The other voters, those first that have the most of the log."""
        return tuple(voter.key for voter in self._by_progress() if voter.key.id != self.local.key.id)

    def voters_to_begin_epoch(self, now_ms: int) -> list[ReplicaKey]:
        """Those that have not fetched lately, and so may not know that we lead."""
        return [
            voter.key
            for voter in self.voters.values()
            if voter.key.id != self.local.key.id and now_ms - voter.last_fetch_ms >= self.begin_epoch_interval_ms
        ]

    def can_grant_vote(self, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
        return False

    def _is_voter(self, key: ReplicaKey) -> bool:
        voter = self.voters.get(key.id)
        return voter is not None and voter.key.covers(key)

    def _get_or_create(self, key: ReplicaKey) -> ReplicaProgress:
        replica = self.progress_of(key)
        if replica is None:
            replica = self._observers[key] = ReplicaProgress(key, NO_ENDPOINTS)
        return replica

    def _by_progress(self) -> list[ReplicaProgress]:
        return sorted(self.voters.values(), key=lambda voter: voter.order)

    def _maybe_advance_high_watermark(self) -> bool:
        """A smaller value than before is no step back: it comes of a larger set of voters, and is waited out."""
        majority_offset = self._by_progress()[len(self.voters) // 2].end_offset
        if majority_offset is None or majority_offset <= self.epoch_start_offset:
            return False
        if self.high_watermark is not None and majority_offset <= self.high_watermark:
            return False
        self.high_watermark = majority_offset
        return True

    def _update_voters(self, voters: VoterSet) -> None:
        """Replicas move between voters and observers, and keep their progress."""
        before = self.voters
        if tuple(before) == voters.ids and all(before[voter.key.id].key == voter.key for voter in voters):
            for voter in voters:
                before[voter.key.id].endpoints = voter.endpoints
            return
        self.voters = {}
        for voter in voters:
            replica = self._observers.pop(voter.key, None)
            known = before.get(voter.key.id)
            if known is not None and known.key.covers(voter.key):
                replica = before.pop(voter.key.id)
            replica = replica or ReplicaProgress(voter.key, voter.endpoints)
            replica.key, replica.endpoints = voter.key, voter.endpoints
            self.voters[voter.key.id] = replica
        for replica in before.values():
            replica.endpoints = NO_ENDPOINTS
            self._observers.setdefault(replica.key, replica)
