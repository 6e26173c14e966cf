"""Who is in sync, as the controller has committed it and as the leader has asked for it.

The leader never changes the ISR by itself: it asks the controller, and until the answer is there the state is pending.
In between neither the old nor the new ISR is known to hold, so the high watermark waits for both: `maximal` counts a
replica that may already be in, and one that may already be out. For `min.insync.replicas` of an append, only what is
committed counts (KIP-497).
"""

from __future__ import annotations

from typing import NamedTuple

from odradek.metadata.image.partition_registration import Ids, LeaderRecoveryState
from odradek.protocol.messages.alter_partition_request import BrokerState


class IsrState(NamedTuple):
    """`isr` is what is committed. `pending` is None, or what was asked for, along with the epochs it was decided at."""

    isr: Ids
    maximal: Ids
    pending: PendingIsr | None = None
    recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED

    @property
    def is_inflight(self) -> bool:
        return self.pending is not None


class PendingIsr:
    """An ISR that was asked for. Compared by identity: the answer to another request is not for this one."""

    __slots__ = ("isr", "leader_epoch", "partition_epoch", "with_epochs")

    def __init__(self, isr: Ids, with_epochs: list[BrokerState], leader_epoch: int, partition_epoch: int) -> None:
        self.isr = isr
        self.with_epochs = with_epochs
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch

    def __repr__(self) -> str:
        return f"PendingIsr({self.isr}, leader epoch {self.leader_epoch}, partition epoch {self.partition_epoch})"


NO_ISR = IsrState((), ())


def committed(isr: Ids, recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED) -> IsrState:
    return IsrState(isr, isr, None, recovery)


def pending(state: IsrState, asked: PendingIsr) -> IsrState:
    """Shrinking leaves the maximal ISR as it is; expanding adds to it."""
    added = tuple(replica for replica in asked.isr if replica not in state.isr)
    return IsrState(state.isr, state.isr + added, asked, state.recovery)


def rolled_back(state: IsrState) -> IsrState:
    """The controller refused for good: what was committed holds."""
    return committed(state.isr, state.recovery)
