"""Settings of the quorum, with Kafka's defaults (`controller.quorum.*`)."""

from dataclasses import dataclass

from odradek.raft.values import (
    NO_ENDPOINTS,
    SUPPORTED_KRAFT_VERSIONS,
    Destination,
    Endpoints,
    ReplicaKey,
    VersionRange,
)
from odradek.raft.voters import NO_VOTERS, VoterSet

#: Largest batch that the leader writes and followers accept: Kafka's own, so that a mixed quorum agrees.
MAX_BATCH_BYTES = 8 * 1024 * 1024

#: Batches that wait for the next drain. The controller must not outrun the disk without noticing.
MAX_WAITING_BATCHES = 10


@dataclass(frozen=True, slots=True)
class QuorumConfig:
    election_timeout_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    election_backoff_max_ms: int = 1_000
    append_linger_ms: int = 25
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    auto_join: bool = False
    fetch_snapshot_max_bytes: int = 1 << 20
    fetch_max_bytes: int = 1 << 20
    #: How long a fetch waits at the leader for something new.
    fetch_max_wait_ms: int = 500
    max_batch_bytes: int = MAX_BATCH_BYTES
    max_waiting_batches: int = MAX_WAITING_BATCHES
    #: How often old snapshots and the log behind them are looked at.
    clean_interval_ms: int = 60_000
    #: A follower whose leader refuses connections (its process is gone) doubts it after about this, not after the whole
    #: fetch time-out. Safe at any value: whoever still hears the leader does not let the doubter be elected.
    disconnect_grace_ms: int = 300


@dataclass(frozen=True, slots=True)
class LocalNode:
    """Identity of a replica. Without an `id` it is an observer that is not counted."""

    cluster_id: str
    id: int | None
    directory_id: bytes
    listener: str
    endpoints: Endpoints = NO_ENDPOINTS
    kraft_versions: VersionRange = SUPPORTED_KRAFT_VERSIONS
    #: Controllers sync what they append even as observers, since they may be counted the moment they are added.
    can_become_voter: bool = True
    #: `controller.quorum.voters`: holds until the log has voters of its own.
    static_voters: VoterSet = NO_VOTERS
    #: `controller.quorum.bootstrap.servers`, or the static voters.
    bootstrap_servers: tuple[Destination, ...] = ()

    @property
    def key(self) -> ReplicaKey | None:
        return None if self.id is None else ReplicaKey(self.id, self.directory_id)
