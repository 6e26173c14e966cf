"""The leader's part of replication: it writes the log, serves fetches, and advances the high watermark.

Fetch (key 1): v12 diverging epoch and snapshot id in the response (KIP-595, KIP-630) · v13 topic ids ·
v15 replica state · v17 directory id and the leader's address (KIP-853) · v18 the fetcher's high watermark (KIP-1166)
FetchSnapshot (key 59): v0 first version (KIP-630) · v1 directory id, the leader's address in the response (KIP-853)
BeginQuorumEpoch (key 53): v0 first version · v1 directory ids, the leader's listeners (KIP-853)

A fetch from an offset says that everything before it is on the fetcher's disk. If the fetcher's log does not match the
leader's, the response says where to truncate to, or which snapshot to begin from. A fetch with nothing new waits at
the leader until there is, also for a high watermark above the one the fetcher has. A voter that does not fetch is sent
BeginQuorumEpoch: followers pull, so a new leader has no other way to be discovered quickly.
"""

from functools import partial

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest
from odradek.protocol.messages.fetch_response import FetchResponse
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest, PartitionSnapshot
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from odradek.raft.config import MAX_BATCH_BYTES
from odradek.raft.effects import Flush
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import RequestChecks, is_metadata_partition, parse_error_code
from odradek.raft.messages.requests import RequestBuilder
from odradek.raft.messages.responses import ResponseBuilder
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.request_manager import RequestManager
from odradek.raft.roles.leader_discovery import LeaderDiscovery
from odradek.raft.roles.role_changes import RoleChanges
from odradek.raft.roles.shutdown import Shutdown
from odradek.raft.roles.voter_changes import VoterChanges
from odradek.raft.states.leader import Leader
from odradek.raft.storage.commit_listener import CommitListener
from odradek.raft.storage.raft_log import Fit, Validity, validate_offset_and_epoch
from odradek.raft.values import (
    BOOTSTRAP_SNAPSHOT_ID,
    METADATA_PARTITION,
    METADATA_TOPIC_ID,
    NEVER_MS,
    NO_EPOCH,
    OffsetAndEpoch,
    ReplicaKey,
)
from odradek.raft.waiting_fetches import WaitingFetch, WaitingFetches


class LeaderReplication:
    def __init__(
        self,
        context: QuorumContext,
        requests: RequestManager,
        listener: CommitListener,
        waiting: WaitingFetches,
        voter_changes: VoterChanges,
        role_changes: RoleChanges,
        discovery: LeaderDiscovery,
        shutdown: Shutdown,
    ) -> None:
        self._context = context
        self._quorum = context.quorum
        self._log = context.log
        self._outbox = context.outbox
        self._requests = requests
        self._listener = listener
        self._waiting = waiting
        self._voter_changes = voter_changes
        self._role_changes = role_changes
        self._discovery = discovery
        self._shutdown = shutdown
        self._checks = RequestChecks(context)
        self._builder = RequestBuilder(context)
        self._responses = ResponseBuilder(context)
        #: The epoch whose records this replica may write.
        self._writable_epoch = NO_EPOCH

    def poll(self, leader: Leader) -> int:
        """Resign, append or send BeginQuorumEpoch if it is due. Return when to poll again."""
        now_ms, check_quorum_ms = self._context.now_ms, leader.check_quorum_deadline_ms
        is_stopping = self._shutdown.deadline_ms is not None and self._may_stop(leader)
        if is_stopping or leader.resign_requested or now_ms >= check_quorum_ms:
            self._role_changes.become_resigned(leader.successors())
            return now_ms
        change_ms = self._voter_changes.expire()
        append_ms = NEVER_MS
        if self._writable_epoch == leader.epoch:
            if now_ms >= leader.accumulator.deadline_ms:
                self._append(leader)
            append_ms = leader.accumulator.deadline_ms
        if now_ms >= leader.begin_epoch_at_ms:
            self._send_begin_epoch(leader)
        begin_ms, stop_ms = leader.begin_epoch_at_ms, self._shutdown.resign_deadline_ms
        resign_ms = now_ms if leader.resign_requested else NEVER_MS
        return min(check_quorum_ms, change_ms, append_ms, begin_ms, resign_ms, stop_ms)

    def _may_stop(self, leader: Leader) -> bool:
        """Return whether everything is committed, or the time for it is over. A leader that resigns with records that
        its successor lacks can neither vote for it nor respond to those who wait for them."""
        is_committed = leader.high_watermark == leader.accumulator.next_offset
        return is_committed or self._context.now_ms >= self._shutdown.resign_deadline_ms

    def allow_writes(self) -> bool:
        """Let a new leader write from the next step on: its epoch must be in `quorum-state` before it is in the log.
        Return whether it could not write before."""
        state = self._quorum.state
        if not isinstance(state, Leader) or self._writable_epoch == state.epoch:
            return False
        self._writable_epoch = state.epoch
        return True

    def _append(self, leader: Leader) -> None:
        """Write the accumulated batches. Followers fetch them before they are synced here, because their copy counts
        once they have synced it; the leader's own copy counts after the `Flush`."""
        log, control = self._log, self._context.control
        for batch in leader.accumulator.drain():
            log.append_as_leader(batch.data, leader.epoch)
            self._listener.retain(leader.epoch, batch)
            if not batch.is_control:
                control.pass_over(batch.base_offset, batch.last_offset + 1)
        control.update()
        self._complete(self._waiting.take_before(log.end_offset))
        self._outbox.emit(Flush())
        if leader.update_local(log.end_offset, control.voters):
            self._handle_high_watermark(leader)

    def _handle_high_watermark(self, leader: Leader) -> None:
        assert leader.high_watermark is not None
        self._log.update_high_watermark(leader.high_watermark)
        self._voter_changes.handle_high_watermark(leader)
        self._complete(self._waiting.take_all())

    def handle_fetch_request(self, request: Request, message: FetchRequest) -> None:
        outbox = self._outbox
        if not self._checks.has_valid_cluster_id(message.cluster_id):
            outbox.reply(request.handle, FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
            return
        partition = _only_partition(message)
        if partition is None:
            outbox.reply(request.handle, FetchResponse(error_code=ErrorCode.INVALID_REQUEST))
            return
        if (
            message.max_wait_ms < 0
            or message.max_bytes < 0
            or partition.fetch_offset < 0
            or not 0 <= partition.last_fetched_epoch <= partition.current_leader_epoch
        ):
            outbox.reply(request.handle, self._responses.build_fetch(request, ErrorCode.INVALID_REQUEST))
            return
        replica_id = message.replica_id if message.replica_id >= 0 else message.replica_state.replica_id
        key = ReplicaKey.from_wire(replica_id, partition.replica_directory_id)
        self._requests.mark_reachable(replica_id)  # a leader sends no request to a follower that fetches
        response = self._read(request, key, partition, message.max_bytes)
        if message.max_wait_ms == 0 or _has_news(response, partition):
            outbox.reply(request.handle, response)
            return
        deadline_ms = self._context.now_ms + message.max_wait_ms
        self._waiting.add(WaitingFetch(request, key, partition, message.max_bytes, deadline_ms, response))

    def _read(self, request: Request, key: ReplicaKey, partition: FetchPartition, max_bytes: int) -> FetchResponse:
        """Record how far the replica has come, and build its response."""
        error = self._checks.leader_request_error(partition.current_leader_epoch)
        if error is None and key.id >= 0 and key.id == self._context.local.id:
            error = ErrorCode.INVALID_REQUEST  # another node with our id, or our own request
        if error is not None:
            return self._responses.build_fetch(request, error)
        leader, log = self._quorum.state, self._log
        assert isinstance(leader, Leader)
        offset, validity = partition.fetch_offset, self._validity(partition)
        if validity.fit is not Fit.VALID:
            return self._responses.build_fetch(
                request, ErrorCode.NONE, validity=validity, high_watermark=leader.high_watermark
            )
        size_bytes = min(max_bytes, MAX_BATCH_BYTES)
        records = log.read(offset, size_bytes, committed=False) if offset < log.end_offset else b""
        if leader.update_replica(key, self._context.now_ms, offset):
            self._handle_high_watermark(leader)
        return self._responses.build_fetch(
            request, ErrorCode.NONE, records=records, high_watermark=leader.high_watermark
        )

    def _validity(self, partition: FetchPartition) -> Validity:
        """Compare the fetcher's log with this one. An empty log starts from a snapshot, if there is one."""
        latest = self._log.latest_snapshot_id
        if partition.fetch_offset == 0 and latest is not None and latest != BOOTSTRAP_SNAPSHOT_ID:
            return Validity(Fit.SNAPSHOT, latest)
        return validate_offset_and_epoch(self._log, partition.fetch_offset, partition.last_fetched_epoch)

    def _complete(self, fetches: list[WaitingFetch]) -> None:
        """Respond to fetches for which there is something new."""
        for fetch in fetches:
            response = self._read(fetch.request, fetch.key, fetch.partition, fetch.max_bytes)
            self._outbox.reply(fetch.request.handle, response)

    def expire_waiting(self) -> None:
        """Respond to fetches for which there was nothing new."""
        for fetch in self._waiting.take_expired(self._context.now_ms):
            self._outbox.reply(fetch.request.handle, fetch.empty_response)

    def handle_fetch_snapshot_request(self, request: Request, message: FetchSnapshotRequest) -> None:
        self._outbox.reply(request.handle, self._fetch_snapshot(request, message))

    def _fetch_snapshot(self, request: Request, message: FetchSnapshotRequest) -> FetchSnapshotResponse:
        if not self._checks.has_valid_cluster_id(message.cluster_id):
            return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
        if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
            return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
        topic, partition = message.topics[0], message.topics[0].partitions[0]
        if not is_metadata_partition(topic.name, partition.partition):
            return self._responses.build_fetch_snapshot_of_unknown(request, topic.name, partition.partition)
        error = self._checks.leader_request_error(partition.current_leader_epoch)
        if error is None and message.max_bytes < 0:
            error = ErrorCode.INVALID_REQUEST
        if error is not None:
            return self._responses.build_fetch_snapshot(request, error)
        key = ReplicaKey.from_wire(message.replica_id, partition.replica_directory_id)
        return self._read_snapshot(request, key, partition, message.max_bytes)

    def _read_snapshot(
        self, request: Request, key: ReplicaKey, partition: PartitionSnapshot, max_bytes: int
    ) -> FetchSnapshotResponse:
        """Read the next part of a snapshot. The bootstrap snapshot is not served: its content is in the log of the
        first leader."""
        snapshot_id = OffsetAndEpoch(partition.snapshot_id.epoch, partition.snapshot_id.end_offset)
        size_bytes = self._log.snapshot_size_bytes(snapshot_id)
        if size_bytes is None or snapshot_id == BOOTSTRAP_SNAPSHOT_ID:
            return self._responses.build_fetch_snapshot(request, ErrorCode.SNAPSHOT_NOT_FOUND)
        if not 0 <= partition.position < size_bytes:
            return self._responses.build_fetch_snapshot(request, ErrorCode.POSITION_OUT_OF_RANGE)
        leader = self._quorum.state
        assert isinstance(leader, Leader)
        leader.record_contact(key, self._context.now_ms)
        return self._responses.build_fetch_snapshot(
            request,
            ErrorCode.NONE,
            snapshot_id=snapshot_id,
            size_bytes=size_bytes,
            position=partition.position,
            data=self._log.read_snapshot(snapshot_id, partition.position, min(max_bytes, MAX_BATCH_BYTES)),
        )

    def _send_begin_epoch(self, leader: Leader) -> None:
        """Send BeginQuorumEpoch to the voters without a recent fetch, and plan the next time."""
        context = self._context
        for voter in leader.voters_to_begin_epoch(context.now_ms):
            destination = context.voters.destination(voter.id, context.local.listener)
            if destination is not None:
                self._outbox.send(destination, partial(self._builder.build_begin_epoch, voter), context.now_ms)
        leader.schedule_begin_epoch(context.now_ms)

    def handle_begin_epoch_response(self, message: BeginQuorumEpochResponse) -> bool:
        """Return whether the voter may be sent another request at once."""
        if message.error_code != ErrorCode.NONE or len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
            return False
        partition = message.topics[0].partitions[0]
        error = parse_error_code(partition.error_code)
        handled = self._discovery.handle_response(
            error, partition.leader_id, partition.leader_epoch, message.node_endpoints
        )
        return error == ErrorCode.NONE if handled is None else handled


def _only_partition(message: FetchRequest) -> FetchPartition | None:
    """Return the one partition of the request, if it is that of the metadata log."""
    if len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
        return None
    topic, partition = message.topics[0], message.topics[0].partitions[0]
    return partition if topic.topic_id == METADATA_TOPIC_ID and partition.partition == METADATA_PARTITION else None


def _has_news(response: FetchResponse, requested: FetchPartition) -> bool:
    """Return whether the response says anything that the fetcher does not know yet."""
    partition = response.responses[0].partitions[0]
    return bool(
        partition.error_code != ErrorCode.NONE
        or partition.records
        or partition.diverging_epoch.epoch >= 0
        or partition.snapshot_id.epoch >= 0
        or requested.high_watermark < partition.high_watermark
    )
