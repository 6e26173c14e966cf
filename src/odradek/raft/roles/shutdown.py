"""The stop of a replica: it ends its role first, so that another voter can lead without a time-out."""

from odradek.raft.effects import Stopped
from odradek.raft.quorum_context import QuorumContext
from odradek.raft.request_manager import RequestManager
from odradek.raft.values import NEVER_MS


class Shutdown:
    def __init__(self, context: QuorumContext, requests: RequestManager) -> None:
        self._context = context
        self._requests = requests
        #: When the replica stops even if nobody else leads; None if it is not to stop.
        self.deadline_ms: int | None = None
        #: A leader that is to stop resigns once everything is committed, and at this time at the latest.
        self.resign_deadline_ms = NEVER_MS
        self.is_complete = False

    def request(self, timeout_ms: int, now_ms: int) -> None:
        """Stop once another replica leads, and after `timeout_ms` at the latest."""
        self.deadline_ms = now_ms + timeout_ms
        self.resign_deadline_ms = now_ms + min(timeout_ms, self._context.config.disconnect_grace_ms)

    def maybe_complete(self) -> bool:
        """Stop if it is time. Return whether the replica has stopped."""
        context, deadline_ms = self._context, self.deadline_ms
        if deadline_ms is None or self.is_complete:
            return self.is_complete
        quorum, leader_id = context.quorum, context.state.leader_id
        has_other_leader = leader_id is not None and leader_id != context.local.id
        handed_over = not quorum.is_voter or quorum.is_only_voter or has_other_leader
        if handed_over or context.now_ms >= deadline_ms or self._can_nobody_succeed():
            self.is_complete = True
            context.outbox.emit(Stopped(handed_over))
        return self.is_complete

    def _can_nobody_succeed(self) -> bool:
        """Return whether too few of the other voters run to elect one of themselves: waiting does not help then."""
        voters, local_id = self._context.voters, self._context.local.id
        running = [i for i in voters.ids if i != local_id and not self._requests.is_unreachable(i)]
        return len(running) <= len(voters) // 2
