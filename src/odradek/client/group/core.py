"""What the two kinds of members have in common: their settings, their requests, and what they want of the application.

Pure, as the members themselves. A member is driven from two sides. The driver of its requests calls `poll` whenever
something has happened and when `next_poll_ms` has come, sends what it gets to the coordinator, and hands back what
becomes of it. The application's side calls `polled` at each of its polls, asks for the next `step`, carries it out and
says so (`done`); between two of its parts it asks whether the step still holds (`holds`), for the group may go on
without us while a callback runs.
"""

from dataclasses import dataclass
from typing import Protocol

from odradek.client.group.subscription import NO_GENERATION
from odradek.client.net.backoff import Backoff
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.protocol.message import Message

Partitions = tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class MemberConfig:
    group_id: str
    group_instance_id: str | None
    rack_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    #: max.poll.interval.ms, and how long the group waits for a member in a rebalance.
    max_poll_interval_ms: int
    request_timeout_ms: int
    backoff: Backoff
    #: group.remote.assignor, of the consumer protocol.
    server_assignor: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Who speaks: a member in one generation, or in one epoch."""

    member_id: str = ""
    generation_id: int = NO_GENERATION
    #: The assignor that the classic group has chosen.
    protocol_name: str | None = None

    @property
    def is_member(self) -> bool:
        return self.generation_id != NO_GENERATION and self.member_id != ""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """To the coordinator. Who has changed since does not hear an answer to who it was."""

    message: Message
    identity: Identity
    timeout_ms: float
    #: The last words of a member: what is answered does not matter.
    is_last: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What the application's side has to do, from top to bottom. None is a callback that is not called."""

    #: Commit what was handed out, where that is automatic; nothing more of `revoked` is handed out.
    is_commit_due: bool
    revoked: Partitions | None
    lost: Partitions | None
    #: All that the member has from now on.
    assigned: Partitions
    added: Partitions | None


class MemberCore(Protocol):
    #: What the member has, as its application knows it.
    owned: Partitions
    identity: Identity
    #: Who we were when we last had an assignment. A transaction's offsets are committed in its name even if we are
    #: nobody by now: so that they are refused if somebody else has the partitions.
    assigned_as: Identity
    #: What it must be told; whoever raises it takes it away.
    error: ApiError | None

    def subscribe(self, topics: tuple[str, ...] | None, pattern: str | None = None) -> None: ...
    def poll(self, now_ms: float) -> list[Request]: ...
    def next_poll_ms(self, now_ms: float) -> float: ...
    def on_response(self, request: Request, response: Message, now_ms: float) -> None: ...
    def on_failure(self, request: Request, error: ApiError, now_ms: float) -> None: ...
    def polled(self, now_ms: float) -> None: ...
    @property
    def is_rebalancing(self) -> bool:
        """Whether something is to come before the assignment is settled."""

    @property
    def is_step_due(self) -> bool:
        """Whether `step` would give one, unless the one that is being carried out is it."""

    def step(self) -> Step | None:
        """The next one, which begins with this call."""

    def holds(self, step: Step) -> bool: ...
    def done(self, step: Step) -> None: ...
    def commit_identity(self) -> Identity:
        """Raises CommitFailed or RebalanceInProgress."""

    def on_commit_error(self, code: int, sent: Identity) -> ApiError:
        """What to raise for what the coordinator said of a commit."""

    def leave(self, now_ms: float, reason: str) -> Request | None:
        """After its callbacks. None if there is nobody to be told."""
