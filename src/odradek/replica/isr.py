"""The in-sync replicas as the controller has committed them, and the change that the leader has requested.

The leader never changes the ISR by itself: it sends a request to the controller, and until the response arrives the
change is pending. In between neither the old nor the new ISR is known to hold, so the high watermark waits for both:
`maximal` includes a replica that may already be in, and one that may already be out. For `min.insync.replicas` of an
append only the committed ISR counts (KIP-497).
"""

from __future__ import annotations

from typing import NamedTuple

from odradek.metadata.image.partition_registration import Ids, LeaderRecoveryState
from odradek.protocol.messages.alter_partition_request import BrokerState


class IsrState(NamedTuple):
    """The committed `isr`; `pending` is the requested change, or None."""

    isr: Ids
    maximal: Ids
    pending: PendingIsr | None = None
    recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED

    @property
    def is_inflight(self) -> bool:
        return self.pending is not None


class PendingIsr:
    """A requested ISR with the epochs at which it was decided. Compared by identity: the response to another request
    does not apply to it."""

    __slots__ = ("isr", "leader_epoch", "partition_epoch", "with_epochs")

    def __init__(self, isr: Ids, with_epochs: list[BrokerState], leader_epoch: int, partition_epoch: int) -> None:
        self.isr = isr
        self.with_epochs = with_epochs
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch

    def __repr__(self) -> str:
        return f"PendingIsr({self.isr}, leader epoch {self.leader_epoch}, partition epoch {self.partition_epoch})"


def committed(isr: Ids, recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED) -> IsrState:
    """Return the state without a pending change."""
    return IsrState(isr, isr, None, recovery)


def pending(state: IsrState, requested: PendingIsr) -> IsrState:
    """Return the state while `requested` is pending. Shrinking keeps the maximal ISR; expanding adds to it."""
    added = tuple(replica for replica in requested.isr if replica not in state.isr)
    return IsrState(state.isr, state.isr + added, requested, state.recovery)


def rolled_back(state: IsrState) -> IsrState:
    """Return the state after the controller has rejected the pending change: the committed ISR holds."""
    return committed(state.isr, state.recovery)
