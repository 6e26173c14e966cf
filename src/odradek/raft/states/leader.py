"""Leader: writes the log of its epoch, and derives the progress of the other replicas from their fetches.

The high watermark is what a majority of the voters has on disk, the leader's own synced log being one of them. Records
of earlier epochs are not committed until a record of this epoch is: a later leader could still remove them. A leader
that a majority has not fetched from for one and a half fetch time-outs resigns (check-quorum), because another replica
may lead already.
"""

from typing import ClassVar

from odradek.raft.states.replica_progress import LONG_AGO_MS, ReplicaProgress
from odradek.raft.states.state import State
from odradek.raft.storage.batch_accumulator import Accumulator
from odradek.raft.values import NEVER_MS, NO_ENDPOINTS, ReplicaKey
from odradek.raft.voters import Voter, VoterSet

#: An observer that has not fetched for this long is no longer counted as one.
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
        """Start without a high watermark: that of an earlier state may be ahead of what this leader can prove."""
        super().__init__(epoch, leader_id=local.key.id, leader_endpoints=local.endpoints)
        self.local = local
        self.epoch_start_offset = epoch_start_offset
        self.granting_voters = granting_voters
        self.accumulator = accumulator
        self.voters: dict[int, ReplicaProgress] = {
            voter.key.id: ReplicaProgress(voter.key, voter.endpoints) for voter in voters
        }
        self._observers: dict[ReplicaKey, ReplicaProgress] = {}
        self._fetched_voters: set[int] = set()
        self._check_quorum_ms = fetch_timeout_ms * 3 // 2
        self._check_quorum_deadline_ms = now_ms + self._check_quorum_ms
        self._begin_epoch_interval_ms = fetch_timeout_ms // 2
        #: When to send the next BeginQuorumEpoch requests.
        self.begin_epoch_at_ms = now_ms
        self.resign_requested = False

    @property
    def check_quorum_deadline_ms(self) -> int:
        return NEVER_MS if len(self.voters) == 1 else self._check_quorum_deadline_ms

    def request_resignation(self) -> None:
        """Let the next poll resign."""
        self.resign_requested = True

    def schedule_begin_epoch(self, now_ms: int) -> None:
        """Plan the next BeginQuorumEpoch requests, after those of `now_ms`."""
        self.begin_epoch_at_ms = now_ms + max(1, self._begin_epoch_interval_ms)

    def progress_of(self, key: ReplicaKey) -> ReplicaProgress | None:
        voter = self.voters.get(key.id)
        return voter if voter is not None and voter.key.covers(key) else self._observers.get(key)

    def observers(self, now_ms: int) -> list[ReplicaProgress]:
        """Return the observers whose last fetch is recent, and drop the others."""
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
        """Record that the local log is on disk up to `end_offset` and contains these voters. Return whether the high
        watermark advanced."""
        self._update_voters(voters)
        self._get_or_create(self.local.key).record_append(end_offset)
        return self._maybe_advance_high_watermark()

    def update_replica(self, key: ReplicaKey, now_ms: int, fetch_offset: int) -> bool:
        """Record that a replica fetches from `fetch_offset`, so it has everything before. Return whether the high
        watermark advanced."""
        if key.id < 0:
            return False
        replica = self._get_or_create(key)
        replica.record_fetch(now_ms, fetch_offset, self._get_or_create(self.local.key).end_offset)
        self.record_contact(key, now_ms)
        return self._is_voter(key) and self._maybe_advance_high_watermark()

    def record_contact(self, key: ReplicaKey, now_ms: int) -> None:
        """Restart the check-quorum time-out once a majority, the leader included if it is a voter, has fetched."""
        if self._is_voter(key):
            self._fetched_voters.add(key.id)
        needed = len(self.voters) // 2 + 1 - (self.local.key.id in self.voters)
        if len(self._fetched_voters) >= needed:
            self._fetched_voters.clear()
            self._check_quorum_deadline_ms = now_ms + self._check_quorum_ms

    def successors(self) -> tuple[ReplicaKey, ...]:
        """Return the other voters, those with the most of the log first."""
        return tuple(voter.key for voter in self._by_progress() if voter.key.id != self.local.key.id)

    def voters_to_begin_epoch(self, now_ms: int) -> list[ReplicaKey]:
        """Return the voters without a recent fetch, which may not know this leader."""
        return [
            voter.key
            for voter in self.voters.values()
            if voter.key.id != self.local.key.id and now_ms - voter.last_fetch_ms >= self._begin_epoch_interval_ms
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
        """Return whether the high watermark advanced. After voters were added the majority may be behind it; it stays
        where it is until they have caught up."""
        majority_offset = self._by_progress()[len(self.voters) // 2].end_offset
        if majority_offset is None or majority_offset <= self.epoch_start_offset:
            return False
        if self.high_watermark is not None and majority_offset <= self.high_watermark:
            return False
        self.high_watermark = majority_offset
        return True

    def _update_voters(self, voters: VoterSet) -> None:
        """Move replicas between voters and observers; they keep their progress."""
        before = self.voters
        if tuple(before) == voters.ids and all(before[voter.key.id].key == voter.key for voter in voters):
            for voter in voters:
                before[voter.key.id].set_voter(voter.key, voter.endpoints)
            return
        self.voters = {}
        for voter in voters:
            replica = self._observers.pop(voter.key, None)
            previous = before.get(voter.key.id)
            if previous is not None and previous.key.covers(voter.key):
                replica = before.pop(voter.key.id)
            replica = replica or ReplicaProgress(voter.key, voter.endpoints)
            replica.set_voter(voter.key, voter.endpoints)
            self.voters[voter.key.id] = replica
        for replica in before.values():
            replica.set_observer()
            self._observers.setdefault(replica.key, replica)
