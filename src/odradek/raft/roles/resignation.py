"""Resignation: a leader that gives up its epoch names its successors, in the order of their progress.

EndQuorumEpoch (key 54): v0 first version · v1 directory ids of the successors, the leader's listeners (KIP-853)
The first successor requests votes at once; each further one waits twice as long as the one before it.
"""

from functools import partial

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest, PartitionData
from odradek.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from odradek.raft.events import Request
from odradek.raft.messages.request_checks import RequestChecks, parse_error_code
from odradek.raft.messages.requests import RequestBuilder
from odradek.raft.messages.responses import ResponseBuilder
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.roles.leader_discovery import LeaderDiscovery
from odradek.raft.roles.role_changes import RoleChanges
from odradek.raft.roles.shutdown import Shutdown
from odradek.raft.states.follower import Follower
from odradek.raft.states.resigned import Resigned
from odradek.raft.values import NEVER_MS, ReplicaKey


class Resignation:
    def __init__(
        self, context: QuorumContext, role_changes: RoleChanges, discovery: LeaderDiscovery, shutdown: Shutdown
    ) -> None:
        self._context = context
        self._role_changes = role_changes
        self._discovery = discovery
        self._shutdown = shutdown
        self._checks = RequestChecks(context)
        self._builder = RequestBuilder(context)
        self._responses = ResponseBuilder(context)

    def poll(self, state: Resigned) -> int:
        """Notify the voters. After the election time-out move to the next epoch: in its own this replica could be taken
        for the leader. Return when to poll again."""
        retry_at_ms = self._send_end_epoch(state)
        if self._shutdown.deadline_ms is not None:
            return min(retry_at_ms, self._shutdown.deadline_ms)
        if self._context.now_ms >= state.election_deadline_ms:
            self._role_changes.become_unattached(state.epoch + 1)
            return self._context.now_ms
        return min(retry_at_ms, state.election_deadline_ms)

    def _send_end_epoch(self, state: Resigned) -> int:
        """Send EndQuorumEpoch to the voters that have not acknowledged it. Return when to do it again."""
        context, retry_at_ms = self._context, NEVER_MS
        build = partial(self._builder.build_end_epoch, state.preferred_successors)
        for voter_id in state.unacknowledged:
            destination = context.voters.destination(voter_id, context.local.listener)
            if destination is not None:
                _, ready_at_ms = context.outbox.send(destination, build, context.now_ms)
                retry_at_ms = min(retry_at_ms, ready_at_ms)
        return retry_at_ms

    def handle_end_epoch_request(self, request: Request, message: EndQuorumEpochRequest) -> None:
        error = self._checks.request_error(message)
        if error is not None:
            self._context.outbox.reply(request.handle, EndQuorumEpochResponse(error_code=error))
            return
        partition = message.topics[0].partitions[0]
        error = self._discovery.handle_leader_request(
            partition.leader_id, partition.leader_epoch, message.leader_endpoints
        )
        state = self._context.state
        if error is None and isinstance(state, Follower) and state.leader_id == partition.leader_id:
            state.doubt_leader(self._context.now_ms + self._backoff_ms(partition))
        response = self._responses.build_end_epoch(request, error or ErrorCode.NONE)
        self._context.outbox.reply(request.handle, response)

    def _backoff_ms(self, partition: PartitionData) -> int:
        """Return how long this replica waits before it requests votes."""
        successors = [
            ReplicaKey.from_wire(info.candidate_id, info.candidate_directory_id)
            for info in partition.preferred_candidates
        ] or [ReplicaKey(successor_id) for successor_id in partition.preferred_successors]
        local, count = self._context.local.key, len(successors)
        position = next((i for i, key in enumerate(successors) if local is not None and key.covers(local)), count)
        return successor_backoff_ms(position, count, self._context.config.election_backoff_max_ms)

    def handle_end_epoch_response(self, voter_id: int, message: EndQuorumEpochResponse) -> bool:
        """Return whether the voter may be sent another request at once."""
        if message.error_code != ErrorCode.NONE or len(message.topics) != 1 or len(message.topics[0].partitions) != 1:
            return False
        partition = message.topics[0].partitions[0]
        error = parse_error_code(partition.error_code)
        handled = self._discovery.handle_response(
            error, partition.leader_id, partition.leader_epoch, message.node_endpoints
        )
        if handled is not None:
            return handled
        if error != ErrorCode.NONE:
            return False
        state = self._context.state
        if isinstance(state, Resigned):
            state.record_acknowledgement(voter_id)
        return True


def successor_backoff_ms(position: int, successors: int, max_ms: int) -> int:
    """Return 0 for the first successor; then doubling times, up to `max_ms` for the last and for other voters."""
    if position == 0 and successors > 0:
        return 0
    if position >= successors:
        return max_ms
    return min(max_ms, (max_ms >> (successors - 1)) << (position - 1))
