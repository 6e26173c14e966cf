"""A member of a classic group: Kafka's AbstractCoordinator and ConsumerCoordinator without their network. Pure.

    UNJOINED ── join sent ──▶ PREPARING_REBALANCE ── joined, sync sent ──▶ COMPLETING_REBALANCE ── synced ──▶ STABLE
        ▲                                                                                                      │
        └────────── unknown, fenced, left: the generation is gone, and what we had is lost ─────────────────────┘

Before a join the application gives up what it must (`step`): all of it where the protocol is eager, only what it is no
longer subscribed to where it is cooperative; after the sync it learns what it has. Who leads the group learns of all
members and divides the partitions: `leading` says which topics it must know, `lead` goes on with them.

A rebalance begins when the coordinator says so, when the subscription differs from the one we joined with, when the
leader sees that its topics have changed, and when the application asks for it.
"""

from collections.abc import Callable, Sequence
from enum import Enum

from odradek.client.errors import is_retriable, refusal
from odradek.client.group import classic_requests as requests
from odradek.client.group.assignors.assignor import Assignor, is_cooperative
from odradek.client.group.core import Identity, MemberConfig, Partitions, Request, Step
from odradek.client.group.errors import not_in_group, rebalancing, too_late
from odradek.client.group.heartbeat_timers import HeartbeatTimers
from odradek.client.group.leader_assignment import Leading
from odradek.client.group.subscription import (
    MemberSubscription,
    Topics,
    decode_assignment,
    encode_subscription,
)
from odradek.common.failures import ApiError, ProtocolError
from odradek.common.randomness import Randomness
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.protocol.messages.sync_group_response import SyncGroupResponse

_NO_COORDINATOR = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class State(Enum):
    UNJOINED = "unjoined"
    PREPARING_REBALANCE = "preparing rebalance"
    COMPLETING_REBALANCE = "completing rebalance"
    STABLE = "stable"


class ClassicMember:
    def __init__(
        self,
        config: MemberConfig,
        assignors: Sequence[Assignor],
        randomness: Randomness,
        forget_coordinator: Callable[[], None],
    ) -> None:
        self._config = config
        self._assignors = {each.name: each for each in assignors}
        self._is_cooperative = is_cooperative(assignors)
        self._forget_coordinator = forget_coordinator
        self._timers = HeartbeatTimers(config, randomness)
        self._topics: tuple[str, ...] | None = None
        self._joined_topics: tuple[str, ...] | None = None
        self._rejoin_reason: str | None = ""
        #: Given up what must be given up before a join.
        self._is_prepared = False
        #: Who we were when the application's step began.
        self._stepping_as = Identity()
        self._in_flight: Request | None = None
        self._waiting: Request | None = None
        self._retry_at_ms = 0.0
        self._assignment: bytes | None = None
        self.state = State.UNJOINED
        self.identity = self.assigned_as = Identity()
        self.owned: Partitions = ()
        self.error: ApiError | None = None
        #: While this member leads: the others, and what was known when the partitions were divided.
        self.leading: Leading | None = None
        #: Whether a topic that the leader has assigned may be ours although we did not name it: one of a pattern.
        self.is_wanted: Callable[[str], bool] = self._is_named

    # What is wanted

    def subscribe(self, topics: tuple[str, ...] | None, pattern: str | None = None) -> None:
        """None for nothing at all. Patterns are the application's own here: it says which topics they match."""
        self._topics = topics

    def enforce_rebalance(self, reason: str | None) -> None:
        self._rejoin(reason or "rebalance enforced by the application")

    def topics_changed(self, topics: Topics) -> None:
        """What is known now of the topics that the group has."""
        if self.leading is not None and self.leading.differs(topics) and self._rejoin_reason is None:
            self._rejoin("cached metadata has changed")

    @property
    def awaits_topics(self) -> bool:
        """Whether `lead` is to be called."""
        return (
            self.leading is not None
            and self.state is State.COMPLETING_REBALANCE
            and self._waiting is None
            and self._in_flight is None
        )

    def give_up_leading(self, error: ApiError, now_ms: float) -> None:
        """Nothing could be learnt of the topics."""
        if self.awaits_topics:
            self._again(error, now_ms)

    def lead(self, topics: Topics) -> None:
        """With all that is known of the topics that `leading` names."""
        if self.leading is None or not self.awaits_topics:
            return
        self._waiting = requests.sync(self._config, self.identity, self.leading.assign(topics))

    # Requests

    def poll(self, now_ms: float) -> list[Request]:
        found = []
        if self._waiting is None and self._may_join(now_ms):
            self._waiting = self._join()
        if self._waiting is not None and self._in_flight is None:
            self._in_flight, self._waiting = self._waiting, None
            found.append(self._in_flight)
        beat = self._beat(now_ms)
        return found if beat is None else [*found, beat]

    def next_poll_ms(self, now_ms: float) -> float:
        times = []
        if self._is_prepared and self._in_flight is None and self._retry_at_ms > now_ms:
            times.append(self._retry_at_ms)
        if self._is_in_group:
            times.append(self._timers.next_ms())
        return min(times, default=float("inf"))

    @property
    def _is_in_group(self) -> bool:
        return self.state in (State.COMPLETING_REBALANCE, State.STABLE)

    def _may_join(self, now_ms: float) -> bool:
        return (
            self._topics is not None
            and self._is_prepared
            and self._needs_rejoin
            and self._in_flight is None
            and self._assignment is None
            and (self.leading is None or self.state is not State.COMPLETING_REBALANCE)
            and now_ms >= self._retry_at_ms
        )

    @property
    def _needs_rejoin(self) -> bool:
        return self._rejoin_reason is not None or self._topics != self._joined_topics

    def _join(self) -> Request:
        self.state = State.PREPARING_REBALANCE
        self._joined_topics = self._topics or ()
        protocols = {name: self._subscription(each) for name, each in self._assignors.items()}
        reason = self._rejoin_reason or "subscription has changed"
        return requests.join(self._config, self.identity, protocols, reason)

    def _subscription(self, assignor: Assignor) -> bytes:
        return encode_subscription(
            MemberSubscription(
                self._topics or (),
                assignor.user_data(),
                self.owned,
                self.identity.generation_id,
                self._config.rack_id,
            )
        )

    def _beat(self, now_ms: float) -> Request | None:
        if not self._is_in_group:
            return None
        if self._timers.session_is_over(now_ms):
            self._forget_coordinator()
            self._timers.reset_session(now_ms)
        if self._timers.poll_is_over(now_ms):
            return self.leave(now_ms, "consumer poll timeout has expired.")
        if not self._timers.is_due(now_ms):
            return None
        self._timers.sent(now_ms)
        return requests.heartbeat(self._config, self.identity)

    def leave(self, now_ms: float, reason: str) -> Request | None:
        """Static members say nothing: they mean to come back."""
        request = None
        if self.state is not State.UNJOINED and self.identity.member_id and self._config.group_instance_id is None:
            request = requests.leave(self._config, self.identity, reason)
        self._reset("consumer pro-actively leaving the group", forget_member_id=True)
        return request

    # Answers

    def on_response(self, request: Request, response: Message, now_ms: float) -> None:
        match response:
            case JoinGroupResponse():
                if self._take(request):
                    self._joined(request, response, now_ms)
            case SyncGroupResponse():
                if self._take(request):
                    self._synced(request, response, now_ms)
            case HeartbeatResponse():
                self._heard(request, response.error_code, now_ms)

    def on_failure(self, request: Request, error: ApiError, now_ms: float) -> None:
        """There was no answer; whoever sent it has forgotten the coordinator where that was the reason."""
        if isinstance(request.message, HeartbeatRequest):
            if request.identity == self.identity:
                self._timers.failed(now_ms)
        elif self._take(request):
            self._again(error, now_ms)

    def _take(self, request: Request) -> bool:
        """Whether it is the answer that we wait for, and not one to a rebalance that was given up."""
        if self._in_flight is not request:
            return False
        self._in_flight = None
        return True

    def _joined(self, request: Request, response: JoinGroupResponse, now_ms: float) -> None:
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.identity = Identity(response.member_id)
            self._rejoin(f"need to re-join with the given member-id: {response.member_id}")
        elif response.error_code:
            self._refused(request, response.error_code, now_ms)
        elif self.state is State.PREPARING_REBALANCE and response.protocol_name in self._assignors:
            self._in_generation(response, now_ms)
        else:
            self._again(_inconsistent(response.protocol_name), now_ms)

    def _in_generation(self, response: JoinGroupResponse, now_ms: float) -> None:
        assert response.protocol_name is not None
        self.state = State.COMPLETING_REBALANCE
        self.identity = Identity(response.member_id, response.generation_id, response.protocol_name)
        self._timers.reset(now_ms)
        if response.leader != response.member_id:
            self._waiting = requests.sync(self._config, self.identity, {})
            return
        assignor = self._assignors[response.protocol_name]
        try:
            self.leading = Leading(assignor, response.members, skips=response.skip_assignment)
        except ProtocolError as error:
            why = f"a member of the group says what cannot be read: {error}"
            self._again(Refused(why, ErrorCode.UNKNOWN_SERVER_ERROR), now_ms)

    def _synced(self, request: Request, response: SyncGroupResponse, now_ms: float) -> None:
        if response.error_code:
            self._refused(request, response.error_code, now_ms)
        elif self.state is not State.COMPLETING_REBALANCE:
            self._again(ApiError("the generation was given up meanwhile", ErrorCode.ILLEGAL_GENERATION), now_ms)
        elif response.protocol_name not in (None, self.identity.protocol_name):
            self._again(_inconsistent(response.protocol_name), now_ms)
        else:
            self.state = State.STABLE
            self._rejoin_reason = None
            self._assignment = response.assignment

    def _refused(self, request: Request, code: int, now_ms: float) -> None:
        """Of a join or a sync."""
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION) and request.identity == self.identity:
            self._reset("we are not known", forget_member_id=code == ErrorCode.UNKNOWN_MEMBER_ID)
        if code in _NO_COORDINATOR:
            self._forget_coordinator()
        error = refusal(code)
        assert error is not None
        self._again(error, now_ms)

    def _again(self, error: ApiError, now_ms: float) -> None:
        """A rebalance that failed: begin anew, at once or a little later, or tell the application."""
        self.leading = None
        self._rejoin(f"rebalance failed due to {error}")
        if error.code in _AT_ONCE:
            return
        if not is_retriable(error):
            self._fail(error)
        self._retry_at_ms = now_ms + self._config.backoff.initial_ms

    def _heard(self, request: Request, code: int, now_ms: float) -> None:
        """Of a heartbeat; timers have begun anew with the generation."""
        if request.identity != self.identity:
            return
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._timers.answered(now_ms)
            if code and self.state is State.STABLE:
                self._rejoin("group is already rebalancing")
        elif code in _GONE:
            self._reset("a heartbeat was refused", forget_member_id=code != ErrorCode.ILLEGAL_GENERATION)
            if code == ErrorCode.FENCED_INSTANCE_ID:
                self._fail(refusal(code))
        else:
            self._timers.failed(now_ms)
            if code in _NO_COORDINATOR:
                self._forget_coordinator()
            elif code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                self._fail(refusal(code))

    def _rejoin(self, reason: str) -> None:
        self._rejoin_reason = reason

    def _reset(self, reason: str, *, forget_member_id: bool) -> None:
        """Out of the generation; what we have is lost, as far as the group is concerned."""
        self.state = State.UNJOINED
        self.identity = Identity("" if forget_member_id else self.identity.member_id)
        self._in_flight = self._waiting = None
        self._is_prepared = False
        self._rejoin(reason)

    def _fail(self, error: ApiError | None) -> None:
        self.error = error

    # The application's side

    def polled(self, now_ms: float) -> None:
        self._timers.polled(now_ms)

    @property
    def is_rebalancing(self) -> bool:
        return self._topics is not None and (self._needs_rejoin or self._assignment is not None)

    @property
    def is_step_due(self) -> bool:
        return self._topics is not None and (self._assignment is not None or self._is_preparation_due)

    @property
    def _is_preparation_due(self) -> bool:
        return self._needs_rejoin and not self._is_prepared and self._in_flight is None

    def step(self) -> Step | None:
        if self._topics is None:
            return None
        if self._assignment is not None:
            step = self._completion(self._assignment)
            if step is not None:
                return step
        return self._preparation() if self._is_preparation_due else None

    def _preparation(self) -> Step:
        self._stepping_as = self.identity
        if not self.identity.is_member:
            return Step(False, None, self.owned or None, (), None)
        if not self._is_cooperative:
            return Step(True, self.owned, None, (), None)
        unwanted = tuple(one for one in self.owned if one.topic not in (self._topics or ()))
        kept = tuple(one for one in self.owned if one not in unwanted)
        return Step(True, unwanted or None, None, kept, None)

    def _completion(self, data: bytes) -> Step | None:
        """None if the assignment is not one that we can have."""
        self._stepping_as = self.identity
        if self.state is not State.STABLE or not self.identity.is_member:
            self._drop_assignment("the generation is gone already")
            return None
        try:
            assigned = tuple(sorted(decode_assignment(data)))
        except ProtocolError as error:
            self._drop_assignment("the assignment cannot be read")
            self._fail(Refused(f"the leader of the group assigned what cannot be read: {error}"))
            return None
        if not all(self.is_wanted(one.topic) for one in assigned):
            self._drop_assignment("received assignment does not match the current subscription")
            return None
        revoked = tuple(one for one in self.owned if one not in assigned)
        added = tuple(one for one in assigned if one not in self.owned)
        return Step(bool(revoked), revoked or None, None, assigned, added)

    def _drop_assignment(self, reason: str) -> None:
        self._assignment = None
        self._is_prepared = False
        self._rejoin(reason)

    def _is_named(self, topic: str) -> bool:
        return topic in (self._topics or ())

    def holds(self, step: Step) -> bool:
        """As long as we are who we were, and for a completion in its generation."""
        return self.identity == self._stepping_as and (step.added is None or self.state is State.STABLE)

    def done(self, step: Step) -> None:
        """It was done even if it does not hold any more: what the application has then is lost by the next one."""
        self.owned = step.assigned
        if step.added is None:
            self._is_prepared = self.holds(step)
            self.leading = None
            return
        self._assignment = None
        self._is_prepared = False
        assignor = self._assignors.get(self._stepping_as.protocol_name or "")
        if assignor is not None:
            assignor.on_assignment(step.assigned, self._stepping_as.generation_id)
        self.assigned_as = self._stepping_as
        if step.revoked:
            self._rejoin("need to revoke partitions and re-join")

    # Commits

    def commit_identity(self) -> Identity:
        if self.state is State.STABLE:
            return self.identity
        group_id = self._config.group_id
        raise not_in_group(group_id) if self.state is State.UNJOINED else rebalancing(group_id)

    def on_commit_error(self, code: int, sent: Identity) -> ApiError:
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._rejoin("offset commit failed since group is already rebalancing")
            return rebalancing(self._config.group_id)
        if code not in _GONE:
            return refusal(code) or ApiError()
        if sent != self.identity and self.state is State.PREPARING_REBALANCE:
            return rebalancing(self._config.group_id)
        if sent == self.identity:
            if code == ErrorCode.FENCED_INSTANCE_ID:
                return refusal(code) or ApiError()
            self._reset("a commit was refused", forget_member_id=code != ErrorCode.ILLEGAL_GENERATION)
        return too_late(self._config.group_id)


#: Of a heartbeat or a commit: the generation goes on without us.
_GONE = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)

#: Joining again is what the coordinator asked for.
_AT_ONCE = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS)


def _inconsistent(name: str | None) -> Refused:
    return Refused(f"the group has chosen {name}, which is no assignor of ours", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
