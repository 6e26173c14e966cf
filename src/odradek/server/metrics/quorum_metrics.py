"""Metrics of the metadata quorum and of the active controller."""

from collections.abc import Iterator

from prometheus_client.core import Metric

from odradek.raft.raft import Raft
from odradek.server.metrics.gauge import gauge


def quorum_metrics(raft: Raft, metadata_offset: int, *, is_active_controller: bool) -> Iterator[Metric]:
    """Yield the metrics. `metadata_offset` is that of the last record that this node has replayed."""
    leader = raft.leader_and_epoch
    yield gauge("active_controller", "1 on the active controller", int(is_active_controller))
    yield gauge("raft_epoch", "Epoch of the metadata quorum", leader.epoch)
    yield gauge("raft_leader_id", "Id of the quorum leader known here; -1 for none", _id_of(leader.leader_id))
    yield gauge("raft_high_watermark", "High watermark of the metadata log", raft.high_watermark or 0)
    yield gauge("metadata_offset", "Offset of the metadata that this node has replayed", metadata_offset)


def _id_of(leader_id: int | None) -> int:
    return -1 if leader_id is None else leader_id
