"""A member of a consumer group (KIP-848): Kafka's ConsumerMembershipManager without its network. Pure.

    UNSUBSCRIBED ──▶ JOINING ──▶ STABLE ◀── ACKNOWLEDGING ◀── RECONCILING
                        ▲           └──────── a new target ────────▲
                        ├── FENCED: the group has gone on without us; what we had is lost
                        └── STALE: the application did not poll; we left, and join again when it does

FATAL is for what no member can go on with; whoever leaves is UNSUBSCRIBED with its last words.

The coordinator assigns. A heartbeat brings the partitions that a member is to have (the target); it comes to have them
by a `step` of the application: commit, give up what must go, take what is new. The next heartbeat says so, and only
then may others have what was given up. One step is taken at a time; a target that changes meanwhile comes after it.

Partitions come with the ids of their topics. `resolve` knows their names, as far as metadata has them; what it does not
know yet is left for later, and `unresolved` says what to ask for.
"""

from collections.abc import Callable, Mapping
from enum import Enum

from odradek.client.errors import refusal
from odradek.client.group.consumer_heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    NO_ASSIGNMENT,
    STATIC_LEAVE_EPOCH,
    HeartbeatFields,
    Heartbeats,
    LocalAssignment,
)
from odradek.client.group.core import Identity, MemberConfig, Partitions, Request, Step
from odradek.client.group.errors import not_in_group, too_late
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.common.randomness import Randomness
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.consumer_group_heartbeat_response import Assignment, ConsumerGroupHeartbeatResponse


class State(Enum):
    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    RECONCILING = "reconciling"
    ACKNOWLEDGING = "acknowledging"
    STABLE = "stable"
    FENCED = "fenced"
    STALE = "stale"
    FATAL = "fatal"


_IN_GROUP = (State.JOINING, State.RECONCILING, State.ACKNOWLEDGING, State.STABLE)

_NO_COORDINATOR = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_GONE = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)


class ConsumerMember:
    def __init__(
        self,
        config: MemberConfig,
        member_id: str,
        resolve: Callable[[bytes], str | None],
        randomness: Randomness,
        forget_coordinator: Callable[[], None],
    ) -> None:
        """`member_id` is of our own choice, and ours for good."""
        self._config = config
        self._resolve = resolve
        self._randomness = randomness
        self._forget_coordinator = forget_coordinator
        self._heartbeats = Heartbeats(config, member_id)
        self._topics: tuple[str, ...] | None = None
        self._pattern: str | None = None
        self._target = NO_ASSIGNMENT
        self._current = NO_ASSIGNMENT
        #: What a step that has begun will lead to; it is given up by whatever takes us out of RECONCILING.
        self._reconciling: LocalAssignment | None = None
        #: While the application is at it nobody knows what it has.
        self._is_stepping = False
        self._in_flight: Request | None = None
        self._interval_ms = 0.0
        self._beat_at_ms = 0.0
        self._failures = 0
        self._poll_ends_ms: float | None = None
        self.state = State.UNSUBSCRIBED
        self.identity = self.assigned_as = Identity(member_id)
        self.owned: Partitions = ()
        self.error: ApiError | None = None

    # What is wanted

    def subscribe(self, topics: tuple[str, ...] | None, pattern: str | None = None) -> None:
        """None for nothing at all. The pattern is the coordinator's to match (RE2)."""
        self._topics, self._pattern = topics, pattern

    @property
    def is_subscribed(self) -> bool:
        return self._topics is not None

    def unresolved(self) -> tuple[bytes, ...]:
        """Ids of topics whose names are to be asked for."""
        if self.state is not State.RECONCILING:
            return ()
        return tuple(topic_id for topic_id in self._target.by_topic() if self._resolve(topic_id) is None)

    # Requests

    def poll(self, now_ms: float) -> list[Request]:
        self._acknowledge_what_is_there()
        if self.state not in _IN_GROUP:
            return []
        if self._poll_ends_ms is not None and now_ms >= self._poll_ends_ms:
            return [self._go_stale()]
        if self._in_flight is not None or not self._is_due(now_ms):
            return []
        self._in_flight = self._heartbeat(now_ms)
        return [self._in_flight]

    def _is_due(self, now_ms: float) -> bool:
        if now_ms < self._beat_at_ms and self._failures:
            return False
        is_pressing = self.state in (State.JOINING, State.ACKNOWLEDGING) or self._heartbeats.has_news(self._saying())
        return is_pressing or now_ms >= self._beat_at_ms

    def next_poll_ms(self, now_ms: float) -> float:
        if self.state not in _IN_GROUP:
            return float("inf")
        ends_ms = float("inf") if self._poll_ends_ms is None else self._poll_ends_ms
        return ends_ms if self._in_flight is not None else min(ends_ms, self._beat_at_ms)

    def _saying(self) -> HeartbeatFields:
        return HeartbeatFields(
            self._topics or (), self._pattern, self._current, self._target, self._reconciling or NO_ASSIGNMENT
        )

    def _heartbeat(self, now_ms: float) -> Request:
        message = self._heartbeats.make(
            self.identity.generation_id, self._saying(), is_joining=self.state is State.JOINING
        )
        self._beat_at_ms = now_ms + self._interval_ms
        if self.state is State.ACKNOWLEDGING:
            self.state = State.STABLE if self._current == self._target else State.RECONCILING
        return Request(message, self.identity, self._config.request_timeout_ms)

    def _last_words(self) -> Request:
        is_static = self._config.group_instance_id is not None
        self._become(STATIC_LEAVE_EPOCH if is_static else LEAVE_EPOCH)
        message = self._heartbeats.make(self.identity.generation_id, self._saying(), is_joining=False)
        message.subscribed_topic_names = message.subscribed_topic_regex = message.topic_partitions = None
        self._heartbeats.forget()
        self._in_flight = None
        return Request(message, self.identity, self._config.request_timeout_ms, is_last=True)

    def _go_stale(self) -> Request:
        """The application is stuck: others may have its partitions."""
        request = self._last_words()
        self._poll_ends_ms = None
        self._drop_target()
        self.state = State.STALE
        return request

    def leave(self, now_ms: float, reason: str) -> Request | None:
        request = self._last_words() if self.state in _IN_GROUP and self.identity.generation_id > JOIN_EPOCH else None
        self._drop_target()
        self._in_flight = None
        self.owned, self._current = (), NO_ASSIGNMENT
        self._poll_ends_ms = None
        if self.state is not State.FATAL:
            self.state = State.UNSUBSCRIBED
        return request

    # Answers

    def on_response(self, request: Request, response: Message, now_ms: float) -> None:
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        if not self._take(request):
            return
        if response.error_code:
            self._handle_error_code(response.error_code, response.error_message, now_ms)
            return
        self._failures = 0
        self._interval_ms = response.heartbeat_interval_ms
        self._beat_at_ms = now_ms + self._interval_ms
        if response.member_epoch < 0:
            return
        self._become(response.member_epoch)
        if response.assignment is not None:
            self._aim(response.assignment)
        elif self.state is State.JOINING and self._current == self._target:
            self.state = State.STABLE

    def on_failure(self, request: Request, error: ApiError, now_ms: float) -> None:
        if not self._take(request):
            return
        self._heartbeats.forget()
        self._back_off(now_ms)
        if error.code == ErrorCode.UNSUPPORTED_VERSION:
            self._fail(error)

    def _take(self, request: Request) -> bool:
        """Return whether a response belongs to the request in flight, and not to a leave or an earlier join."""
        if self._in_flight is not request:
            return False
        self._in_flight = None
        return self.state in _IN_GROUP

    def _handle_error_code(self, code: int, message: str | None, now_ms: float) -> None:
        self._heartbeats.forget()
        self._back_off(now_ms)
        if code in _NO_COORDINATOR:
            self._forget_coordinator()
        elif code in _GONE:
            self._failures = 0
            self._fence()
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self.error = refusal(code, message)
        elif code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            self._fail(refusal(code, message))

    def _back_off(self, now_ms: float) -> None:
        self._failures += 1
        self._beat_at_ms = now_ms + self._config.backoff.delay_ms(self._failures, self._randomness)

    def _aim(self, assignment: Assignment) -> None:
        partitions = {
            topic.topic_id: tuple(sorted(topic.partitions))
            for topic in sorted(assignment.topic_partitions, key=lambda topic_partitions: topic_partitions.topic_id)
            if topic.partitions
        }
        if partitions != self._target.partitions:
            self._target = LocalAssignment(self._target.number + 1, partitions)
        if self._current != self._target:
            self.state = State.RECONCILING
        elif self.state in (State.RECONCILING, State.JOINING):
            self.state = State.STABLE

    def _fence(self) -> None:
        self.state = State.FENCED
        self._become(JOIN_EPOCH)
        self._drop_target()
        self._maybe_rejoin()

    def _maybe_rejoin(self) -> None:
        """Once the application has nothing any more."""
        if not self.owned and not self._is_stepping:
            self._join()

    def _fail(self, error: ApiError | None) -> None:
        self.error = error
        self.state = State.FATAL
        self._drop_target()

    def _join(self) -> None:
        """Join as a new member with the same member id."""
        self._become(JOIN_EPOCH)
        self._current = NO_ASSIGNMENT
        self._drop_target()
        self._in_flight = None
        self._heartbeats.forget()
        self._beat_at_ms, self._failures = 0.0, 0
        self.state = State.JOINING

    def _become(self, epoch: int) -> None:
        self.identity = Identity(self.identity.member_id, epoch)
        if epoch > JOIN_EPOCH:
            self.assigned_as = self.identity

    def _drop_target(self) -> None:
        self._target = NO_ASSIGNMENT
        self._reconciling = None

    # The application's side

    def take_error(self) -> ApiError | None:
        error, self.error = self.error, None
        return error

    def release_owned(self) -> None:
        self.owned = ()

    def polled(self, now_ms: float) -> None:
        if self._topics is None:
            return
        self._poll_ends_ms = now_ms + self._config.max_poll_interval_ms
        if self.state in (State.UNSUBSCRIBED, State.STALE):
            self._maybe_rejoin()

    @property
    def is_rebalancing(self) -> bool:
        return self.is_subscribed and self.state not in (State.STABLE, State.FATAL)

    @property
    def is_step_due(self) -> bool:
        return self._next_step() is not None

    def step(self) -> Step | None:
        step = self._next_step()
        self._is_stepping = step is not None
        if step is not None and step.lost is None:
            self._reconciling = LocalAssignment(self._target.number, self._resolvable()[0])
        return step

    def _next_step(self) -> Step | None:
        if self.state in (State.FENCED, State.STALE, State.FATAL):
            return Step(False, None, self.owned, (), None) if self.owned or self._is_stepping else None
        if self.state is not State.RECONCILING:
            return None
        resolved, assigned = self._resolvable()
        if not self._current.is_none and resolved == self._current.partitions:
            return None
        revoked = tuple(partition for partition in self.owned if partition not in assigned)
        added = tuple(partition for partition in assigned if partition not in self.owned)
        return Step(True, revoked or None, None, assigned, added)

    def _resolvable(self) -> tuple[Mapping[bytes, tuple[int, ...]], Partitions]:
        """Return the target partitions whose topic names are cached, by topic id and by name."""
        resolved = {}
        assigned: list[TopicPartition] = []
        for topic_id, partition_indexes in self._target.by_topic().items():
            name = self._resolve(topic_id)
            if name is not None:
                resolved[topic_id] = partition_indexes
                assigned += [TopicPartition(name, partition_index) for partition_index in partition_indexes]
        return resolved, tuple(sorted(assigned))

    def _acknowledge_what_is_there(self) -> None:
        """A target of which we have all that we can resolve needs nothing of the application."""
        if self.state is not State.RECONCILING or self._current.is_none or self._reconciling is not None:
            return
        resolved, _ = self._resolvable()
        if resolved == self._current.partitions and self._target.number != self._current.number:
            self._current = LocalAssignment(self._target.number, resolved)
            self.state = State.ACKNOWLEDGING

    def holds(self, step: Step) -> bool:
        if step.lost is not None:
            return self.state in (State.FENCED, State.STALE, State.FATAL)
        return self.state is State.RECONCILING and self._reconciling is not None

    def done(self, step: Step) -> None:
        """It was done even if it does not hold any more: what the application has then is lost by the next one."""
        self._is_stepping = False
        self.owned = step.assigned
        if step.lost is not None:
            self._current = NO_ASSIGNMENT
            if self.state in (State.FENCED, State.STALE):
                self._join()
        elif self._reconciling is not None and self.state is State.RECONCILING:
            self._current, self._reconciling = self._reconciling, None
            self.state = State.ACKNOWLEDGING

    # Commits

    def commit_identity(self) -> Identity:
        if self.state in _IN_GROUP and self.identity.generation_id > JOIN_EPOCH:
            return self.identity
        raise not_in_group(self._config.group_id)

    def on_commit_error(self, code: int, sent: Identity) -> ApiError:
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION):
            return too_late(self._config.group_id)
        return refusal(code) or ApiError()
