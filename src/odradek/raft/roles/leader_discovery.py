"""Discovery of the leader: from the requests and responses of its peers, and by fetching from any of them.

A peer's message, whatever it says, does not stop this node: one that contradicts what this replica knows is counted
and ignored.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from odradek.protocol.error_codes import ErrorCode
from odradek.raft.messages.request_checks import RequestChecks
from odradek.raft.messages.requests import RequestBuilder
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.request_manager import RequestManager
from odradek.raft.roles.role_changes import RoleChanges
from odradek.raft.values import NO_ENDPOINTS, Destination, Endpoint, Endpoints


class NodeEndpoint(Protocol):
    """Address of a node in a response."""

    node_id: int
    host: str
    port: int


class LeaderEndpoint(Protocol):
    """Listener of the leader in its request."""

    name: str
    host: str
    port: int


class LeaderHint(NamedTuple):
    """Leader as a response reports it."""

    leader_id: int | None
    epoch: int
    endpoints: Endpoints


class LeaderDiscovery:
    def __init__(self, context: QuorumContext, requests: RequestManager, role_changes: RoleChanges) -> None:
        self._context = context
        self._quorum = context.quorum
        self._local = context.local
        self._requests = requests
        self._role_changes = role_changes
        self._checks = RequestChecks(context)
        self._builder = RequestBuilder(context)

    def handle_leader_request(
        self, leader_id: int, epoch: int, endpoints: Sequence[LeaderEndpoint]
    ) -> ErrorCode | None:
        """Follow the leader that sends BeginQuorumEpoch or EndQuorumEpoch. Return the error of its request, if any.

        Requests of old versions do not say where the leader listens; the voter set does.
        """
        error = self._checks.voter_request_error(leader_id, epoch)
        if error is not None:
            return error
        listeners = Endpoints.of(Endpoint(e.name, e.host, e.port) for e in endpoints)
        is_consistent = self._maybe_follow(leader_id, epoch, listeners or self._context.voters.endpoints(leader_id))
        return None if is_consistent else ErrorCode.INVALID_REQUEST

    def handle_response(
        self, error: ErrorCode, leader_id: int, epoch: int, nodes: Sequence[NodeEndpoint]
    ) -> bool | None:
        """Do what any response calls for; see `handle_hint`. Responses of old versions do not say where the leader
        listens; the voter set does."""
        if leader_id < 0:
            return self.handle_hint(error, LeaderHint(None, epoch, NO_ENDPOINTS))
        listener = self._local.listener
        endpoints = Endpoints(Endpoint(listener, n.host, n.port) for n in nodes if n.node_id == leader_id)
        hint = LeaderHint(leader_id, epoch, endpoints or self._context.voters.endpoints(leader_id))
        return self.handle_hint(error, hint)

    def handle_hint(self, error: ErrorCode, hint: LeaderHint) -> bool | None:
        """Do what the error and the leader of a response call for. Return None if the response is still to be handled,
        otherwise whether its sender may be sent another request at once."""
        leader_id, epoch, endpoints = hint
        state = self._quorum.state
        if epoch < state.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
            return False  # the peer is behind, and needs time to catch up
        if epoch > state.epoch or error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER):
            self._maybe_follow(leader_id, epoch, endpoints)
            return self._quorum.state is not state
        if leader_id is not None and state.leader_id is None:
            self._maybe_follow(leader_id, epoch, endpoints)
            return None if error == ErrorCode.NONE else self._quorum.state is not state
        if error == ErrorCode.BROKER_NOT_AVAILABLE:
            return False
        if error == ErrorCode.INVALID_VOTER_KEY:
            return True  # the node at this address is not the voter that the request was for
        return None

    def fetch_from_any(self) -> int:
        """Fetch from a random server: its response says who leads. Return when to poll again."""
        servers, now_ms = self._servers(), self._context.now_ms
        server = self._requests.select_ready(servers, now_ms)
        if server is not None:
            self._context.outbox.send(server, self._builder.build_fetch, now_ms)
        return self._requests.next_ready_at_ms(servers, now_ms)

    def _servers(self) -> tuple[Destination, ...]:
        """Return the bootstrap servers, which may be out of date, and the voters in the log, without this node."""
        voters, listener = self._context.voters, self._local.listener
        addresses = {(e.host, e.port) for e in self._local.endpoints}
        servers = []
        for server in (*self._local.bootstrap_servers, *(voters.destination(i, listener) for i in voters.ids)):
            if server is not None and (server.host, server.port) not in addresses:
                addresses.add((server.host, server.port))
                servers.append(server)
        return tuple(servers)

    def _maybe_follow(self, leader_id: int | None, epoch: int, endpoints: Endpoints) -> bool:
        """Follow `leader_id` in `epoch` if that is new. Return False if it contradicts what this replica knows."""
        state = self._quorum.state
        if leader_id == self._local.id and epoch > state.epoch:
            self._report_unknown_leadership(epoch)
            return False
        if not self._is_consistent(leader_id, epoch):
            text = f"{state}: a peer names {leader_id} the leader of epoch {epoch}"
            self._context.contradictions.report(logging.WARNING, text)
            return False
        if epoch > state.epoch:
            if leader_id is None:
                self._role_changes.become_unattached(epoch)
            else:
                self._follow(epoch, leader_id, endpoints)
        elif epoch == state.epoch and leader_id is not None and leader_id != self._local.id:
            is_new = state.leader_id is None or len(endpoints) > len(state.leader_endpoints)
            if is_new:
                self._follow(epoch, leader_id, endpoints)
        return True

    def _is_consistent(self, leader_id: int | None, epoch: int) -> bool:
        state = self._quorum.state
        if epoch < state.epoch or leader_id is None:
            return True
        if leader_id == self._local.id:
            return epoch == state.epoch and state.leader_id == leader_id
        return epoch > state.epoch or state.leader_id in (None, leader_id)

    def _follow(self, epoch: int, leader_id: int, endpoints: Endpoints) -> None:
        """Without its address the leader is only remembered: its BeginQuorumEpoch, or another response, has it."""
        if endpoints:
            self._role_changes.become_follower(epoch, leader_id, endpoints)
        elif epoch > self._quorum.state.epoch:
            self._role_changes.become_unattached(epoch, leader_id)

    def _report_unknown_leadership(self, epoch: int) -> None:
        """A peer says that this node leads an epoch that it has not begun. A replica does not forget what it leads, so
        it led with a disk that was replaced, or another process has the same id, or the peer is wrong. With an empty
        log the others will notice. Otherwise the replica moves to that epoch without a leader: the followers of the
        other process time out, and there is an election."""
        if self._context.log.end_offset > 0:
            text = f"a peer says that this node leads epoch {epoch}: does another node have id {self._local.id}?"
            self._context.contradictions.report(logging.ERROR, text)
            self._role_changes.become_unattached(epoch)
