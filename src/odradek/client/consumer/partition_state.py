"""Position and fetch state of a consumer in one partition. Pure.

A partition begins INITIALIZING, without a position: the committed offset is asked for, and where there is none it goes
to AWAIT_RESET. Only FETCHING fetches. A position whose leader has changed is in AWAIT_VALIDATION until the new leader
has said that the records up to it are the same (KIP-320); without epochs there is nothing to compare and the step is
left out.

`generation` rises whenever the position jumps (seek, reset, truncation), its leader changes or the partition is given
up, never while records are handed out: what was fetched under an older one is dropped.
"""

from enum import Enum
from typing import NamedTuple

from odradek.client.net.metadata_cache import LeaderAndEpoch
from odradek.client.settings.settings import OffsetReset
from odradek.common.failures import check


class FetchState(Enum):
    INITIALIZING = "initializing"
    FETCHING = "fetching"
    AWAIT_RESET = "await reset"
    AWAIT_VALIDATION = "await validation"


class FetchPosition(NamedTuple):
    """`offset_epoch` is that of the last record consumed, `leader` the one that this is the position at."""

    offset: int
    offset_epoch: int | None = None
    leader: LeaderAndEpoch | None = None


class PartitionState:
    __slots__ = (
        "generation",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "next_retry_ms",
        "paused",
        "pending_assigned_callback",
        "pending_revocation",
        "position",
        "preferred_read_replica",
        "preferred_until_ms",
        "reset",
        "state",
    )

    def __init__(self) -> None:
        self.state = FetchState.INITIALIZING
        self.position: FetchPosition | None = None
        self.generation = 0
        self.paused = False
        self.pending_revocation = False
        self.pending_assigned_callback = False
        self.high_watermark: int | None = None
        self.last_stable_offset: int | None = None
        self.log_start_offset: int | None = None
        self.reset: OffsetReset | None = None
        self.next_retry_ms = 0.0
        self.preferred_read_replica: int | None = None
        self.preferred_until_ms = 0.0

    @property
    def has_valid_position(self) -> bool:
        return self.state is FetchState.FETCHING

    @property
    def is_fetchable(self) -> bool:
        return (
            self.state is FetchState.FETCHING
            and not self.paused
            and not self.pending_revocation
            and not self.pending_assigned_callback
        )

    def is_due(self, state: FetchState, now_ms: float) -> bool:
        """Return whether the partition is in this state and its next request is due."""
        return self.state is state and now_ms >= self.next_retry_ms

    def seek(self, position: FetchPosition) -> None:
        """A jump. It is validated first where the position has an epoch and a leader with one."""
        self.generation += 1
        self.reset = None
        self._set_position(position)

    def seek_validated(self, position: FetchPosition) -> None:
        self.generation += 1
        self.reset = None
        self.position, self.state, self.next_retry_ms = position, FetchState.FETCHING, 0.0

    def advance(self, position: FetchPosition) -> None:
        """Records were handed out."""
        check(self.has_valid_position, "no records are handed out without a valid position")
        self.position = position

    def await_reset(self, reset: OffsetReset) -> None:
        self.generation += 1
        self.state, self.position = FetchState.AWAIT_RESET, None
        self.reset, self.next_retry_ms = reset, 0.0

    def restart(self) -> None:
        """Return to the state of a partition that was just assigned."""
        self.generation += 1
        self.state, self.position, self.reset, self.next_retry_ms = FetchState.INITIALIZING, None, None, 0.0

    def meet_leader(self, leader: LeaderAndEpoch) -> None:
        """The metadata has a leader for it; another than the position's makes it be validated."""
        position = self.position
        if position is None or self.state is FetchState.AWAIT_RESET or position.leader == leader:
            return
        self.preferred_read_replica = None
        self.generation += 1
        self._set_position(position._replace(leader=leader))

    def complete_validation(self) -> None:
        if self.state is FetchState.AWAIT_VALIDATION:
            self.state, self.next_retry_ms = FetchState.FETCHING, 0.0

    def preferred_replica(self, now_ms: float) -> int | None:
        if self.preferred_read_replica is not None and now_ms > self.preferred_until_ms:
            self.preferred_read_replica = None
        return self.preferred_read_replica

    def prefer_replica(self, node_id: int, until_ms: float) -> None:
        """The same one again does not prolong it: the leader is asked anew once metadata.max.age.ms is over."""
        if self.preferred_read_replica != node_id:
            self.preferred_read_replica, self.preferred_until_ms = node_id, until_ms

    def _set_position(self, position: FetchPosition) -> None:
        has_epochs = position.offset_epoch is not None and position.leader is not None and position.leader.epoch >= 0
        self.state = FetchState.AWAIT_VALIDATION if has_epochs else FetchState.FETCHING
        self.position, self.next_retry_ms = position, 0.0
