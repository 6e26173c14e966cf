"""A member of a consumer group, as Kafka's ConsumerMembershipManager and its heartbeats behave."""

from dataclasses import replace

import pytest

from odradek.client.group.consumer_member import ConsumerMember, State
from odradek.client.group.core import MemberConfig
from odradek.errors import CommitFailed, Disconnected, VersionsDiffer
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from unit.client.group.members import CONFIG, RANDOM, Played, counted, partitions

T, U = b"t" * 16, b"u" * 16
INTERVAL_MS = 3_000


class Member(Played):
    core: ConsumerMember

    def __init__(self, config: MemberConfig = CONFIG) -> None:
        self.lookups: list[None] = []
        self.names = {T: "t"}
        core = ConsumerMember(config, "m", lambda topic_id: self.names.get(topic_id), RANDOM, counted(self.lookups))
        super().__init__(core)
        self.core.subscribe(("t",))

    def beat(self, after_ms: float = 0) -> ConsumerGroupHeartbeatRequest:
        (message,) = self.turn(after_ms)
        assert isinstance(message, ConsumerGroupHeartbeatRequest)
        return message

    def hear(self, epoch: int, *numbers: int, topic_id: bytes = T) -> None:
        topics = [TopicPartitions(topic_id=topic_id, partitions=list(numbers))] if numbers else []
        self.answer(heard(epoch, Assignment(topic_partitions=topics)))

    def settle(self, epoch: int, *numbers: int) -> None:
        """From nothing, or a new target, to an acknowledged assignment."""
        self.step()
        if self.core.state is State.JOINING:
            self.beat()
            self.hear(epoch, *numbers)
            self.step()
        self.beat()
        self.answer(heard(epoch))
        assert self.core.state is State.STABLE

    def refuse(self, code: int) -> None:
        self.answer(ConsumerGroupHeartbeatResponse(error_code=code, error_message="no"))


def heard(epoch: int, assignment: Assignment | None = None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        member_id="m", member_epoch=epoch, heartbeat_interval_ms=INTERVAL_MS, assignment=assignment
    )


def named(message: ConsumerGroupHeartbeatRequest) -> dict[bytes, list[int]] | None:
    if message.topic_partitions is None:
        return None
    return {each.topic_id: each.partitions for each in message.topic_partitions}


def test_a_member_joins_with_all_it_has_to_say_and_acknowledges() -> None:
    member = Member(replace(CONFIG, rack_id="r", server_assignor="range"))
    assert member.turn() == [], "nothing before the application polls"
    member.step()
    first = member.beat()
    assert (first.member_id, first.member_epoch, first.rack_id, first.server_assignor) == ("m", 0, "r", "range")
    assert first.rebalance_timeout_ms == CONFIG.max_poll_interval_ms
    assert first.subscribed_topic_names == ["t"] and first.subscribed_topic_regex is None and named(first) == {}
    member.hear(5, 0, 1)
    step = member.step()
    assert step is not None and step.added == step.assigned == partitions(0, 1) and step.revoked is None
    second = member.beat()
    assert second.member_epoch == 5 and named(second) == {T: [0, 1]}
    assert second.subscribed_topic_names is None and second.rebalance_timeout_ms == -1
    member.answer(heard(5))
    third = member.beat(INTERVAL_MS)
    assert named(third) is None and member.core.state is State.STABLE


def test_what_must_go_is_given_up_before_it_is_said() -> None:
    member = Member()
    member.settle(5, 0, 1)
    member.turn(INTERVAL_MS)
    member.hear(5, 0)
    step = member.core.step()
    assert step is not None and step.is_commit_due and step.revoked == partitions(1) and step.added == ()
    assert member.turn() == [], "not while the application gives it up"
    member.core.done(step)
    assert named(member.beat()) == {T: [0]}


def test_after_an_error_all_is_said_again_and_what_may_come_to_be_had() -> None:
    member = Member()
    member.settle(5, 0)
    member.turn(INTERVAL_MS)
    member.hear(6, 0, 1)
    member.turn(INTERVAL_MS)
    member.fail(Disconnected("gone"))
    assert member.turn() == [], "a little later"
    again = member.beat(1_000)
    assert again.subscribed_topic_names == ["t"] and named(again) == {T: [0, 1]}, "it may take 1 before it is answered"


def test_what_an_application_is_about_to_take_is_named_although_the_target_has_changed() -> None:
    member = Member()
    member.settle(5, 0)
    member.turn(INTERVAL_MS)
    member.hear(6, 0, 1)
    step = member.core.step()
    member.turn(INTERVAL_MS)
    member.hear(6, 0)
    member.turn(INTERVAL_MS)
    member.fail(Disconnected("gone"))
    assert named(member.beat(1_000)) == {T: [0, 1]}
    assert step is not None and member.core.holds(step)
    member.core.done(step)
    assert member.core.owned == partitions(0, 1) and member.core.state is State.ACKNOWLEDGING
    member.answer(heard(6))
    member.turn()
    assert member.core.state is State.RECONCILING
    following = member.core.step()
    assert following is not None and following.revoked == partitions(1)


@pytest.mark.parametrize("code", [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_fenced_member_loses_what_it_has_and_joins_again(code: ErrorCode) -> None:
    member = Member()
    member.settle(5, 0)
    member.turn(INTERVAL_MS)
    member.refuse(code)
    assert member.turn() == [], "not before the application knows"
    with pytest.raises(CommitFailed):
        member.core.commit_identity()
    assert member.core.assigned_as.generation_id == 5, "a transaction that is too late is refused by this"
    step = member.step()
    assert step is not None and step.lost == partitions(0)
    again = member.beat()
    assert again.member_epoch == 0 and again.member_id == "m" and named(again) == {}


def test_a_fenced_member_without_partitions_joins_again_by_itself() -> None:
    member = Member()
    member.step()
    member.turn()
    member.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.beat().member_epoch == 0


def test_who_does_not_poll_leaves_and_comes_back_with_its_next_poll() -> None:
    member = Member(replace(CONFIG, max_poll_interval_ms=5_000))
    member.settle(5, 0)
    leave = member.beat(6_000)
    assert leave.member_epoch == -1 and member.core.state is State.STALE
    assert member.turn(INTERVAL_MS) == []
    step = member.step()
    assert step is not None and step.lost == partitions(0)
    assert member.beat().member_epoch == 0


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
def test_leaving_says_whether_one_means_to_come_back(instance_id: str | None, epoch: int) -> None:
    member = Member(replace(CONFIG, group_instance_id=instance_id))
    member.settle(5, 0)
    request = member.core.leave(member.now_ms, "enough")
    assert request is not None and isinstance(request.message, ConsumerGroupHeartbeatRequest) and request.is_last
    assert (request.message.member_epoch, request.message.instance_id) == (epoch, instance_id)
    assert member.core.state is State.UNSUBSCRIBED and member.core.leave(member.now_ms, "again") is None


def test_topics_that_have_no_name_yet_come_later() -> None:
    member = Member()
    member.step()
    member.turn()
    topics = [TopicPartitions(topic_id=T, partitions=[0]), TopicPartitions(topic_id=U, partitions=[3])]
    member.answer(heard(5, Assignment(topic_partitions=topics)))
    assert member.core.unresolved() == (U,)
    step = member.step()
    assert step is not None and step.assigned == partitions(0)
    member.beat()
    member.answer(heard(5))
    assert member.turn() == [] and not member.core.is_step_due
    member.names[U] = "u"
    step = member.step()
    assert step is not None and step.added == partitions(3, topic="u") and member.core.unresolved() == ()


def test_a_pattern_is_the_coordinators_to_match() -> None:
    member = Member()
    member.core.subscribe((), "t.*")
    member.step()
    assert member.beat().subscribed_topic_regex == "t.*"
    member.hear(5, 0)
    member.step()
    member.beat()
    member.answer(heard(5))
    member.core.subscribe(("u",), None)
    changed = member.beat()
    assert changed.subscribed_topic_regex == "" and changed.subscribed_topic_names == ["u"], "at once"


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_the_next_coordinator_is_looked_up(code: ErrorCode) -> None:
    member = Member()
    member.settle(5, 0)
    member.turn(INTERVAL_MS)
    member.refuse(code)
    assert member.lookups == [None] and member.core.owned == partitions(0)
    assert member.beat(1_000).member_epoch == 5


@pytest.mark.parametrize(
    "code", [ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.INVALID_REGULAR_EXPRESSION, ErrorCode.UNSUPPORTED_ASSIGNOR]
)
def test_what_no_member_can_go_on_with_is_told(code: ErrorCode) -> None:
    member = Member()
    member.step()
    member.turn()
    member.refuse(code)
    assert member.core.error is not None and member.core.error.code == code and member.core.state is State.FATAL
    assert member.turn(60_000) == []


def test_a_broker_without_the_protocol_is_told() -> None:
    member = Member()
    member.step()
    member.turn()
    member.fail(VersionsDiffer("no version of ConsumerGroupHeartbeat"))
    assert member.core.error is not None and member.core.state is State.FATAL


def test_a_late_answer_to_one_who_has_joined_anew_is_not_heard() -> None:
    member = Member(replace(CONFIG, max_poll_interval_ms=5_000))
    member.settle(5, 0)
    member.turn(INTERVAL_MS)
    late = member.sent[-1]
    member.turn(INTERVAL_MS)
    member.step()
    member.core.on_response(late, heard(9), member.now_ms)
    assert member.core.identity.generation_id == 0


def test_commits_of_one_who_is_no_member_any_more_fail() -> None:
    member = Member()
    member.settle(5, 0)
    sent = member.core.commit_identity()
    assert isinstance(member.core.on_commit_error(ErrorCode.UNKNOWN_MEMBER_ID, sent), CommitFailed)
    assert member.core.on_commit_error(ErrorCode.STALE_MEMBER_EPOCH, sent).code == ErrorCode.STALE_MEMBER_EPOCH
