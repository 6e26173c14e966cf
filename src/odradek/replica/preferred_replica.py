"""The replica that a consumer should read from: one in its own rack, if any (KIP-392).

Kafka's rack-aware selector: of the in-sync replicas in the consumer's rack that have the offset, the leader if it is
among them, else the most advanced one. If there is none in the rack the consumer stays with the leader.
"""

from __future__ import annotations

from odradek.replica.cluster_view import ClusterView
from odradek.replica.partition import OfflineReplica
from odradek.replica.partition_follower import PartitionFollower
from odradek.replica.partition_leader import PartitionLeader


def find_preferred_replica(
    view: ClusterView,
    role: PartitionLeader | PartitionFollower | OfflineReplica,
    client_rack: str,
    fetch_offset: int,
    now_ms: int,
) -> int | None:
    """Return the broker to which the consumer is redirected; None if it should read here. Only a leader redirects."""
    if not isinstance(role, PartitionLeader):
        return None
    this_broker = view.broker(view.broker_id)
    if this_broker is not None and this_broker.rack == client_rack:
        return None
    best: tuple[int, int, int] | None = None
    for broker_id, follower in role.followers.items():
        broker = view.broker(broker_id)
        if broker is None or broker.fenced or broker.rack != client_rack or broker_id not in role.isr_state.isr:
            continue
        if follower.log_start_offset <= fetch_offset <= follower.log_end_offset:
            rank = (follower.log_end_offset, follower.last_caught_up_ms - now_ms, -broker_id)
            best = rank if best is None or rank > best else best
    return None if best is None else -best[2]
