"""Interface of members of both group protocols: settings, requests, and steps for the application. Pure.

A member is driven from two sides. The driver of its requests calls `poll` after every event and when `next_poll_ms` has
come, sends the requests to the coordinator, and passes on the responses. The application's side calls `polled` at each
of its polls, gets the next `step`, carries it out and confirms it (`done`). Between two parts of a step it checks
whether the step is still valid (`holds`): the group may go on without the member while a callback runs.
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
    """Member id with a generation, or with an epoch."""

    member_id: str = ""
    generation_id: int = NO_GENERATION
    #: Assignor that the classic group has selected.
    protocol_name: str | None = None

    @property
    def is_member(self) -> bool:
        return self.generation_id != NO_GENERATION and self.member_id != ""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """Request to the coordinator. A response counts only as long as the member has the same identity."""

    message: Message
    identity: Identity
    timeout_ms: float
    #: Whether the member leaves with it: the response does not matter.
    is_last: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Actions of the application's side, from top to bottom. None is a callback that is not called."""

    #: Commit the positions if auto commit is enabled; no more records of `revoked` are returned.
    is_commit_due: bool
    revoked: Partitions | None
    lost: Partitions | None
    #: All partitions that the member has from now on.
    assigned: Partitions
    added: Partitions | None


class MemberCore(Protocol):
    @property
    def owned(self) -> Partitions:
        """Partitions that the application has."""

    @property
    def identity(self) -> Identity: ...
    @property
    def assigned_as(self) -> Identity:
        """Identity at the time of the last assignment.

        Offsets of a transaction are committed with it even after the member has lost its identity: the coordinator
        rejects them if other members have the partitions."""

    @property
    def error(self) -> ApiError | None:
        """Error that the next poll of the application raises."""

    def take_error(self) -> ApiError | None:
        """Return the error and clear it."""

    def subscribe(self, topics: tuple[str, ...] | None, pattern: str | None = None) -> None: ...
    def poll(self, now_ms: float) -> list[Request]: ...
    def next_poll_ms(self, now_ms: float) -> float: ...
    def on_response(self, request: Request, response: Message, now_ms: float) -> None: ...
    def on_failure(self, request: Request, error: ApiError, now_ms: float) -> None: ...
    def polled(self, now_ms: float) -> None: ...
    @property
    def is_rebalancing(self) -> bool:
        """Return whether the assignment is going to change."""

    @property
    def is_step_due(self) -> bool:
        """Return whether `step` would return a step, other than the one in progress."""

    def step(self) -> Step | None:
        """Return the next step, which begins with this call."""

    def holds(self, step: Step) -> bool: ...
    def done(self, step: Step) -> None: ...
    def release_owned(self) -> None:
        """Note that the application has given up all partitions, before the member leaves."""

    def commit_identity(self) -> Identity:
        """Raises CommitFailed or RebalanceInProgress."""

    def on_commit_error(self, code: int, sent: Identity) -> ApiError:
        """Return the exception for the error code of a commit."""

    def leave(self, now_ms: float, reason: str) -> Request | None:
        """Leave the group, after the callbacks. Return None if no request is needed."""
