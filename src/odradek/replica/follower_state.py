"""The progress of one follower, as its leader learns it from the follower's fetches.

A fetch at offset N means that the follower has everything below N. A follower is caught up when it fetches at the end
of the log; one that fetches at the end offset of its previous fetch was caught up at that time. That is how a follower
stays in sync under steady load, in which it never reaches the end.
"""

from __future__ import annotations

from odradek.log.offsets import OffsetMetadata

UNKNOWN_OFFSET = -1
_UNKNOWN_END = OffsetMetadata(UNKNOWN_OFFSET)
#: Longer ago than any lag that a setting allows.
_NEVER_MS = -(1 << 62)


class FollowerState:
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "log_end",
        "log_end_offset",
        "log_start_offset",
        "previous_fetch_ms",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log_start_offset = UNKNOWN_OFFSET
        self.log_end_offset = UNKNOWN_OFFSET
        #: The log end offset with its position in the leader's files.
        self.log_end = _UNKNOWN_END
        self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
        self.last_fetch_ms = _NEVER_MS
        self.last_caught_up_ms = _NEVER_MS
        #: Time of the fetch before the last one, or of the start of the leader epoch.
        self.previous_fetch_ms = _NEVER_MS
        #: Epoch of the registration that fetched; -1 if the fetch has no epoch, None before the first fetch.
        self.broker_epoch: int | None = None

    def reset(self, now_ms: int, leader_end_offset: int, is_new_leader: bool, is_in_sync: bool) -> None:
        """Start a leader epoch. A new leader has no state of its followers, an old one keeps it. A member of the ISR
        gets the whole `replica.lag.time.max.ms` for its first fetch."""
        since_ms = now_ms if is_in_sync else _NEVER_MS
        self.last_caught_up_ms = self.previous_fetch_ms = since_ms
        if is_new_leader:
            self.log_start_offset = self.log_end_offset = UNKNOWN_OFFSET
            self.log_end = _UNKNOWN_END
            self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
            self.last_fetch_ms = _NEVER_MS
            self.broker_epoch = None
        else:
            self.last_fetch_leader_end_offset = leader_end_offset
            self.last_fetch_ms = since_ms

    def fetched(
        self, log_end: OffsetMetadata, log_start_offset: int, now_ms: int, leader_end_offset: int, broker_epoch: int
    ) -> None:
        """Record a fetch at `log_end`."""
        offset = log_end.message_offset
        if offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif offset >= self.last_fetch_leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_start_offset = log_start_offset
        self.log_end = log_end
        self.log_end_offset = offset
        if leader_end_offset > self.last_fetch_leader_end_offset:
            self.last_fetch_leader_end_offset = leader_end_offset
        if self.last_fetch_ms > self.previous_fetch_ms:
            self.previous_fetch_ms = self.last_fetch_ms
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def forget_file_position(self) -> None:
        """The leader's log is in other files now."""
        self.log_end = OffsetMetadata(self.log_end_offset)

    def is_caught_up(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        return self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= max_lag_ms

    def __repr__(self) -> str:
        return f"FollowerState(broker {self.broker_id}, end {self.log_end_offset}, epoch {self.broker_epoch})"
