"""FetchSnapshot (key 59): a replica that lies before the leader's log fetches a snapshot, piece by piece (KIP-630).

v0 first version · v1 directory id, the leader's address in the answer (KIP-853)
The follower asks from the position that it has written up to. When the last byte is there the snapshot is frozen, the
log starts over at its end, and fetching goes on from there.
"""

from odradek.common.failures import check
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from odradek.protocol.messages.fetch_snapshot_request import PartitionSnapshot as AskedSnapshot
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse, PartitionSnapshot
from odradek.raft.config import MAX_BATCH_BYTES
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import (
    error_in,
    handle_common,
    has_valid_cluster_id,
    is_our_partition,
    leader_only_error,
)
from odradek.raft.messages.responses import build_fetch_snapshot_response, leader_hint
from odradek.raft.quorum_context import Core
from odradek.raft.roles.fetch import update_follower_high_watermark
from odradek.raft.states.follower import Follower
from odradek.raft.states.leader import Leader
from odradek.raft.storage.raft_log import RawSnapshot
from odradek.raft.values import BOOTSTRAP_SNAPSHOT_ID, OffsetAndEpoch, ReplicaKey


def handle_request(core: Core, request: Request, message: FetchSnapshotRequest) -> None:
    core.reply(request.handle, _answer(core, request, message))


def _answer(core: Core, request: Request, message: FetchSnapshotRequest) -> FetchSnapshotResponse:
    if not has_valid_cluster_id(core, message.cluster_id):
        return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
    topic, asked = message.topics[0], message.topics[0].partitions[0]
    if not is_our_partition(topic.name, asked.partition):
        return build_fetch_snapshot_response(
            core,
            request,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            topic_name=topic.name,
            partition_index=asked.partition,
        )
    error = leader_only_error(core, asked.current_leader_epoch)
    if error is None and message.max_bytes < 0:
        error = ErrorCode.INVALID_REQUEST
    if error is not None:
        return build_fetch_snapshot_response(core, request, error)
    key = ReplicaKey.from_wire(message.replica_id, asked.replica_directory_id)
    return _piece(core, request, asked, key, message.max_bytes)


def _piece(
    core: Core, request: Request, asked: AskedSnapshot, key: ReplicaKey, max_bytes: int
) -> FetchSnapshotResponse:
    """The bootstrap snapshot is never handed out: its content is in the log of the first leader."""
    snapshot_id = OffsetAndEpoch(asked.snapshot_id.epoch, asked.snapshot_id.end_offset)
    size_bytes = core.log.snapshot_size_bytes(snapshot_id)
    if size_bytes is None or snapshot_id == BOOTSTRAP_SNAPSHOT_ID:
        return build_fetch_snapshot_response(core, request, ErrorCode.SNAPSHOT_NOT_FOUND)
    if not 0 <= asked.position < size_bytes:
        return build_fetch_snapshot_response(core, request, ErrorCode.POSITION_OUT_OF_RANGE)
    state = core.quorum.state
    assert isinstance(state, Leader)
    state.heard_from(key, core.now_ms)
    return build_fetch_snapshot_response(
        core,
        request,
        ErrorCode.NONE,
        snapshot_id=snapshot_id,
        size_bytes=size_bytes,
        position=asked.position,
        data=core.log.read_snapshot(snapshot_id, asked.position, min(max_bytes, MAX_BATCH_BYTES)),
    )


def handle_response(core: Core, message: FetchSnapshotResponse) -> bool:
    if message.error_code != ErrorCode.NONE or len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return False
    topic, piece = message.topics[0], message.topics[0].partitions[0]
    if not is_our_partition(topic.name, piece.index):
        return False
    error, leader = error_in(piece.error_code), piece.current_leader
    hint = leader_hint(core, leader.leader_id, leader.leader_epoch, message.node_endpoints)
    handled = handle_common(core, error, hint)
    if handled is not None:
        return handled
    state = core.quorum.state
    if not isinstance(state, Follower):
        return False
    if error == ErrorCode.SNAPSHOT_NOT_FOUND:
        # The leader has dropped it meanwhile: another fetch tells of a newer one.
        state.set_snapshot(None)
        state.heard_leader(core.now_ms)
        return True
    if error != ErrorCode.NONE or state.snapshot is None or not _continues(state.snapshot, piece):
        state.set_snapshot(None)
        return False
    _write(core, state, state.snapshot, piece)
    state.heard_leader(core.now_ms)
    return True


def _continues(snapshot: RawSnapshot, piece: PartitionSnapshot) -> bool:
    piece_id = OffsetAndEpoch(piece.snapshot_id.epoch, piece.snapshot_id.end_offset)
    return snapshot.id == piece_id and snapshot.size_bytes == piece.position


def _write(core: Core, state: Follower, snapshot: RawSnapshot, piece: PartitionSnapshot) -> None:
    snapshot.append(piece.unaligned_records)
    if snapshot.size_bytes < piece.size:
        return
    snapshot.freeze()
    state.set_snapshot(None)
    check(core.log.truncate_to_latest_snapshot(), f"the snapshot at {snapshot.id} is not beyond {core.end}")
    core.control.update()
    update_follower_high_watermark(core, state, core.log.high_watermark)
