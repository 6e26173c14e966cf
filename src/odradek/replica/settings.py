"""Broker settings of replicas; names (with underscores) and defaults are Kafka's."""

from dataclasses import dataclass, field

from odradek.replica.replication_quota import QuotaWindows


@dataclass(frozen=True, slots=True)
class ReplicaSettings:
    replica_lag_time_max_ms: int = 30_000
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1024 * 1024
    replica_fetch_response_max_bytes: int = 10 * 1024 * 1024
    replica_fetch_backoff_ms: int = 1_000
    max_incremental_fetch_session_cache_slots: int = 1_000
    broker_session_timeout_ms: int = 9_000
    #: Whether `replica.selector.class` is the rack-aware one, which redirects consumers to a replica in their own rack
    #: (KIP-392).
    is_rack_aware: bool = False
    #: `replication.quota.window.*`: the time over which the rates of leader and follower are measured.
    replication_quota_windows: QuotaWindows = field(default_factory=QuotaWindows)
    #: `alter.log.dirs.replication.quota.window.*`: the same for moves between log directories.
    dir_move_quota_windows: QuotaWindows = field(default_factory=QuotaWindows)

    @property
    def isr_check_interval_ms(self) -> int:
        """Interval at which a follower leaves the ISR at most half of its lag time too late."""
        return self.replica_lag_time_max_ms // 2
