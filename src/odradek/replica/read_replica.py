"""Which replica a consumer should read from: one in its own rack, if any (KIP-392).

Kafka's rack-aware selector: of the in-sync replicas in the consumer's rack that have the offset, the leader if it is
among them, else the one that is furthest. With none in the rack the consumer stays with the leader.
"""

from __future__ import annotations

from odradek.replica.partition import Partition


def find_preferred_replica(partition: Partition, client_rack: str, fetch_offset: int, now_ms: int) -> int | None:
    """The broker to send a consumer to; None if it should read here. Only a leader sends consumers elsewhere."""
    context = partition.context
    if partition.leader_log is None:
        return None
    own = context.broker(context.broker_id)
    if own is not None and own.rack == client_rack:
        return None
    best: tuple[int, int, int] | None = None
    for broker_id, follower in partition.followers.items():
        broker = context.broker(broker_id)
        if broker is None or broker.fenced or broker.rack != client_rack or broker_id not in partition.isr_state.isr:
            continue
        if follower.log_start_offset <= fetch_offset <= follower.log_end_offset:
            rank = (follower.log_end_offset, follower.last_caught_up_ms - now_ms, -broker_id)
            best = rank if best is None or rank > best else best
    return None if best is None else -best[2]
