"""The end of a role: the replica learns of a later epoch or of another leader, or it resigns.

`states/transitions` checks and makes the move. This adds what must happen with it: requests in flight are abandoned,
and what others wait for at a former leader is refused. `elections` has the moves towards leadership.
"""

from odradek.protocol.error_codes import ErrorCode
from odradek.raft.messages.responses import ResponseBuilder
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.request_manager import RequestManager
from odradek.raft.roles.voter_changes import VoterChanges
from odradek.raft.states.leader import Leader
from odradek.raft.states.state import State
from odradek.raft.storage.commit_listener import CommitListener
from odradek.raft.values import Endpoints, ReplicaKey
from odradek.raft.waiting_fetches import WaitingFetches


class RoleChanges:
    def __init__(
        self,
        context: QuorumContext,
        requests: RequestManager,
        listener: CommitListener,
        waiting: WaitingFetches,
        voter_changes: VoterChanges,
    ) -> None:
        self._context = context
        self._quorum = context.quorum
        self._requests = requests
        self._listener = listener
        self._waiting = waiting
        self._voter_changes = voter_changes
        self._responses = ResponseBuilder(context)

    def become_unattached(self, epoch: int, leader_id: int | None = None) -> None:
        former = self._quorum.state
        self._quorum.to_unattached(epoch, leader_id, self._context.now_ms)
        self._leave(former)

    def become_follower(self, epoch: int, leader_id: int, endpoints: Endpoints) -> None:
        former = self._quorum.state
        self._quorum.to_follower(epoch, leader_id, endpoints, self._context.now_ms)
        self._leave(former)

    def become_resigned(self, successors: tuple[ReplicaKey, ...]) -> None:
        former = self._quorum.state
        self._quorum.to_resigned(successors, self._context.now_ms)
        self._leave(former)

    def _leave(self, former: State) -> None:
        self._requests.reset_all()
        if isinstance(former, Leader):
            self._listener.drop_retained()
            self._refuse_waiting_fetches(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            self._voter_changes.end_epoch(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._listener.maybe_leader_change(self._quorum.state)

    def _refuse_waiting_fetches(self, error: ErrorCode) -> None:
        for fetch in self._waiting.take_all():
            self._context.outbox.reply(fetch.request.handle, self._responses.build_fetch(fetch.request, error))
