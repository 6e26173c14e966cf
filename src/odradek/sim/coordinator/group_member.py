"""A consumer in a simulated group: the client's own member, with a simulated network below and an application above.

The application polls now and then, and takes its time for callbacks. It commits what it has, never two commits at a
time, and before it gives anything up. It may stop to poll while its member goes on (it is stuck in a record), sleep
altogether (a machine that stands still), die without a word, or leave.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from odradek.client.group.classic_member import ClassicMember
from odradek.client.group.consumer_member import ConsumerMember
from odradek.client.group.core import MemberCore, Request, Step
from odradek.client.group.subscription import Topics
from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.group.shard import GroupShard
from odradek.coordinator.group.values import RequestContext
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.shard import Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse
from odradek.protocol.messages.join_group_request import JoinGroupRequest
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest
from odradek.protocol.messages.leave_group_response import LeaveGroupResponse
from odradek.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.offset_commit_response import OffsetCommitResponse
from odradek.protocol.messages.sync_group_request import SyncGroupRequest
from odradek.protocol.messages.sync_group_response import SyncGroupResponse
from odradek.sim.coordinator.cluster import WRITE_TIMEOUT_MS, CoordinatorCluster

TOPIC = "t"
TOPIC_ID = b"t" * 16
PARTITIONS = 4

#: Offsets of one generation, or epoch, are below those of the next.
GENERATION = 1_000_000

#: What an error of a coordinator becomes on its way to a client.
_RESPONSES: dict[type[Message], Callable[..., Message]] = {
    JoinGroupRequest: JoinGroupResponse,
    SyncGroupRequest: SyncGroupResponse,
    HeartbeatRequest: HeartbeatResponse,
    LeaveGroupRequest: LeaveGroupResponse,
    ConsumerGroupHeartbeatRequest: ConsumerGroupHeartbeatResponse,
}

_COMMIT_VERSION = 9
_JOIN_VERSION = 9
_POLL_MS = 80
_COMMIT_MS = 100
_CALLBACK_MS = 60


class GroupWorld(Protocol):
    cluster: CoordinatorCluster[GroupShard]
    is_over: bool
    topics: Topics

    def new_core(self, member: SimulatedMember) -> MemberCore: ...
    def owned(self, member: SimulatedMember) -> None:
        """It has what `member.core.owned` says, in the generation that its identity says.

        An epoch is one when a member hears of it; a generation only when the assignment has come, for one that was
        not written is lost with its coordinator, and its number is given again.
        """

    def committed(self, group: str, partition: int, offset: int) -> None: ...


class SimulatedMember:
    def __init__(self, world: GroupWorld, partition_index: int, index: int, instance_id: str | None) -> None:
        self.group = f"g{partition_index}"
        self.index = index
        self.instance_id = instance_id
        self.random: Random = world.cluster.random
        self.core: MemberCore
        self._world = world
        self._scheduler = world.cluster.scheduler
        self._partition_index = partition_index
        #: Changes with every life: what is still said to an earlier one is not heard.
        self._life = 0
        self._is_alive = False
        self._awake_ms = 0
        self._polls_ms = 0
        self._alarm_ms: float = 0
        self._is_stepping = False
        self._commits_in_flight = 0
        self._count = 0

    @property
    def name(self) -> str:
        return f"{self.group} {self.index}"

    # Lives

    def start(self) -> None:
        if self._world.is_over or self._is_alive:
            return
        self._life += 1
        self._is_alive = True
        self._alarm_ms = float("inf")
        self._is_stepping = False
        self._commits_in_flight = 0
        self.core = self._world.new_core(self)
        self.core.subscribe((TOPIC,))
        self._poll()
        self._commit_now_and_then()

    def die(self) -> None:
        self._life += 1
        self._is_alive = False

    def leave(self) -> None:
        if self._is_alive:
            request = self.core.leave(self._scheduler.now_ms, "it is time")
            if request is not None:
                self._ask(request)
            self.die()

    def sleep(self, duration_ms: int) -> None:
        self._awake_ms = self._scheduler.now_ms + duration_ms

    def be_stuck(self, duration_ms: int) -> None:
        """The application does not poll; its member goes on."""
        self._polls_ms = self._scheduler.now_ms + duration_ms

    # The member's turns

    def _drive_member(self) -> None:
        now_ms = self._scheduler.now_ms
        if isinstance(self.core, ClassicMember) and self.core.awaits_topics:
            self.core.lead(self._world.topics)
        for request in self.core.poll(now_ms):
            self._ask(request)
        next_ms = self.core.next_poll_ms(now_ms)
        if next_ms < min(self._alarm_ms, float("inf")):
            self._alarm_ms = next_ms
            self._later(max(1, round(next_ms - now_ms)), lambda: self._ring(next_ms))

    def _ring(self, alarm_ms: float) -> None:
        if self._alarm_ms == alarm_ms:
            self._alarm_ms = float("inf")
            self._drive_member()

    def _ask(self, request: Request) -> None:
        def on_result(outcome: Message | ApiError) -> None:
            now_ms = self._scheduler.now_ms
            if not isinstance(outcome, ApiError):
                self.core.on_response(request, outcome, now_ms)
            elif outcome.code == ErrorCode.REQUEST_TIMED_OUT:
                self.core.on_failure(request, outcome, now_ms)
            else:
                self.core.on_response(request, _RESPONSES[type(request.message)](error_code=outcome.code), now_ms)
            if isinstance(self.core, ConsumerMember):
                self._world.owned(self)
            self._drive_member()

        self._request(_operation(request.message, self.name), on_result)

    # The application

    def _poll(self) -> None:
        if self._polls_ms > self._scheduler.now_ms:
            self._later(self._polls_ms - self._scheduler.now_ms, self._poll)
            return
        self.core.polled(self._scheduler.now_ms)
        if self.core.error is not None:
            self._fail()
            return
        step = self.core.step()
        if step is not None:
            self._begin(step)
        else:
            self._later(self.random.randint(1, _POLL_MS), self._poll)
        self._drive_member()

    def _fail(self) -> None:
        """Fail for an error that a member cannot recover from: its name is used by another one, or the group has
        another type."""
        self.die()
        self._scheduler.after(self.random.randint(100, 1_000), self.start)

    def _begin(self, step: Step) -> None:
        self._is_stepping = True
        if step.is_commit_due:
            self._commit(lambda: self._call(step))
        else:
            self._call(step)

    def _call(self, step: Step) -> None:
        if self.core.holds(step):
            self._later(self.random.randint(0, _CALLBACK_MS), lambda: self._end(step))
        else:
            self._poll_again()

    def _end(self, step: Step) -> None:
        if self.core.holds(step) or step.added is None:
            self.core.done(step)
            if step.added is not None:
                self._world.owned(self)
        self._poll_again()

    def _poll_again(self) -> None:
        self._is_stepping = False
        self._poll()

    # Commits

    def _commit_now_and_then(self) -> None:
        if self._is_stepping or self._commits_in_flight:
            self._commit_later()
        else:
            self._commit(self._commit_later)

    def _commit_later(self) -> None:
        self._later(self.random.randint(1, _COMMIT_MS), self._commit_now_and_then)

    def _commit(self, then: Callable[[], None]) -> None:
        """Commit all offsets of the application, and call `then` with the result. One commit at a time: they could
        overtake."""
        if self._commits_in_flight:
            self._later(1, lambda: self._commit(then))
            return
        try:
            identity = self.core.commit_identity()
        except ApiError:
            then()
            return
        if not self.core.owned:
            then()
            return
        self._count += 1
        offset = identity.generation_id * GENERATION + self._count
        request = _commit_request(self, identity.generation_id, identity.member_id, self.core.owned, offset)

        def on_result(outcome: OffsetCommitResponse | ApiError) -> None:
            self._commits_in_flight -= 1
            if isinstance(outcome, ApiError):
                self.core.on_commit_error(outcome.code, identity)
            else:
                for partition in outcome.topics[0].partitions:
                    if not partition.error_code:
                        self._world.committed(self.group, partition.partition_index, offset)
                    else:
                        self.core.on_commit_error(partition.error_code, identity)
            then()

        self._commits_in_flight += 1
        self._request(lambda shard: shard.commit_offsets(request, _COMMIT_VERSION), on_result)

    # Ways and means

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._scheduler.after(delay_ms, self._in_this_life(lambda _: action()))

    def _request(self, operation: Callable[[GroupShard], Decision[Any]], then: Callable[[Any], None]) -> None:
        def ask(runtime: CoordinatorRuntime[GroupShard]) -> Reply[Any]:
            return _flat(runtime.write(self._partition_index, operation, timeout_ms=WRITE_TIMEOUT_MS))

        self._world.cluster.ask(self._partition_index, ask, self._in_this_life(then))

    def _in_this_life(self, then: Callable[[Any], None]) -> Callable[..., None]:
        life = self._life

        def on_result(outcome: Any = None) -> None:
            if self._life != life:
                return
            if self._awake_ms > self._scheduler.now_ms:
                self._scheduler.at(self._awake_ms, lambda: on_result(outcome))
            else:
                self._scheduler.trace(f"{self._scheduler.now_ms} {self.name} {outcome}")
                then(outcome)

        return on_result


def _commit_request(
    member: SimulatedMember, generation: int, member_id: str, owned: tuple[TopicPartition, ...], offset: int
) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(partition_index=tp.partition, committed_offset=offset) for tp in owned]
    return OffsetCommitRequest(
        group_id=member.group,
        member_id=member_id,
        group_instance_id=member.instance_id,
        generation_id_or_member_epoch=generation,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
    )


def _operation(message: Message, client_id: str) -> Callable[[GroupShard], Decision[Any]]:
    context = RequestContext(_JOIN_VERSION, client_id, "/127.0.0.1")
    match message:
        case JoinGroupRequest():
            return lambda shard: shard.join(context, message)
        case SyncGroupRequest():
            return lambda shard: shard.sync(message)
        case HeartbeatRequest():
            return lambda shard: shard.heartbeat(message)
        case LeaveGroupRequest():
            return lambda shard: shard.leave(message)
        case ConsumerGroupHeartbeatRequest():
            return lambda shard: shard.consumer_heartbeat(context, message)
    raise AssertionError(f"a member sends no {type(message).__name__}")


def _flat(outer: Reply[Any]) -> Reply[Any]:
    """An answer may be one that comes later."""
    flat: Reply[Any] = Reply()

    def take(reply: Reply[Any]) -> None:
        if reply.error is not None:
            flat.fail(reply.error)
        elif isinstance(reply.answer(), Reply):
            reply.answer().then(take)
        else:
            flat.complete(reply.answer())

    outer.then(take)
    return flat
