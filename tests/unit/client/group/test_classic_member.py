"""A member of a classic group, as Kafka's AbstractCoordinator and ConsumerCoordinator behave."""

from dataclasses import replace

import pytest

from odradek.client.group.assignors.assignor import make_assignors
from odradek.client.group.classic_member import ClassicMember
from odradek.client.group.core import MemberConfig
from odradek.client.group.generation import ClassicMemberState
from odradek.client.group.subscription import (
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from odradek.client.types import TopicPartition
from odradek.errors import CommitFailed, Disconnected, RebalanceInProgress
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse
from odradek.protocol.messages.join_group_request import JoinGroupRequest
from odradek.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest
from odradek.protocol.messages.sync_group_request import SyncGroupRequest
from odradek.protocol.messages.sync_group_response import SyncGroupResponse
from unit.client.group.members import CONFIG, RANDOM, Played, counted, partitions


class Member(Played):
    core: ClassicMember

    def __init__(self, strategy: str = "range", config: MemberConfig = CONFIG) -> None:
        self.lookups: list[None] = []
        super().__init__(ClassicMember(config, make_assignors([strategy]), RANDOM, counted(self.lookups)))
        self.strategy = strategy
        self.core.subscribe(("t",))

    def joined(self, generation: int, *, leads: bool = False, skips: bool = False) -> JoinGroupResponse:
        others = [JoinGroupResponseMember(member_id="m", metadata=encode_subscription(MemberSubscription(("t",))))]
        return JoinGroupResponse(
            generation_id=generation,
            protocol_name=self.strategy,
            leader="m" if leads else "other",
            member_id="m",
            members=others if leads else [],
            skip_assignment=skips,
        )

    def settle(self, generation: int, *numbers: int) -> None:
        """Through a whole rebalance, as a follower."""
        self.step()
        assert [type(each) for each in self.turn()] == [JoinGroupRequest]
        self.answer(self.joined(generation))
        assert [type(each) for each in self.turn()] == [SyncGroupRequest]
        self.answer(SyncGroupResponse(assignment=encode_assignment(partitions(*numbers))))
        self.step()

    def beat(self, code: int = 0) -> None:
        assert [type(each) for each in self.turn(1_000)] == [HeartbeatRequest]
        self.answer(HeartbeatResponse(error_code=code), HeartbeatRequest)


def only(messages: list[Message], kind: type[Message]) -> Message:
    assert [type(each) for each in messages] == [kind]
    return messages[0]


def test_a_member_gets_an_id_joins_and_follows() -> None:
    member = Member()
    assert member.turn() == [], "nothing before the application polls"
    assert member.step() is not None
    first = only(member.turn(), JoinGroupRequest)
    assert isinstance(first, JoinGroupRequest) and first.member_id == ""
    member.answer(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="m"))
    second = only(member.turn(), JoinGroupRequest)
    assert isinstance(second, JoinGroupRequest) and second.member_id == "m"
    member.answer(member.joined(1))
    sync = only(member.turn(), SyncGroupRequest)
    assert isinstance(sync, SyncGroupRequest) and sync.assignments == []
    member.answer(SyncGroupResponse(assignment=encode_assignment(partitions(0, 1))))
    step = member.step()
    assert step is not None and step.added == step.assigned == partitions(0, 1)
    assert member.core.owned == partitions(0, 1) and not member.core.is_rebalancing


def test_a_leader_divides_what_it_is_told_of_the_topics() -> None:
    member = Member()
    member.step()
    member.turn()
    member.answer(member.joined(1, leads=True))
    assert member.turn() == [] and member.core.leading is not None and member.core.leading.topics == ("t",)
    member.core.lead({"t": [(), ()]})
    sync = only(member.turn(), SyncGroupRequest)
    assert isinstance(sync, SyncGroupRequest)
    assert {each.member_id: decode_assignment(each.assignment) for each in sync.assignments} == {
        "m": list(partitions(0, 1))
    }
    member.answer(SyncGroupResponse(assignment=sync.assignments[0].assignment))
    member.step()
    member.core.topics_changed({"t": [(), ()]})
    assert not member.core.is_rebalancing
    member.core.topics_changed({"t": [(), (), ()]})
    assert member.core.is_rebalancing, "the leader sees that there is a partition more"


def test_a_leader_that_cannot_read_a_subscription_says_so_and_tries_again_later() -> None:
    member = Member()
    member.step()
    member.turn()
    response = member.joined(1, leads=True)
    response.members[0].metadata = b"?"
    member.answer(response)
    assert member.core.error is not None and "sent a subscription that cannot be read" in member.core.error.message
    assert member.turn() == []
    assert [type(each) for each in member.turn(100)] == [JoinGroupRequest]


def test_a_static_leader_that_came_back_assigns_nothing_but_watches() -> None:
    member = Member(config=replace(CONFIG, group_instance_id="i"))
    member.step()
    member.turn()
    member.answer(member.joined(1, leads=True, skips=True))
    member.core.lead({"t": [()]})
    sync = only(member.turn(), SyncGroupRequest)
    assert isinstance(sync, SyncGroupRequest) and sync.assignments == [] and sync.group_instance_id == "i"
    member.answer(SyncGroupResponse(assignment=encode_assignment(partitions(0))))
    member.step()
    member.core.topics_changed({"t": [(), ()]})
    assert member.core.is_rebalancing


def test_an_eager_member_gives_up_all_before_it_joins_again() -> None:
    member = Member()
    member.settle(1, 0, 1)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    assert member.core.commit_identity().generation_id == 1, "what was read can still be committed"
    step = member.step()
    assert step is not None and step.is_commit_due and step.revoked == partitions(0, 1) and step.assigned == ()
    join = only(member.turn(), JoinGroupRequest)
    assert isinstance(join, JoinGroupRequest)
    assert decode_subscription(join.protocols[0].metadata).owned_partitions == ()
    with pytest.raises(RebalanceInProgress):
        member.core.commit_identity()


def test_a_cooperative_member_keeps_what_it_has_and_joins_again_after_it_gave_something_up() -> None:
    member = Member("cooperative-sticky")
    member.settle(1, 0, 1)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    step = member.step()
    assert step is not None and step.revoked is None and step.assigned == partitions(0, 1)
    join = only(member.turn(), JoinGroupRequest)
    assert isinstance(join, JoinGroupRequest)
    said = decode_subscription(join.protocols[0].metadata)
    assert said.owned_partitions == partitions(0, 1) and said.generation_id == 1
    member.answer(member.joined(2))
    member.turn()
    member.answer(SyncGroupResponse(assignment=encode_assignment(partitions(0, 2))))
    step = member.step()
    assert step is not None and step.is_commit_due
    assert step.revoked == partitions(1) and step.added == partitions(2)
    assert member.core.is_rebalancing, "the group assigns what was given up in a rebalance of its own"


def test_a_cooperative_member_gives_up_topics_it_does_not_want_any_more() -> None:
    member = Member("cooperative-sticky")
    member.core.subscribe(("t", "u"))
    member.settle(1, 0)
    member.core.enforce_rebalance("topic u was created")
    member.step()
    member.turn()
    member.answer(member.joined(2))
    member.turn()
    member.answer(SyncGroupResponse(assignment=encode_assignment([*partitions(0), TopicPartition("u", 0)])))
    member.step()
    assert member.core.owned == (*partitions(0), TopicPartition("u", 0))
    member.core.subscribe(("t",))
    step = member.step()
    assert step is not None and step.revoked == (TopicPartition("u", 0),) and step.assigned == partitions(0)


@pytest.mark.parametrize(
    ("code", "member_id"), [(ErrorCode.UNKNOWN_MEMBER_ID, ""), (ErrorCode.ILLEGAL_GENERATION, "m")]
)
def test_what_a_member_has_is_lost_when_the_group_goes_on_without_it(code: ErrorCode, member_id: str) -> None:
    member = Member("cooperative-sticky")
    member.settle(1, 0, 1)
    member.beat(code)
    with pytest.raises(CommitFailed):
        member.core.commit_identity()
    step = member.step()
    assert step is not None and step.lost == partitions(0, 1) and step.revoked is None and not step.is_commit_due
    join = only(member.turn(), JoinGroupRequest)
    assert isinstance(join, JoinGroupRequest) and join.member_id == member_id


def test_a_transactions_offsets_are_committed_in_the_name_of_the_last_assignment() -> None:
    """A member that is nobody by now must not commit as nobody: that is never refused."""
    member = Member("cooperative-sticky")
    member.settle(1, 0)
    member.beat(ErrorCode.REBALANCE_IN_PROGRESS)
    member.step()
    member.turn()
    member.answer(member.joined(2))
    assert member.core.identity.generation_id == 2 and member.core.assigned_as.generation_id == 1
    member.turn(1_000)
    member.answer(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), HeartbeatRequest)
    assert not member.core.identity.is_member
    assert (member.core.assigned_as.member_id, member.core.assigned_as.generation_id) == ("m", 1)


def test_an_answer_to_an_earlier_generation_changes_nothing() -> None:
    member = Member()
    member.settle(1, 0)
    member.turn(1_000)
    late = member.sent[-1]
    member.core.enforce_rebalance(None)
    member.settle(2, 0)
    member.core.on_response(late, HeartbeatResponse(error_code=ErrorCode.ILLEGAL_GENERATION), member.now_ms)
    assert member.core.state is ClassicMemberState.STABLE and member.core.identity.generation_id == 2


def test_a_preparation_that_was_overtaken_is_repeated() -> None:
    """A callback may take longer than the session: what is left is lost then."""
    member = Member("cooperative-sticky")
    member.settle(1, 0, 1)
    member.turn(1_000)
    member.core.enforce_rebalance("because")
    step = member.core.step()
    assert step is not None
    member.answer(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), HeartbeatRequest)
    assert not member.core.holds(step)
    member.core.done(step)
    assert member.turn() == []
    again = member.step()
    assert again is not None and again.lost == partitions(0, 1)


def test_a_fenced_instance_is_told_so() -> None:
    member = Member(config=replace(CONFIG, group_instance_id="i"))
    member.settle(1, 0)
    member.beat(ErrorCode.FENCED_INSTANCE_ID)
    assert member.core.error is not None and member.core.error.code == ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize(("instance_id", "leaves"), [(None, [LeaveGroupRequest]), ("i", [])])
def test_who_does_not_poll_leaves_the_group(instance_id: str | None, leaves: list[type[Message]]) -> None:
    member = Member(config=replace(CONFIG, group_instance_id=instance_id, max_poll_interval_ms=1_500))
    member.settle(1, 0)
    member.beat()
    assert [type(each) for each in member.turn(600)] == leaves
    step = member.step()
    assert step is not None and step.lost == partitions(0)


def test_a_silent_coordinator_is_looked_up_again() -> None:
    member = Member()
    member.settle(1, 0)
    member.turn(1_000)
    assert member.turn(9_500) == [] and member.lookups == [None], "the session is over without a word"
    member.fail(Disconnected("gone"), HeartbeatRequest)
    assert [type(each) for each in member.turn(200)] == [HeartbeatRequest]


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_join_goes_to_the_next_coordinator(code: ErrorCode) -> None:
    member = Member()
    member.step()
    member.turn()
    member.answer(JoinGroupResponse(error_code=code))
    assert member.lookups == [None] and member.turn() == []
    assert member.core.next_poll_ms(member.now_ms) == CONFIG.backoff.initial_ms
    assert [type(each) for each in member.turn(100)] == [JoinGroupRequest]


def test_what_cannot_be_tried_again_is_told() -> None:
    member = Member()
    member.step()
    member.turn()
    member.answer(JoinGroupResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED))
    assert member.core.error is not None and member.core.error.code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_leader_whose_sync_failed_joins_again() -> None:
    member = Member()
    member.step()
    member.turn()
    member.answer(member.joined(1, leads=True))
    member.core.lead({"t": [()]})
    member.turn()
    member.fail(Disconnected("gone"))
    assert [type(each) for each in member.turn(100)] == [JoinGroupRequest]


def test_an_assignment_of_what_is_not_wanted_any_more_is_not_taken() -> None:
    member = Member()
    member.step()
    member.turn()
    member.answer(member.joined(1))
    member.turn()
    member.core.subscribe(("u",))
    member.answer(SyncGroupResponse(assignment=encode_assignment(partitions(0))))
    member.step()
    assert member.core.owned == ()
    join = only(member.turn(), JoinGroupRequest)
    assert isinstance(join, JoinGroupRequest) and decode_subscription(join.protocols[0].metadata).topics == ("u",)


def test_an_assignment_that_cannot_be_read_is_told() -> None:
    member = Member()
    member.step()
    member.turn()
    member.answer(member.joined(1))
    member.turn()
    member.answer(SyncGroupResponse(assignment=b""))
    member.step()
    assert member.core.error is not None and "cannot be read" in member.core.error.message


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_commit_of_one_who_is_no_member_any_more_fails(code: ErrorCode) -> None:
    member = Member()
    member.settle(1, 0)
    sent = member.core.commit_identity()
    assert isinstance(member.core.on_commit_error(code, sent), CommitFailed)
    assert member.core.state is ClassicMemberState.UNJOINED
    assert member.core.identity.member_id == ("" if code == ErrorCode.UNKNOWN_MEMBER_ID else "m")


def test_a_commit_during_a_rebalance_may_come_again() -> None:
    member = Member()
    member.settle(1, 0)
    sent = member.core.commit_identity()
    assert isinstance(member.core.on_commit_error(ErrorCode.REBALANCE_IN_PROGRESS, sent), RebalanceInProgress)
    assert member.core.is_rebalancing
    member.step()
    member.turn()
    member.answer(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="n"))
    member.turn()
    assert isinstance(member.core.on_commit_error(ErrorCode.UNKNOWN_MEMBER_ID, sent), RebalanceInProgress)


def test_leaving_gives_a_reason_that_is_not_too_long() -> None:
    member = Member()
    member.settle(1, 0)
    request = member.core.leave(0, "x" * 1_000)
    assert request is not None and isinstance(request.message, LeaveGroupRequest) and request.is_last
    assert len(request.message.members[0].reason or "") == 255
    assert member.core.leave(0, "again") is None
