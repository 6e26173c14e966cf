"""The follower's part of replication: it fetches the log, or a snapshot, from the leader.

Fetch (key 1), FetchSnapshot (key 59), BeginQuorumEpoch (key 53): see `leader_replication` for their versions.

A response to a fetch has batches to append, or says where to truncate the log, or names a snapshot. A snapshot is
fetched in parts, from the position that is written. When it is complete it is frozen, the log starts over at its end,
and the follower fetches the log from there. A voter whose fetches fail for the fetch time-out starts an election.
"""

import logging
from functools import partial

from odradek.common.failures import check
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse, PartitionSnapshot
from odradek.raft.effects import Flush
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import RequestChecks, is_metadata_partition, parse_error_code
from odradek.raft.messages.requests import RequestBuilder
from odradek.raft.messages.responses import ResponseBuilder
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.request_manager import RequestManager
from odradek.raft.roles.elections import Elections
from odradek.raft.roles.leader_discovery import LeaderDiscovery
from odradek.raft.roles.shutdown import Shutdown
from odradek.raft.roles.voter_registration import VoterRegistration
from odradek.raft.states.follower import Follower
from odradek.raft.storage.raft_log import RawSnapshot, truncate_to_end_offset, truncation_offset
from odradek.raft.values import METADATA_PARTITION, METADATA_TOPIC_ID, NEVER_MS, Destination, OffsetAndEpoch
from odradek.records.errors import CorruptRecord, InvalidRecord


class FollowerReplication:
    def __init__(
        self,
        context: QuorumContext,
        requests: RequestManager,
        elections: Elections,
        discovery: LeaderDiscovery,
        registration: VoterRegistration,
        shutdown: Shutdown,
    ) -> None:
        self._context = context
        self._quorum = context.quorum
        self._log = context.log
        self._outbox = context.outbox
        self._requests = requests
        self._elections = elections
        self._discovery = discovery
        self._registration = registration
        self._shutdown = shutdown
        self._checks = RequestChecks(context)
        self._builder = RequestBuilder(context)
        self._responses = ResponseBuilder(context)
        #: Number of responses since the start whose batches could not be appended.
        self.damaged_fetches = 0

    def poll(self, follower: Follower) -> int:
        """Send the next fetch, or start an election. Return when to poll again."""
        now_ms = self._context.now_ms
        if self._shutdown.deadline_ms is not None:
            return self._shutdown.deadline_ms
        if now_ms >= follower.fetch_deadline_ms:
            if self._quorum.may_stand:
                self._elections.start_pre_vote()
                return now_ms
            # An observer stays, but grants pre-votes: it may be a voter by now without knowing it.
            follower.lose_leader_contact()
        leader = self._leader_destination(follower)
        if now_ms >= follower.update_voters_at_ms:
            self._registration.report(follower, leader)
        deadline_ms = follower.fetch_deadline_ms if now_ms < follower.fetch_deadline_ms else NEVER_MS
        return min(deadline_ms, self._fetch(follower, leader))

    def _leader_destination(self, follower: Follower) -> Destination:
        address = follower.leader_endpoints.address(self._context.local.listener) or follower.leader_endpoints[0]
        return Destination(follower.leader_id, address.host, address.port)

    def _fetch(self, follower: Follower, leader: Destination) -> int:
        """Fetch from the leader; from any other server while it does not respond, since it may not lead any more."""
        requests, now_ms = self._requests, self._context.now_ms
        if requests.has_timed_out(leader.id, now_ms):
            requests.reset(leader.id)
            return self._discovery.fetch_from_any()
        if requests.is_backing_off(leader.id, now_ms):
            return min(self._discovery.fetch_from_any(), requests.ready_at_ms(leader.id, now_ms))
        in_flight_until_ms = requests.in_flight_until_ms(now_ms)
        if in_flight_until_ms is not None:
            return in_flight_until_ms
        snapshot = follower.snapshot
        if snapshot is not None:
            build = partial(self._builder.build_fetch_snapshot, snapshot.id, snapshot.size_bytes)
            return self._outbox.send(leader, build, now_ms)[1]
        return self._outbox.send(leader, self._builder.build_fetch, now_ms)[1]

    def handle_begin_epoch_request(self, request: Request, message: BeginQuorumEpochRequest) -> None:
        """Follow the leader that introduces itself."""
        error = self._checks.request_error(message)
        if error is not None:
            self._outbox.reply(request.handle, BeginQuorumEpochResponse(error_code=error))
            return
        partition = message.topics[0].partitions[0]
        error = self._discovery.handle_leader_request(
            partition.leader_id, partition.leader_epoch, message.leader_endpoints
        )
        if error is None and not self._checks.is_for_local_replica(message.voter_id, partition.voter_directory_id):
            error = ErrorCode.INVALID_VOTER_KEY
        self._outbox.reply(request.handle, self._responses.build_begin_epoch(request, error or ErrorCode.NONE))

    def handle_fetch_response(self, message: FetchResponse) -> bool:
        """Return whether the sender may be sent another request at once."""
        partition = _only_partition(message)
        if partition is None:
            return False
        error, leader = parse_error_code(partition.error_code), partition.current_leader
        handled = self._discovery.handle_response(error, leader.leader_id, leader.leader_epoch, message.node_endpoints)
        if handled is not None:
            return handled
        follower = self._quorum.state
        if error != ErrorCode.NONE or not isinstance(follower, Follower):
            return False
        diverging, snapshot_id = partition.diverging_epoch, partition.snapshot_id
        if diverging.epoch >= 0:
            if not self._truncate(follower, OffsetAndEpoch(diverging.epoch, diverging.end_offset)):
                return False
        elif snapshot_id.epoch >= 0 or snapshot_id.end_offset >= 0:
            if not self._start_snapshot(follower, OffsetAndEpoch(snapshot_id.epoch, snapshot_id.end_offset)):
                return False
        else:
            self._append(partition)
            self._update_high_watermark(follower, partition.high_watermark)
        follower.record_leader_contact(self._context.now_ms)
        return True

    def _truncate(self, follower: Follower, diverging: OffsetAndEpoch) -> bool:
        """Truncate the log to where it may agree with the leader's. Return False if that would remove committed
        records: nothing is removed, and the fetch is tried again."""
        committed = max(follower.high_watermark or 0, self._log.high_watermark)
        if diverging.offset < committed or truncation_offset(self._log, diverging) < committed:
            text = f"the leader {follower.leader_id} asks to truncate to {diverging}, but {committed} is committed"
            self._context.contradictions.report(logging.ERROR, text)
            return False
        self._context.control.truncate_new(truncate_to_end_offset(self._log, diverging))
        return True

    def _append(self, partition: PartitionData) -> None:
        """Append the batches, and sync them before the next fetch, which says that they are on disk. Damaged batches
        are fetched again."""
        if not partition.records:
            return
        try:
            self._log.append_as_follower(partition.records, self._quorum.state.epoch)
        except (CorruptRecord, InvalidRecord):
            self.damaged_fetches += 1
        if self._quorum.is_voter or self._context.local.can_become_voter:
            self._outbox.emit(Flush())
        self._context.control.update()

    def _update_high_watermark(self, follower: Follower, leader_high_watermark: int) -> None:
        """Take over the leader's high watermark, up to the end of this log. It never goes back."""
        if leader_high_watermark < 0:
            return
        high_watermark, before = min(self._log.end_offset, leader_high_watermark), follower.high_watermark
        if before is not None and high_watermark < before:
            text = f"the leader {follower.leader_id} says that {high_watermark} is committed, but {before} is"
            self._context.contradictions.report(logging.WARNING, text)
        elif follower.update_high_watermark(high_watermark):
            self._log.update_high_watermark(high_watermark)

    def _start_snapshot(self, follower: Follower, snapshot_id: OffsetAndEpoch) -> bool:
        """Fetch this snapshot from now on. Return False if it is not beyond the log."""
        end = self._context.log_end
        if snapshot_id.epoch < 0 or snapshot_id.offset < 0 or snapshot_id <= end:
            text = f"the leader {follower.leader_id} offers the snapshot {snapshot_id} to a log that ends at {end}"
            self._context.contradictions.report(logging.WARNING, text)
            return False
        follower.set_snapshot(self._log.create_snapshot(snapshot_id))
        return True

    def handle_fetch_snapshot_response(self, message: FetchSnapshotResponse) -> bool:
        """Return whether the sender may be sent another request at once."""
        if message.error_code != ErrorCode.NONE or len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
            return False
        topic, partition = message.topics[0], message.topics[0].partitions[0]
        if not is_metadata_partition(topic.name, partition.index):
            return False
        error, leader = parse_error_code(partition.error_code), partition.current_leader
        handled = self._discovery.handle_response(error, leader.leader_id, leader.leader_epoch, message.node_endpoints)
        if handled is not None:
            return handled
        follower = self._quorum.state
        if not isinstance(follower, Follower):
            return False
        if error == ErrorCode.SNAPSHOT_NOT_FOUND:
            # The leader has deleted it meanwhile: the response to the next fetch names a newer one.
            follower.set_snapshot(None)
        elif error == ErrorCode.NONE and follower.snapshot is not None and _continues(follower.snapshot, partition):
            self._write_snapshot(follower, follower.snapshot, partition)
        else:
            follower.set_snapshot(None)
            return False
        follower.record_leader_contact(self._context.now_ms)
        return True

    def _write_snapshot(self, follower: Follower, snapshot: RawSnapshot, partition: PartitionSnapshot) -> None:
        """Append a part of the snapshot. After the last part the log starts over at its end."""
        snapshot.append(partition.unaligned_records)
        if snapshot.size_bytes < partition.size:
            return
        snapshot.freeze()
        follower.set_snapshot(None)
        end = self._context.log_end
        check(self._log.truncate_to_latest_snapshot(), f"the snapshot at {snapshot.id} is not beyond {end}")
        self._context.control.update()
        self._update_high_watermark(follower, self._log.high_watermark)


def _only_partition(message: FetchResponse) -> PartitionData | None:
    """Return the one partition of the response, if it is that of the metadata log."""
    if message.error_code != ErrorCode.NONE:
        return None
    if len(message.responses) != 1 or len(message.responses[0].partitions) != 1:
        return None
    topic, partition = message.responses[0], message.responses[0].partitions[0]
    is_metadata = topic.topic_id == METADATA_TOPIC_ID and partition.partition_index == METADATA_PARTITION
    return partition if is_metadata else None


def _continues(snapshot: RawSnapshot, partition: PartitionSnapshot) -> bool:
    """Return whether this is the next part of the snapshot."""
    snapshot_id = OffsetAndEpoch(partition.snapshot_id.epoch, partition.snapshot_id.end_offset)
    return snapshot.id == snapshot_id and snapshot.size_bytes == partition.position
