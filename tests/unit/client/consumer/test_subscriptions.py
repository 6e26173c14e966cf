"""What a consumer wants, what it has, and where it stands."""

import re

import pytest

from odradek.client.consumer.partition_state import FetchPosition, FetchState
from odradek.client.consumer.subscriptions import SubscriptionKind, Subscriptions
from odradek.client.net.metadata_cache import LeaderAndEpoch
from odradek.client.settings.settings import OffsetReset, ResetStrategy
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import Fault, InputError

EARLIEST = OffsetReset(ResetStrategy.EARLIEST)
LATEST = OffsetReset(ResetStrategy.LATEST)
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
LEADER, NEXT_LEADER = LeaderAndEpoch(1, 5), LeaderAndEpoch(2, 6)


def assigned(*partitions: TopicPartition) -> Subscriptions:
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.assign(partitions)
    return subscriptions


def test_only_one_kind_of_subscription_at_a_time() -> None:
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.subscribe(["b", "a"])
    assert subscriptions.topics == ("a", "b")
    with pytest.raises(InputError, match=r"subscribed to topics.*unsubscribe"):
        subscriptions.assign([A0])
    with pytest.raises(InputError, match="unsubscribe"):
        subscriptions.subscribe_pattern(re.compile("a.*"))
    subscriptions.unsubscribe()
    subscriptions.assign([A0])
    assert (subscriptions.kind, subscriptions.partitions()) == (SubscriptionKind.ASSIGNED, (A0,))


def test_another_subscription_is_a_reason_to_join_again_and_the_same_is_none() -> None:
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.subscribe(["a"])
    before = subscriptions.subscription_version
    subscriptions.subscribe(["a"])
    assert subscriptions.subscription_version == before
    subscriptions.subscribe(["a", "b"])
    assert subscriptions.subscription_version == before + 1


def test_a_pattern_matches_whole_names() -> None:
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.subscribe_pattern(re.compile("a.?"))
    assert subscriptions.match_topics(["a", "ab", "abc", "b"])
    assert subscriptions.topics == ("a", "ab")
    assert not subscriptions.match_topics(["ab", "a"])


def test_who_leads_a_group_needs_the_topics_of_all() -> None:
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.subscribe(["a"])
    subscriptions.group_subscribe(["a", "c"])
    assert subscriptions.metadata_topics() == ("a", "c")


def test_partitions_that_stay_keep_their_position_and_others_begin_anew() -> None:
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.subscribe(["a"])
    subscriptions.assign_from_group([A0, A1])
    subscriptions.seek(A0, FetchPosition(7))
    subscriptions.seek(A1, FetchPosition(8))
    subscriptions.assign_from_group([A0])
    subscriptions.assign_from_group([A0, A1])
    assert subscriptions.position(A0) == FetchPosition(7)
    assert subscriptions.position(A1) is None
    assert subscriptions.initializing() == (A1,)


def test_what_was_fetched_before_a_partition_was_given_up_is_of_no_use() -> None:
    subscriptions = assigned(A0)
    state = subscriptions.assigned_state(A0)
    generation = state.generation
    subscriptions.assign([])
    assert state.generation != generation
    with pytest.raises(InputError, match="a-0 is not assigned"):
        subscriptions.assigned_state(A0)


def test_a_group_assigns_nothing_to_who_chose_himself() -> None:
    with pytest.raises(Fault):
        assigned(A0).assign_from_group([A1])


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (lambda s: s.pause([A0]), lambda s: s.resume([A0])),
        (lambda s: s.mark_pending_revocation([A0]), lambda s: s.assign_from_group([A1])),
        (lambda s: s.subscribe(["b"]), lambda s: s.subscribe(["a", "b"])),
        (lambda s: s.request_reset(A0), lambda s: s.seek(A0, FetchPosition(0))),
    ],
    ids=["paused", "pending revocation", "no longer subscribed", "awaiting reset"],
)
def test_what_is_not_fetched(change: object, back: object) -> None:
    assert callable(change) and callable(back)
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.subscribe(["a"])
    subscriptions.assign_from_group([A0])
    assert not subscriptions.is_fetchable(A0)
    subscriptions.seek(A0, FetchPosition(0))
    assert [partition for partition, _ in subscriptions.fetchable()] == [A0]
    change(subscriptions)
    assert not subscriptions.is_fetchable(A0) and not list(subscriptions.fetchable())
    back(subscriptions)
    assert subscriptions.is_fetchable(A0) == subscriptions.is_assigned(A0)


def test_what_was_to_be_given_up_and_is_ours_after_all_is_fetched_again() -> None:
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.subscribe(["a"])
    subscriptions.assign_from_group([A0])
    subscriptions.seek(A0, FetchPosition(0))
    subscriptions.mark_pending_revocation([A0])
    subscriptions.assign_from_group([A0, A1])
    assert subscriptions.is_fetchable(A0)


def test_nothing_is_fetched_before_the_application_heard_of_it() -> None:
    subscriptions = Subscriptions(EARLIEST)
    subscriptions.subscribe(["a"])
    subscriptions.assign_from_group([A0])
    subscriptions.seek(A0, FetchPosition(0))
    subscriptions.assign_from_group([A0, A1], awaiting_callback=True)
    subscriptions.seek(A1, FetchPosition(0))
    assert [partition for partition, _ in subscriptions.fetchable()] == [A0]
    subscriptions.callback_done([A1])
    assert [partition for partition, _ in subscriptions.fetchable()] == [A0, A1]


def test_a_commit_of_everything_has_positions_and_epochs_and_nothing_that_is_not_valid() -> None:
    subscriptions = assigned(A0, A1, B0)
    subscriptions.seek(A0, FetchPosition(7, 3))
    subscriptions.request_reset(A1)
    assert subscriptions.all_consumed() == {A0: OffsetAndMetadata(7, 3, "")}


def test_a_new_leader_makes_a_position_with_an_epoch_be_validated() -> None:
    subscriptions = assigned(A0, A1)
    subscriptions.seek(A0, FetchPosition(7, 3))
    subscriptions.seek(A1, FetchPosition(8))
    for partition in (A0, A1):
        subscriptions.meet_leader(partition, LEADER)
    assert subscriptions.awaiting_validation(0.0) == (A0,)
    assert subscriptions.position(A1) == FetchPosition(8, None, LEADER)
    subscriptions.assigned_state(A0).complete_validation()
    assert subscriptions.position(A0) == FetchPosition(7, 3, LEADER)
    state = subscriptions.assigned_state(A0)
    generation = state.generation
    subscriptions.meet_leader(A0, LEADER)
    assert state.generation == generation, "nothing changed"
    subscriptions.meet_leader(A0, NEXT_LEADER)
    assert state.generation > generation and state.state is FetchState.AWAIT_VALIDATION


def test_a_reset_is_not_disturbed_by_a_new_leader() -> None:
    subscriptions = assigned(A0)
    subscriptions.request_reset(A0, LATEST)
    subscriptions.meet_leader(A0, LEADER)
    state = subscriptions.assigned_state(A0)
    assert (state.state, state.reset) == (FetchState.AWAIT_RESET, LATEST)


def test_who_was_asked_for_is_not_asked_for_again_at_once() -> None:
    subscriptions = assigned(A0)
    subscriptions.request_reset(A0)
    subscriptions.back_off([A0, B0], 100.0)
    assert subscriptions.awaiting_reset(99.0) == ()
    assert subscriptions.awaiting_reset(100.0) == (A0,)


def test_the_preferred_replica_is_kept_to_for_a_time_that_it_cannot_prolong() -> None:
    state = (subscriptions := assigned(A0)).assigned_state(A0)
    subscriptions.seek(A0, FetchPosition(0, None, LEADER))
    state.prefer_replica(3, 100.0)
    state.prefer_replica(3, 200.0)
    assert (state.preferred_replica(100.0), state.preferred_replica(101.0)) == (3, None)
    state.prefer_replica(3, 300.0)
    subscriptions.meet_leader(A0, NEXT_LEADER)
    assert state.preferred_replica(200.0) is None


def test_the_lag_is_counted_from_the_end_that_may_be_read() -> None:
    subscriptions = assigned(A0)
    assert subscriptions.lag(A0, read_committed=False) is None
    subscriptions.seek(A0, FetchPosition(7))
    state = subscriptions.assigned_state(A0)
    state.high_watermark, state.last_stable_offset = 20, 10
    assert subscriptions.lag(A0, read_committed=False) == 13
    assert subscriptions.lag(A0, read_committed=True) == 3


def test_whoever_hands_records_out_hears_before_a_position_is_read_or_changed() -> None:
    subscriptions = assigned(A0)
    heard: list[str] = []
    subscriptions.before_read = lambda: heard.append("read")
    subscriptions.before_change = lambda: heard.append("change")
    subscriptions.seek(A0, FetchPosition(0))
    subscriptions.position(A0)
    subscriptions.all_consumed()
    subscriptions.pause([A0])
    subscriptions.meet_leader(A0, LEADER)
    subscriptions.meet_leader(A0, LEADER)
    subscriptions.unsubscribe()
    assert heard == ["change", "read", "read", "change", "change", "change"]
