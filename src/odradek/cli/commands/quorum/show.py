"""Descriptions of the quorum as text and JSON."""

from collections.abc import Sequence
from typing import Any

from odradek.cli.base.errors import echo
from odradek.cli.base.output import UNKNOWN, format_timestamp, plural, print_table
from odradek.client.admin.quorum import QuorumDescription, QuorumReplica
from odradek.common.ids import uuid_to_text

_LABEL_WIDTH = 18


def status_document(cluster_id: str | None, quorum: QuorumDescription) -> dict[str, Any]:
    lag, lag_ms = _max_follower_lag(quorum)
    return {
        "cluster_id": cluster_id,
        "leader_id": quorum.leader_id,
        "leader_epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "max_follower_lag": lag,
        "max_follower_lag_ms": lag_ms,
        "voters": [_member(voter) for voter in quorum.voters],
        "observers": [_member(observer) for observer in quorum.observers],
    }


def replication_document(quorum: QuorumDescription) -> list[dict[str, Any]]:
    return [
        {
            "id": replica.id,
            "directory_id": _directory(replica),
            "log_end_offset": replica.log_end_offset,
            "lag": _lag(quorum, replica),
            "last_fetch_ms": replica.last_fetch_ms,
            "last_caught_up_ms": replica.last_caught_up_ms,
            "status": status,
        }
        for replica, status in _ranked(quorum)
    ]


def print_status(cluster_id: str | None, quorum: QuorumDescription) -> None:
    lag, lag_ms = _max_follower_lag(quorum)
    lag_text = "unknown" if lag is None else plural(lag, "record")
    rows = [
        ("cluster id", [cluster_id or "unknown"]),
        ("leader", [f"{quorum.leader_id}, epoch {quorum.leader_epoch}"]),
        ("high watermark", [str(quorum.high_watermark)]),
        ("max follower lag", [lag_text if lag_ms is None else f"{lag_text}, {lag_ms} ms"]),
        ("voters", _members(quorum.voters)),
        ("observers", _members(quorum.observers)),
    ]
    for label, lines in rows:
        for index, line in enumerate(lines):
            echo(f"{'' if index else label:{_LABEL_WIDTH}}{line}")


def print_replication(quorum: QuorumDescription, *, utc: bool) -> None:
    rows = []
    for replica, status in _ranked(quorum):
        times = (replica.last_fetch_ms, replica.last_caught_up_ms)
        lag = _lag(quorum, replica)
        rows.append(
            (
                *(replica.id, status, replica.log_end_offset, UNKNOWN if lag is None else lag),
                *("-" if time_ms is None else format_timestamp(time_ms, utc=utc) for time_ms in times),
                _directory(replica) or "-",
            )
        )
    print_table(("node", "status", "log end", "lag", "last fetch", "last caught up", "directory id"), rows)


def _ranked(quorum: QuorumDescription) -> list[tuple[QuorumReplica, str]]:
    """Return the leader, the other voters, and the observers, each with its role."""
    leader, followers = [], []
    for voter in quorum.voters:
        if voter.id == quorum.leader_id:
            leader.append((voter, "leader"))
        else:
            followers.append((voter, "follower"))
    return [*leader, *followers, *((observer, "observer") for observer in quorum.observers)]


def _max_follower_lag(quorum: QuorumDescription) -> tuple[int | None, int | None]:
    """Return the lag of the slowest voter: in records, and in ms since it had caught up."""
    leader = quorum.leader
    if leader is None:
        return None, None
    slowest = min(quorum.voters, key=lambda voter: voter.log_end_offset)
    return leader.log_end_offset - slowest.log_end_offset, _lag_ms(leader, slowest)


def _lag_ms(leader: QuorumReplica, slowest: QuorumReplica) -> int | None:
    if slowest is leader:
        return 0
    if leader.last_caught_up_ms is None or slowest.last_caught_up_ms is None:
        return None
    return leader.last_caught_up_ms - slowest.last_caught_up_ms


def _lag(quorum: QuorumDescription, replica: QuorumReplica) -> int | None:
    leader = quorum.leader
    return None if leader is None else leader.log_end_offset - replica.log_end_offset


def _member(replica: QuorumReplica) -> dict[str, Any]:
    return {
        "id": replica.id,
        "directory_id": _directory(replica),
        "endpoints": [str(endpoint) for endpoint in replica.endpoints],
    }


def _members(replicas: Sequence[QuorumReplica]) -> list[str]:
    """Return a line for each replica: its id, its addresses, and its directory."""
    lines = []
    for replica in replicas:
        parts = (str(replica.id), *map(str, replica.endpoints), _directory(replica))
        lines.append("  ".join(part for part in parts if part))
    return lines or ["none"]


def _directory(replica: QuorumReplica) -> str | None:
    return None if replica.directory_id is None else uuid_to_text(replica.directory_id)
