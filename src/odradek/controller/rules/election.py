"""Rules of a leader election, of eligible leader replicas (KIP-966), and of the end of a reassignment (KIP-455).

* A clean leader is in the ISR, or in the ELR if the ISR is empty.
* The last known leader may be elected if both ISR and ELR are empty, and only then.
* An unclean leader is any live replica; only an election that allows it considers those. Data may be lost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from odradek.metadata.image.partition_registration import NO_LEADER


class Election(Enum):
    #: Elects the preferred replica if it can lead; used by leader balancing.
    PREFERRED = "preferred"
    #: Keeps the leader if it can lead.
    ONLINE = "online"
    #: Like ONLINE, but elects a stale leader rather than none.
    UNCLEAN = "unclean"


class ElectedLeader(NamedTuple):
    leader: int
    is_unclean: bool = False


@dataclass(frozen=True, slots=True)
class ElectionCandidates:
    """Replicas of a partition as an election considers them."""

    leader: int
    replicas: Sequence[int]
    isr: Sequence[int]
    elr: Sequence[int]
    last_known_elr: Sequence[int]
    is_elr_enabled: bool
    #: Returns whether a broker is alive, not stopping, and has the replica's directory online.
    is_acceptable: Callable[[int], bool]

    def elect(self, election: Election) -> ElectedLeader:
        candidates = [self.leader, *self.replicas]
        if election is Election.PREFERRED:
            candidates.insert(0, self.replicas[0])
        for replica in candidates:
            if replica != NO_LEADER and self.is_valid_leader(replica):
                return ElectedLeader(replica)
        if self._may_elect_last_known_leader():
            return ElectedLeader(self.last_known_elr[0], is_unclean=True)
        if election is Election.UNCLEAN:
            for replica in self.replicas:
                if self.is_acceptable(replica):
                    return ElectedLeader(replica, is_unclean=True)
        return ElectedLeader(NO_LEADER)

    def is_valid_leader(self, replica: int) -> bool:
        eligible = replica in self.isr or (not self.isr and replica in self.elr)
        return eligible and self.is_acceptable(replica)

    def _may_elect_last_known_leader(self) -> bool:
        if not self.is_elr_enabled or self.elr or self.isr or len(self.last_known_elr) != 1:
            return False
        last = self.last_known_elr[0]
        return last in self.replicas and self.is_acceptable(last)


def eligible_leader_replicas(
    candidates: Sequence[int],
    replicas: Sequence[int],
    isr: Sequence[int],
    min_isr: int,
    unclean_shutdown_replicas: Sequence[int],
) -> list[int]:
    """Return the ELR beside a new ISR. `candidates` are the previous ISR and ELR.

    A replica that leaves an ISR below min.insync.replicas has all acknowledged records, so it stays eligible, unless it
    stopped uncleanly.
    """
    if len(isr) >= min_isr:
        return []
    return [
        replica
        for replica in sorted({*candidates})
        if replica not in isr and replica not in unclean_shutdown_replicas and replica in replicas
    ]


class CompletedReassignment(NamedTuple):
    replicas: list[int]
    isr: list[int]


def completed_reassignment(
    replicas: Sequence[int], removing: Sequence[int], adding: Sequence[int], isr: Sequence[int]
) -> CompletedReassignment | None:
    """Return the result of a reassignment if every added replica is in sync; None while it goes on.

    If the number of replicas shrinks, all that stay must be in sync: completing earlier would shrink the ISR
    needlessly.
    """
    if not removing and not adding:
        return None
    new_isr = [replica for replica in isr if replica not in removing]
    new_replicas = [replica for replica in replicas if replica not in removing]
    if removing and not (new_isr and new_replicas):
        return None
    if any(replica not in new_isr for replica in adding):
        return None
    if len(adding) < len(removing) and any(replica not in new_isr for replica in new_replicas):
        return None
    return CompletedReassignment(new_replicas, new_isr)
