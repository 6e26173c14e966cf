"""Fetch (key 1) of the metadata partition: replicas pull the log from the leader.

v12 diverging epoch and snapshot id in the answer (KIP-595, KIP-630) · v13 topic ids · v15 replica state ·
v17 directory id and the leader's address (KIP-853) · v18 the fetcher's high watermark (KIP-1166)

A fetch from an offset says that everything before it is on the fetcher's disk. If the fetcher's log is no beginning of
the leader's, the answer says where to truncate to, or which snapshot to begin from. A fetch with nothing new waits at
the leader until there is, also for a high watermark above the one the fetcher knows.
"""

import logging

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData
from odradek.raft.config import MAX_BATCH_BYTES
from odradek.raft.effects import Flush
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import error_in, handle_common, has_valid_cluster_id, leader_only_error
from odradek.raft.messages.responses import build_fetch_response, leader_hint
from odradek.raft.quorum_context import Core
from odradek.raft.roles.voter_changes import voters_committed
from odradek.raft.states.follower import Follower
from odradek.raft.states.leader import Leader
from odradek.raft.storage.raft_log import (
    Fit,
    Validity,
    truncate_to_end_offset,
    truncation_offset,
    validate_offset_and_epoch,
)
from odradek.raft.values import (
    BOOTSTRAP_SNAPSHOT_ID,
    METADATA_PARTITION,
    METADATA_TOPIC_ID,
    OffsetAndEpoch,
    ReplicaKey,
)
from odradek.raft.waiting_fetches import ParkedFetch
from odradek.records.errors import CorruptRecord, InvalidRecord


def handle_request(core: Core, request: Request, message: FetchRequest) -> None:
    if not has_valid_cluster_id(core, message.cluster_id):
        core.reply(request.handle, FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
        return
    partition = _only_partition(message)
    if partition is None:
        core.reply(request.handle, FetchResponse(error_code=ErrorCode.INVALID_REQUEST))
        return
    if (
        message.max_wait_ms < 0
        or message.max_bytes < 0
        or partition.fetch_offset < 0
        or not 0 <= partition.last_fetched_epoch <= partition.current_leader_epoch
    ):
        core.reply(request.handle, build_fetch_response(core, request, ErrorCode.INVALID_REQUEST))
        return
    replica_id = message.replica_id if message.replica_id >= 0 else message.replica_state.replica_id
    key = ReplicaKey.from_wire(replica_id, partition.replica_directory_id)
    core.gone.pop(replica_id, None)  # a leader asks nothing of a follower that fetches
    response = _try_complete(core, request, key, partition, message.max_bytes)
    if message.max_wait_ms == 0 or _is_worth_sending(response, partition):
        core.reply(request.handle, response)
        return
    deadline_ms = core.now_ms + message.max_wait_ms
    core.parked.park(ParkedFetch(request, key, partition, message.max_bytes, deadline_ms, response))


def _only_partition(message: FetchRequest) -> FetchPartition | None:
    if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return None
    topic, partition = message.topics[0], message.topics[0].partitions[0]
    return partition if topic.topic_id == METADATA_TOPIC_ID and partition.partition == METADATA_PARTITION else None


def _is_worth_sending(response: FetchResponse, asked: FetchPartition) -> bool:
    answer = response.responses[0].partitions[0]
    return bool(
        answer.error_code != ErrorCode.NONE
        or answer.records
        or answer.diverging_epoch.epoch >= 0
        or answer.snapshot_id.epoch >= 0
        or asked.high_watermark < answer.high_watermark
    )


def _try_complete(
    core: Core, request: Request, key: ReplicaKey, partition: FetchPartition, max_bytes: int
) -> FetchResponse:
    error = leader_only_error(core, partition.current_leader_epoch)
    if error is None and key.id >= 0 and key.id == core.local.id:
        error = ErrorCode.INVALID_REQUEST  # a stranger with our id, or our own echo
    if error is not None:
        return build_fetch_response(core, request, error)
    state = core.quorum.state
    assert isinstance(state, Leader)
    offset, validity = partition.fetch_offset, _validity(core, partition)
    if validity.fit is not Fit.VALID:
        return build_fetch_response(
            core, request, ErrorCode.NONE, validity=validity, high_watermark=state.high_watermark
        )
    size_bytes = min(max_bytes, MAX_BATCH_BYTES)
    records = core.log.read(offset, size_bytes, committed=False) if offset < core.log.end_offset else b""
    if state.update_replica(key, core.now_ms, offset):
        high_watermark_advanced(core, state)
    return build_fetch_response(core, request, ErrorCode.NONE, records=records, high_watermark=state.high_watermark)


def _validity(core: Core, partition: FetchPartition) -> Validity:
    """An empty log is best filled from a snapshot, where there is one."""
    latest = core.log.latest_snapshot_id
    if partition.fetch_offset == 0 and latest is not None and latest != BOOTSTRAP_SNAPSHOT_ID:
        return Validity(Fit.SNAPSHOT, latest)
    return validate_offset_and_epoch(core.log, partition.fetch_offset, partition.last_fetched_epoch)


def complete(core: Core, fetches: list[ParkedFetch]) -> None:
    """There is something new for these."""
    for fetch in fetches:
        response = _try_complete(core, fetch.request, fetch.key, fetch.partition, fetch.max_bytes)
        core.reply(fetch.request.handle, response)


def expire(core: Core) -> None:
    """Nothing new came for these."""
    for fetch in core.parked.take_expired(core.now_ms):
        core.reply(fetch.request.handle, fetch.nothing_new)


def high_watermark_advanced(core: Core, state: Leader) -> None:
    assert state.high_watermark is not None
    core.log.update_high_watermark(state.high_watermark)
    voters_committed(core, state)
    complete(core, core.parked.take_all())


def append_as_leader(core: Core, state: Leader) -> None:
    """Write what has gathered. Followers get it before it is synced here: that is their copy. Ours counts after."""
    batches = state.accumulator.drain()
    for batch in batches:
        core.log.append_as_leader(batch.data, state.epoch)
        core.listener.retain(state.epoch, batch)
        if not batch.is_control:
            core.control.pass_over(batch.base_offset, batch.last_offset + 1)
    core.control.update()
    complete(core, core.parked.take_before(core.log.end_offset))
    core.emit(Flush())
    if state.update_local(core.log.end_offset, core.control.voters):
        high_watermark_advanced(core, state)


def handle_response(core: Core, message: FetchResponse) -> bool:
    partition = _answered_partition(message)
    if partition is None:
        return False
    error, leader = error_in(partition.error_code), partition.current_leader
    hint = leader_hint(core, leader.leader_id, leader.leader_epoch, message.node_endpoints)
    handled = handle_common(core, error, hint)
    if handled is not None:
        return handled
    state = core.quorum.state
    if error != ErrorCode.NONE or not isinstance(state, Follower):
        return False
    diverging, snapshot_id = partition.diverging_epoch, partition.snapshot_id
    if diverging.epoch >= 0:
        if not _truncate(core, state, OffsetAndEpoch(diverging.epoch, diverging.end_offset)):
            return False
    elif snapshot_id.epoch >= 0 or snapshot_id.end_offset >= 0:
        offered = OffsetAndEpoch(snapshot_id.epoch, snapshot_id.end_offset)
        if offered.epoch < 0 or offered.offset < 0 or offered <= core.end:
            text = f"the leader {state.leader_id} offers the snapshot {offered} to a log that ends at {core.end}"
            core.note_contradiction(logging.WARNING, text)
            return False
        state.set_snapshot(core.log.create_snapshot(offered))
    else:
        _append_as_follower(core, partition)
        update_follower_high_watermark(core, state, partition.high_watermark)
    state.heard_leader(core.now_ms)
    return True


def _answered_partition(message: FetchResponse) -> PartitionData | None:
    if message.error_code != ErrorCode.NONE:
        return None
    if len(message.responses) != 1 or len(message.responses[0].partitions) != 1:
        return None
    topic, partition = message.responses[0], message.responses[0].partitions[0]
    is_ours = topic.topic_id == METADATA_TOPIC_ID and partition.partition_index == METADATA_PARTITION
    return partition if is_ours else None


def _truncate(core: Core, state: Follower, diverging: OffsetAndEpoch) -> bool:
    """False if the leader would have us remove committed records: none of them is, and the fetch is tried again."""
    committed = max(state.high_watermark or 0, core.log.high_watermark)
    if diverging.offset < committed or truncation_offset(core.log, diverging) < committed:
        text = f"the leader {state.leader_id} asks to truncate to {diverging}, but {committed} is committed"
        core.note_contradiction(logging.ERROR, text)
        return False
    core.control.truncate_new(truncate_to_end_offset(core.log, diverging))
    return True


def _append_as_follower(core: Core, partition: PartitionData) -> None:
    """The next fetch says that this is on disk, so the sync comes before it. Damaged batches are fetched again."""
    if not partition.records:
        return
    try:
        core.log.append_as_follower(partition.records, core.epoch)
    except (CorruptRecord, InvalidRecord):
        core.damaged_fetches += 1
    if core.quorum.is_voter or core.local.can_become_voter:
        core.emit(Flush())
    core.control.update()


def update_follower_high_watermark(core: Core, state: Follower, high_watermark: int) -> None:
    """Never beyond what we have, and never back, whatever the leader says."""
    if high_watermark < 0:
        return
    known, before = min(core.log.end_offset, high_watermark), state.high_watermark
    if before is not None and known < before:
        text = f"the leader {state.leader_id} says that {known} is committed, but {before} is"
        core.note_contradiction(logging.WARNING, text)
    elif state.update_high_watermark(known):
        core.log.update_high_watermark(known)
