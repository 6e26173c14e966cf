"""Bugs to plant in the quorum, to see that the simulator's checks find them.

Each is a mistake that somebody might make: a check left out, two lines in the wrong order, a rule of Raft forgotten.
Planting one patches the real code for as long as it is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from odradek.raft.effects import Flush, LeaderChange, Persist
from odradek.raft.raft import Raft
from odradek.raft.roles.follower_replication import FollowerReplication
from odradek.raft.roles.leader_replication import LeaderReplication
from odradek.raft.roles.role_changes import RoleChanges
from odradek.raft.roles.voter_changes import VoterChanges
from odradek.raft.states import prospective, transitions, unattached
from odradek.raft.states.candidate import Candidate
from odradek.raft.states.leader import Leader
from odradek.raft.states.transitions import Quorum
from odradek.raft.states.vote_count import EpochElection
from odradek.raft.storage.commit_listener import CommitListener
from odradek.raft.storage.raft_log import Fit, Validity
from odradek.raft.values import OffsetAndEpoch
from odradek.sim.raft.log import SimulatedRaftLog
from odradek.sim.raft.node import SimulatedNode

_SWARM = ("swarm",)


@dataclass(frozen=True, slots=True)
class Bug:
    """`simulations`: where to look for it."""

    patches: tuple[tuple[Any, str, Any], ...]
    simulations: tuple[str, ...] = _SWARM

    @contextmanager
    def planted(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, replacement in self.patches:
                stack.enter_context(patch.object(owner, name, replacement))
            yield


def _skip(*arguments: object) -> None:
    """Do nothing where something should be done."""


def _persist_without_vote(node: SimulatedNode, effect: Persist) -> None:
    node.election = effect.election._replace(voted_key=None)
    node.cluster.ledger.persisted(node, effect.election)
    if effect.election.voted_key is not None:
        node.cluster.on_vote(node)


def _grant_again(state: Any, candidate: Any, up_to_date: bool, pre_vote: bool) -> bool:
    return up_to_date


def _grant_to_shorter(state: Any, candidate: Any, up_to_date: bool, pre_vote: bool) -> bool:
    if pre_vote:
        return True
    return state.voted_key.covers(candidate) if state.voted_key is not None else state.leader_id is None


def _high_watermark(index: Callable[[Leader], int], respects_epoch: bool) -> Callable[[Leader], bool]:
    def advance(leader: Leader) -> bool:
        offset = leader._by_progress()[index(leader)].end_offset
        if offset is None or (respects_epoch and offset <= leader.epoch_start_offset):
            return False
        if leader.high_watermark is not None and offset <= leader.high_watermark:
            return False
        leader.high_watermark = offset
        return True

    return advance


def _commit_at_once(raft: Raft) -> bool:
    log, listener = raft._context.log, raft._listener
    high_watermark = log.end_offset if raft.is_leader else raft.high_watermark
    if high_watermark is not None and raft.is_leader:
        log.update_high_watermark(high_watermark)
    more = high_watermark is not None and listener.advance(log, high_watermark)
    listener.maybe_leader_change(raft.state)
    return more


_become_unattached = RoleChanges.become_unattached


def _ignore_later_epochs(role_changes: RoleChanges, epoch: int, leader_id: int | None = None) -> None:
    if epoch == role_changes._quorum.epoch:
        _become_unattached(role_changes, epoch, leader_id)


def _always_valid(leader: LeaderReplication, partition: Any) -> Validity:
    offset = min(partition.fetch_offset, leader._log.end_offset)
    partition.fetch_offset = max(offset, leader._log.start_offset)
    return Validity(Fit.VALID, OffsetAndEpoch(partition.last_fetched_epoch, partition.fetch_offset))


def _unbounded_high_watermark(follower: FollowerReplication, state: Any, high_watermark: int) -> None:
    if high_watermark >= 0 and (state.high_watermark or 0) <= high_watermark:
        state.update_high_watermark(high_watermark)


def _stand_in_same_epoch(quorum: Quorum, now_ms: int) -> None:
    quorum._move(
        Candidate(
            quorum.epoch,
            quorum.local_key,
            votes=EpochElection(quorum.control.voters, quorum.local_key.id),
            election_deadline_ms=quorum._election_deadline_ms(now_ms),
            high_watermark=quorum.state.high_watermark,
        )
    )
    quorum._persist()


_initial_state = Quorum._initial_state
_prospective = Quorum._prospective


def _initial_without_vote(quorum: Quorum, election: Any, log_end: Any, now_ms: int) -> Any:
    return _initial_state(quorum, election._replace(voted_key=None), log_end, now_ms)


def _initial_without_leadership(quorum: Quorum, election: Any, log_end: Any, now_ms: int) -> Any:
    leader_id = None if election.leader_id == quorum.local.id else election.leader_id
    return _initial_state(quorum, election._replace(leader_id=leader_id), log_end, now_ms)


def _prospective_without_vote(quorum: Quorum, voted_key: Any, deadline_ms: int) -> Any:
    return _prospective(quorum, None if quorum.state.voted_key == voted_key else voted_key, deadline_ms)


def _append_and_count_before_flush(replication: LeaderReplication, leader: Leader) -> None:
    context = replication._context
    for batch in leader.accumulator.drain():
        context.log.append_as_leader(batch.data, leader.epoch)
        replication._listener.retain(leader.epoch, batch)
    context.control.update()
    if leader.update_local(context.log.end_offset, context.voters):
        replication._handle_high_watermark(leader)
    replication._complete(replication._waiting.take_before(context.log.end_offset))
    context.outbox.emit(Flush())


def _append_without_flush(follower: FollowerReplication, partition: Any) -> None:
    if partition.records:
        context = follower._context
        context.log.append_as_follower(partition.records, context.epoch)
        context.control.update()


def _change_at_any_time(voter_changes: VoterChanges, leader: Leader) -> Any:
    voter_changes._pending = None
    return voter_changes._context.voters


def _count_old_voters(leader: Leader, end_offset: int, voters: Any) -> bool:
    leader.voters[leader.local.key.id].end_offset = end_offset
    return leader._maybe_advance_high_watermark()


def _delete_too_much(log: SimulatedRaftLog, snapshot_id: OffsetAndEpoch) -> bool:
    if snapshot_id.offset <= log.start_offset:
        return False
    gone = [entry for entry in log.entries if entry.next_offset <= snapshot_id.offset + 1]
    log._start_chain, log.start_offset = gone[-1].chain, gone[-1].next_offset
    log.entries, log._ends = log.entries[len(gone) :], log._ends[len(gone) :]
    log._snapshots = {key: data for key, data in log._snapshots.items() if key >= snapshot_id}
    log.flush()
    return True


def _lead_before_catching_up(listener: CommitListener, state: Any) -> None:
    leader, known = state.leader_and_epoch, listener._leader
    if leader.epoch > known.epoch or (known.leader_id is None and leader.leader_id is not None):
        listener._leader = leader
        listener._emit(LeaderChange(leader))


def _snapshot_without_voters(control: Any, offset: int) -> None:
    return None


BUGS: dict[str, Bug] = {
    "the log is never synced": Bug(((SimulatedNode, "flush", _skip),)),
    "votes are not written down": Bug(((SimulatedNode, "persist", _persist_without_vote),)),
    "two votes in one epoch": Bug(
        ((unattached, "undecided_grants", _grant_again), (prospective, "undecided_grants", _grant_again))
    ),
    "a vote for a shorter log": Bug(
        ((unattached, "undecided_grants", _grant_to_shorter), (prospective, "undecided_grants", _grant_to_shorter))
    ),
    "the high watermark is that of the fastest": Bug(
        ((Leader, "_maybe_advance_high_watermark", _high_watermark(lambda leader: 0, True)),)
    ),
    "the high watermark is one replica short of a majority": Bug(
        (
            (
                Leader,
                "_maybe_advance_high_watermark",
                _high_watermark(lambda leader: max(0, len(leader.voters) // 2 - 1), True),
            ),
        )
    ),
    "earlier epochs are committed without a record of this one": Bug(
        ((Leader, "_maybe_advance_high_watermark", _high_watermark(lambda leader: len(leader.voters) // 2, False)),)
    ),
    "committed as soon as it is written": Bug(((Raft, "_advance_listener", _commit_at_once),)),
    "later epochs are ignored": Bug(((RoleChanges, "become_unattached", _ignore_later_epochs),)),
    "diverging logs are not noticed": Bug(((LeaderReplication, "_validity", _always_valid),)),
    "diverging logs are not truncated": Bug(((FollowerReplication, "_truncate", _skip),)),
    "a follower's high watermark is beyond its log": Bug(
        ((FollowerReplication, "_update_high_watermark", _unbounded_high_watermark),)
    ),
    "a candidate stays in its epoch": Bug(((Quorum, "to_candidate", _stand_in_same_epoch),)),
    "a restart forgets the vote": Bug(((Quorum, "_initial_state", _initial_without_vote),)),
    "a restart forgets that it led": Bug(((Quorum, "_initial_state", _initial_without_leadership),)),
    "asking for pre-votes forgets the vote": Bug(((Quorum, "_prospective", _prospective_without_vote),)),
    "half of the voters elect": Bug(
        ((EpochElection, "majority_size", property(lambda election: max(1, len(election._voters) // 2))),)
    ),
    "the leader counts itself before it has synced": Bug(
        ((LeaderReplication, "_append", _append_and_count_before_flush),)
    ),
    "a follower fetches on before it has synced": Bug(((FollowerReplication, "_append", _append_without_flush),)),
    "voters change while another change is under way": Bug(
        ((VoterChanges, "_changeable_voters", _change_at_any_time),), ("swarm", "change_voters")
    ),
    "new voters do not count until they are committed": Bug(
        ((Leader, "update_local", _count_old_voters),), ("change_voters",)
    ),
    "the log is cleaned beyond its snapshot": Bug(
        ((SimulatedRaftLog, "delete_before_snapshot", _delete_too_much),), ("progress_with_a_majority",)
    ),
    "a leader decides before it has caught up": Bug(
        ((CommitListener, "maybe_leader_change", _lead_before_catching_up),)
    ),
    "snapshots lack the voters": Bug(
        ((transitions.ControlState, "voters_at", _snapshot_without_voters),), ("change_voters",)
    ),
}
