"""A member of a classic group: Kafka's AbstractCoordinator and ConsumerCoordinator without their network. Pure.

The member knows its `Generation`, when it must join the next one (`RejoinTimer`), which request is in flight
(`GroupRequests`), when heartbeats are due (`HeartbeatTimers`), and how partitions pass to and from its application
(`AssignmentHandover`). The leader of the group also has all subscriptions and divides the partitions
(`LeaderAssignment`): `leading` says which topics it needs metadata of, and `lead` continues with that metadata.

A rebalance begins when the coordinator requests it, when the subscription differs from the one of the last join, when
the leader sees that its topics have changed, and when the application asks for it.
"""

from collections.abc import Callable, Sequence

from odradek.client.errors import is_retriable, refusal
from odradek.client.group.assignment_handover import AssignmentHandover
from odradek.client.group.assignors.assignor import Assignor, is_cooperative
from odradek.client.group.classic_requests import GroupRequests
from odradek.client.group.core import Identity, MemberConfig, Partitions, Request, Step
from odradek.client.group.errors import not_in_group, rebalancing, too_late
from odradek.client.group.generation import ClassicMemberState, Generation, RejoinTimer
from odradek.client.group.heartbeat_timers import HeartbeatTimers
from odradek.client.group.leader_assignment import LeaderAssignment
from odradek.client.group.subscription import MemberSubscription, Topics, encode_subscription
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

#: Errors of a heartbeat or a commit after which the group goes on without the member.
_NOT_A_MEMBER = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)

#: Errors after which the member joins again without a backoff, as the coordinator requests.
_IMMEDIATE_RETRY = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS)


class ClassicMember:
    def __init__(
        self,
        config: MemberConfig,
        assignors: Sequence[Assignor],
        randomness: Randomness,
        forget_coordinator: Callable[[], None],
        is_subscribed: Callable[[str], bool] | None = None,
    ) -> None:
        """`is_subscribed` says whether an assigned topic may belong to the member; a pattern names no topics."""
        self._config = config
        self._assignors = {assignor.name: assignor for assignor in assignors}
        self._forget_coordinator = forget_coordinator
        self._timers = HeartbeatTimers(config, randomness)
        self._generation = Generation()
        self._rejoin = RejoinTimer()
        self._requests = GroupRequests(config)
        self._handover = AssignmentHandover(
            self._generation,
            self._rejoin,
            self._assignors,
            is_subscribed or self._rejoin.includes,
            self._fail,
            is_cooperative=is_cooperative(assignors),
        )
        self.error: ApiError | None = None
        #: Set while this member leads: the subscriptions of all members, and the topics that were divided.
        self.leading: LeaderAssignment | None = None

    @property
    def state(self) -> ClassicMemberState:
        return self._generation.state

    @property
    def identity(self) -> Identity:
        return self._generation.identity

    @property
    def assigned_as(self) -> Identity:
        return self._handover.assigned_as

    @property
    def owned(self) -> Partitions:
        return self._handover.owned

    # Subscription and leadership

    def subscribe(self, topics: tuple[str, ...] | None, pattern: str | None = None) -> None:
        """Subscribe to topics; None to unsubscribe. The application itself resolves patterns to topics here."""
        self._rejoin.subscribe(topics)

    def enforce_rebalance(self, reason: str | None) -> None:
        self._rejoin.request(reason or "rebalance enforced by the application")

    def topics_changed(self, topics: Topics) -> None:
        """Compare the group's topics with those that were divided; the leader joins again if they differ."""
        if self.leading is not None and self.leading.differs(topics) and not self._rejoin.is_requested:
            self._rejoin.request("cached metadata has changed")

    @property
    def awaits_topics(self) -> bool:
        """Return whether `lead` must be called."""
        return (
            self.leading is not None
            and self.state is ClassicMemberState.COMPLETING_REBALANCE
            and not self._requests.has_waiting
            and not self._requests.has_in_flight
        )

    def fail_leading(self, error: ApiError, now_ms: float) -> None:
        """Restart the rebalance: the metadata of the topics is not available, or the assignor failed."""
        if self.awaits_topics:
            self._restart_rebalance(error, now_ms)

    def lead(self, topics: Topics) -> None:
        """Divide the partitions, with the metadata of the topics that `leading` names."""
        if self.leading is None or not self.awaits_topics:
            return
        self._requests.sync(self.identity, self.leading.assign(topics))

    # Requests

    def poll(self, now_ms: float) -> list[Request]:
        if not self._requests.has_waiting and self._may_join(now_ms):
            self._join()
        request, heartbeat = self._requests.next(), self._heartbeat(now_ms)
        return [sent for sent in (request, heartbeat) if sent is not None]

    def next_poll_ms(self, now_ms: float) -> float:
        times = []
        retry_at_ms = self._rejoin.retry_at_ms
        if self._handover.is_prepared and not self._requests.has_in_flight and retry_at_ms > now_ms:
            times.append(retry_at_ms)
        if self._generation.is_joined:
            times.append(self._timers.next_ms())
        return min(times, default=float("inf"))

    def _may_join(self, now_ms: float) -> bool:
        return (
            self._rejoin.topics is not None
            and self._handover.is_prepared
            and self._rejoin.is_needed
            and not self._requests.has_in_flight
            and not self._handover.has_assignment
            and (self.leading is None or self.state is not ClassicMemberState.COMPLETING_REBALANCE)
            and now_ms >= self._rejoin.retry_at_ms
        )

    def _join(self) -> None:
        self._generation.start_join()
        reason = self._rejoin.start()
        protocols = {name: self._subscription(assignor) for name, assignor in self._assignors.items()}
        self._requests.join(self.identity, protocols, reason)

    def _subscription(self, assignor: Assignor) -> bytes:
        return encode_subscription(
            MemberSubscription(
                self._rejoin.topics or (),
                assignor.user_data(),
                self.owned,
                self.identity.generation_id,
                self._config.rack_id,
            )
        )

    def _heartbeat(self, now_ms: float) -> Request | None:
        if not self._generation.is_joined:
            return None
        if self._timers.session_is_over(now_ms):
            self._forget_coordinator()
            self._timers.reset_session(now_ms)
        if self._timers.poll_is_over(now_ms):
            return self.leave(now_ms, "consumer poll timeout has expired.")
        if not self._timers.is_due(now_ms):
            return None
        self._timers.sent(now_ms)
        return self._requests.heartbeat(self.identity)

    def leave(self, now_ms: float, reason: str) -> Request | None:
        """Leave the group. Static members send nothing: they are expected to come back."""
        request = None
        is_dynamic = self._config.group_instance_id is None
        if self.state is not ClassicMemberState.UNJOINED and self.identity.member_id and is_dynamic:
            request = self._requests.leave(self.identity, reason)
        self._reset("consumer pro-actively leaving the group", forget_member_id=True)
        return request

    # Responses

    def on_response(self, request: Request, response: Message, now_ms: float) -> None:
        match response:
            case JoinGroupResponse():
                if self._requests.take(request):
                    self._handle_join_response(request, response, now_ms)
            case SyncGroupResponse():
                if self._requests.take(request):
                    self._handle_sync_response(request, response, now_ms)
            case HeartbeatResponse():
                self._handle_heartbeat_response(request, response.error_code, now_ms)

    def on_failure(self, request: Request, error: ApiError, now_ms: float) -> None:
        """Handle a missing response; the driver has forgotten the coordinator if that was the reason."""
        if isinstance(request.message, HeartbeatRequest):
            if request.identity == self.identity:
                self._timers.failed(now_ms)
        elif self._requests.take(request):
            self._restart_rebalance(error, now_ms)

    def _handle_join_response(self, request: Request, response: JoinGroupResponse, now_ms: float) -> None:
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._generation.accept_member_id(response.member_id)
            self._rejoin.request(f"need to re-join with the given member-id: {response.member_id}")
        elif response.error_code:
            self._handle_rebalance_error(request, response.error_code, now_ms)
        elif self.state is ClassicMemberState.PREPARING_REBALANCE and response.protocol_name in self._assignors:
            self._enter_generation(response, response.protocol_name, now_ms)
        else:
            self._restart_rebalance(_inconsistent(response.protocol_name), now_ms)

    def _enter_generation(self, response: JoinGroupResponse, protocol_name: str, now_ms: float) -> None:
        self._generation.join(response.member_id, response.generation_id, protocol_name)
        self._timers.reset(now_ms)
        if response.leader != response.member_id:
            self._requests.sync(self.identity, {})
            return
        try:
            assignor = self._assignors[protocol_name]
            self.leading = LeaderAssignment(assignor, response.members, skips=response.skip_assignment)
        except ProtocolError as error:
            reason = f"a member of the group sent a subscription that cannot be read: {error}"
            self._restart_rebalance(Refused(reason, ErrorCode.UNKNOWN_SERVER_ERROR), now_ms)

    def _handle_sync_response(self, request: Request, response: SyncGroupResponse, now_ms: float) -> None:
        if response.error_code:
            self._handle_rebalance_error(request, response.error_code, now_ms)
        elif self.state is not ClassicMemberState.COMPLETING_REBALANCE:
            self._restart_rebalance(ApiError("the generation has ended", ErrorCode.ILLEGAL_GENERATION), now_ms)
        elif response.protocol_name not in (None, self.identity.protocol_name):
            self._restart_rebalance(_inconsistent(response.protocol_name), now_ms)
        else:
            self._generation.complete()
            self._rejoin.complete()
            self._handover.assign(response.assignment)

    def _handle_rebalance_error(self, request: Request, code: int, now_ms: float) -> None:
        """Handle the error code of a join or a sync."""
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION) and request.identity == self.identity:
            self._reset("the member is unknown", forget_member_id=code == ErrorCode.UNKNOWN_MEMBER_ID)
        if code in _NO_COORDINATOR:
            self._forget_coordinator()
        error = refusal(code)
        assert error is not None
        self._restart_rebalance(error, now_ms)

    def _restart_rebalance(self, error: ApiError, now_ms: float) -> None:
        """Join again after a failed rebalance, at once or after a backoff; report errors that are not retriable."""
        self.leading = None
        self._rejoin.request(f"rebalance failed due to {error}")
        if error.code in _IMMEDIATE_RETRY:
            return
        if not is_retriable(error):
            self._fail(error)
        self._rejoin.delay_until(now_ms + self._config.backoff.initial_ms)

    def _handle_heartbeat_response(self, request: Request, code: int, now_ms: float) -> None:
        if request.identity != self.identity:
            return  # the timers have restarted with the generation
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._timers.received(now_ms)
            if code and self._generation.is_stable:
                self._rejoin.request("group is already rebalancing")
        elif code in _NOT_A_MEMBER:
            self._reset("a heartbeat was rejected", forget_member_id=code != ErrorCode.ILLEGAL_GENERATION)
            if code == ErrorCode.FENCED_INSTANCE_ID:
                self._fail(refusal(code))
        else:
            self._timers.failed(now_ms)
            if code in _NO_COORDINATOR:
                self._forget_coordinator()
            elif code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                self._fail(refusal(code))

    def _reset(self, reason: str, *, forget_member_id: bool) -> None:
        """Leave the generation; the group may have assigned the partitions to others."""
        self._generation.reset(forget_member_id=forget_member_id)
        self._requests.abandon()
        self._handover.unprepare()
        self._rejoin.request(reason)

    def _fail(self, error: ApiError | None) -> None:
        self.error = error

    # The application's side

    def take_error(self) -> ApiError | None:
        error, self.error = self.error, None
        return error

    def polled(self, now_ms: float) -> None:
        self._timers.polled(now_ms)

    @property
    def is_rebalancing(self) -> bool:
        return self._rejoin.topics is not None and (self._rejoin.is_needed or self._handover.has_assignment)

    @property
    def is_step_due(self) -> bool:
        return self._rejoin.topics is not None and (self._handover.has_assignment or self._is_preparation_due)

    @property
    def _is_preparation_due(self) -> bool:
        return self._rejoin.is_needed and not self._handover.is_prepared and not self._requests.has_in_flight

    def step(self) -> Step | None:
        if self._rejoin.topics is None:
            return None
        return self._handover.completion() or (self._handover.preparation() if self._is_preparation_due else None)

    def holds(self, step: Step) -> bool:
        return self._handover.holds(step)

    def done(self, step: Step) -> None:
        if step.added is None:
            self.leading = None
        self._handover.complete(step)

    def release_owned(self) -> None:
        self._handover.release_owned()

    # Commits

    def commit_identity(self) -> Identity:
        if self._generation.is_stable:
            return self.identity
        group_id = self._config.group_id
        raise not_in_group(group_id) if self.state is ClassicMemberState.UNJOINED else rebalancing(group_id)

    def on_commit_error(self, code: int, sent: Identity) -> ApiError:
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._rejoin.request("offset commit failed since group is already rebalancing")
            return rebalancing(self._config.group_id)
        if code not in _NOT_A_MEMBER:
            return refusal(code) or ApiError()
        if sent != self.identity and self.state is ClassicMemberState.PREPARING_REBALANCE:
            return rebalancing(self._config.group_id)
        if sent == self.identity:
            if code == ErrorCode.FENCED_INSTANCE_ID:
                return refusal(code) or ApiError()
            self._reset("a commit was rejected", forget_member_id=code != ErrorCode.ILLEGAL_GENERATION)
        return too_late(self._config.group_id)


def _inconsistent(name: str | None) -> Refused:
    return Refused(
        f"the group has selected the assignor {name}, which this member does not have",
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    )
