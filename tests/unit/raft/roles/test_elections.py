"""Elections, one replica at a time: every state, every answer to a vote, and what is remembered before it is said."""

from collections.abc import Callable
from functools import partial

import pytest

from odradek.common.failures import Fault
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.raft.effects import Commit, Flush, LeaderChange, Persist, Reply, Send, Stopped
from odradek.raft.events import RequestFailed
from odradek.raft.roles.resignation import successor_backoff_ms
from odradek.raft.states.transitions import MOVES
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.values import LeaderAndEpoch, OffsetAndEpoch, ReplicaKey
from support.builders.raft import (
    EMPTY,
    Bench,
    begin_epoch,
    directory,
    end_epoch,
    fetch,
    fetched,
    granted,
    log_of,
    partition_of,
    vote,
)


def test_a_new_voter_waits_asks_and_stands() -> None:
    bench = Bench()
    bench.step()
    assert bench.state == "Unattached" and bench.stored == ElectionState(0, voters=(1, 2, 3))
    assert len(bench.sends(FetchRequest)) == 1, "it looks for a leader meanwhile"
    bench.after(2_000)
    assert bench.state == "Prospective" and bench.epoch == 0
    asked = bench.sends(VoteRequest)
    assert [send.destination.id for send in asked] == [2, 3]
    assert all(partition_of(send.message).pre_vote for send in asked)
    bench.answer(asked[0], granted(0))
    assert bench.state == "Candidate" and bench.epoch == 1


def test_a_vote_is_remembered_before_anything_is_said() -> None:
    bench = Bench()
    bench.become_candidate()
    kinds = [type(effect) for effect in bench.effects]
    assert kinds.index(Persist) < kinds.index(Send)
    assert bench.stored is not None and bench.stored.voted_key == ReplicaKey(1, directory(1))
    other = Bench()
    other.step()
    assert partition_of(other.ask(vote(2, 5))).vote_granted
    kinds = [type(effect) for effect in other.effects]
    assert kinds.index(Persist) < kinds.index(Reply)


def test_a_leader_writes_its_first_record_after_its_epoch_is_remembered() -> None:
    bench = Bench()
    asked = bench.become_candidate()
    bench.answer(asked[0], granted(1))
    assert bench.raft.is_leader and bench.log.end_offset == 0
    assert bench.stored is not None and bench.stored.leader_id == 1
    assert [send.destination.id for send in bench.sends(BeginQuorumEpochRequest)] == [2, 3]
    assert bench.raft.deadline_ms <= bench.now_ms, "and it does so at once"
    bench.step()
    assert bench.log.end_offset == 1 and bench.find(Flush)
    (entry,) = bench.log.entries
    assert entry.epoch == 1


@pytest.mark.parametrize("pre_vote", [False, True])
@pytest.mark.parametrize(
    ("end", "is_granted"),
    [
        (OffsetAndEpoch(3, 4), True),
        (OffsetAndEpoch(3, 5), True),
        (OffsetAndEpoch(4, 1), True),
        (OffsetAndEpoch(3, 3), False),
        (OffsetAndEpoch(2, 9), False),
    ],
)
def test_only_a_log_as_good_as_ours_gets_our_vote(end: OffsetAndEpoch, is_granted: bool, pre_vote: bool) -> None:
    bench = Bench(log=log_of(1, 1, 3, 3))
    bench.step()
    assert partition_of(bench.ask(vote(2, 5, end=end, pre_vote=pre_vote))).vote_granted is is_granted
    voted = bench.stored.voted_key if bench.stored else None
    assert (voted is not None) is (is_granted and not pre_vote)


def test_one_vote_for_each_epoch_across_a_restart() -> None:
    bench = Bench()
    bench.step()
    assert partition_of(bench.ask(vote(2, 5))).vote_granted
    assert not partition_of(bench.ask(vote(3, 5))).vote_granted
    assert partition_of(bench.ask(vote(2, 5))).vote_granted, "the same candidate may ask again"
    again = Bench(stored=bench.stored, log=bench.log)
    again.step()
    assert not partition_of(again.ask(vote(3, 5))).vote_granted
    assert partition_of(again.ask(vote(2, 5))).vote_granted
    assert partition_of(again.ask(vote(3, 6))).vote_granted


def test_a_pre_vote_promises_nothing() -> None:
    bench = Bench()
    bench.step()
    assert partition_of(bench.ask(vote(2, 0, pre_vote=True))).vote_granted
    assert partition_of(bench.ask(vote(3, 0, pre_vote=True))).vote_granted
    assert bench.stored is not None and bench.stored.voted_key is None


def test_whoever_hears_its_leader_grants_no_pre_vote() -> None:
    """KIP-996: pre-votes are for those that have lost the leader."""
    bench = Bench()
    first = bench.become_follower(2, 5)
    assert partition_of(bench.ask(vote(3, 5, pre_vote=True))).vote_granted
    bench.answer(first, fetched(2, 5))
    assert not partition_of(bench.ask(vote(3, 5, pre_vote=True))).vote_granted


def test_a_leader_that_is_gone_is_doubted_soon() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5))
    (send,) = bench.sends(FetchRequest)
    bench.fail(send, refused=True)
    assert partition_of(bench.ask(vote(3, 5, pre_vote=True))).vote_granted
    began_ms = bench.now_ms
    while bench.state == "Follower":
        bench.until_deadline()
    assert bench.now_ms - began_ms < bench.config.fetch_timeout_ms // 2


@pytest.mark.parametrize(("local_id", "turn"), [(1, 1), (3, 2)])
def test_those_who_lost_their_leader_stand_one_after_the_other(local_id: int, turn: int) -> None:
    """Both find out at the same moment; had both stood then, neither would have had a majority."""
    bench = Bench(local_id=local_id)
    bench.answer(bench.become_follower(2, 5), fetched(2, 5))
    (send,) = bench.sends(FetchRequest)
    bench.fail(send, refused=True)
    bench.after(turn * bench.config.disconnect_grace_ms // 2 - 1)
    assert bench.state == "Follower"
    bench.after(1)
    assert bench.state == "Prospective"


@pytest.mark.parametrize(("local_id", "turn"), [(1, 0), (3, 1)])
def test_those_who_hear_nothing_stand_one_after_the_other(local_id: int, turn: int) -> None:
    bench = Bench(local_id=local_id)
    bench.answer(bench.become_follower(2, 5), fetched(2, 5))
    (send,) = bench.sends(FetchRequest)
    bench.fail(send)
    bench.after(bench.config.fetch_timeout_ms + turn * bench.config.disconnect_grace_ms // 2 - 1)
    assert bench.state == "Follower"
    bench.after(1)
    assert bench.state == "Prospective"


def test_a_slow_leader_is_given_the_whole_time_out() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5))
    (send,) = bench.sends(FetchRequest)
    bench.fail(send)
    bench.after(1_900)
    assert bench.state == "Follower"
    bench.after(101)
    assert bench.state == "Prospective"


def test_a_lost_pre_vote_leads_back_to_the_leader() -> None:
    bench = Bench()
    bench.become_follower(2, 5)
    bench.after(2_000)
    assert bench.state == "Prospective"
    for send in bench.sends(VoteRequest):
        bench.answer(send, granted(5, vote_granted=False, leader_id=2))
    assert bench.state == "Follower" and bench.epoch == 5


def test_a_voter_without_pre_votes_is_asked_for_its_vote() -> None:
    bench = Bench()
    bench.step()
    bench.after(2_000)
    bench.fail(bench.sends(VoteRequest)[0], error=ErrorCode.UNSUPPORTED_VERSION)
    assert bench.state == "Candidate" and bench.epoch == 1


def test_a_candidate_that_loses_waits_and_asks_anew() -> None:
    bench = Bench()
    for send in bench.become_candidate():
        bench.answer(send, granted(1, vote_granted=False))
    assert bench.state == "Candidate"
    bench.after(2_000)
    assert bench.state == "Prospective" and bench.epoch == 1


def test_an_old_answer_is_not_taken_for_a_new_one() -> None:
    bench = Bench()
    bench.step()
    bench.after(2_000)
    first, second = bench.sends(VoteRequest)
    bench.answer(first, granted(0))
    assert bench.state == "Candidate"
    bench.answer(second, granted(1))
    assert bench.state == "Candidate", "that was the answer to the pre-vote"


def test_the_only_voter_leads_at_once() -> None:
    bench = Bench(voters=(1,))
    bench.step()
    assert bench.raft.is_leader and bench.epoch == 1
    bench.step()
    assert bench.raft.high_watermark == 1
    assert LeaderChange(LeaderAndEpoch(1, 1)) in bench.effects


def test_a_leader_restarts_resigned_and_votes_for_nobody_in_its_epoch() -> None:
    bench = Bench(stored=ElectionState(5, leader_id=1))
    bench.step()
    assert bench.state == "Resigned"
    assert not partition_of(bench.ask(vote(2, 5))).vote_granted
    assert bench.sends(EndQuorumEpochRequest) == []
    bench.after(2_000)
    assert bench.epoch == 6


def test_a_candidate_restarts_as_one() -> None:
    bench = Bench(stored=ElectionState(5, voted_key=ReplicaKey(1, directory(1))))
    bench.step()
    assert bench.state == "Candidate" and bench.epoch == 5
    other = Bench(stored=ElectionState(5, voted_key=ReplicaKey(1, bytes(15) + b"x")), dynamic=True)
    other.step()
    assert other.state == "Unattached", "that was another disk"


def test_a_log_that_is_ahead_of_quorum_state_decides_the_epoch() -> None:
    bench = Bench(log=log_of(4, 7), stored=ElectionState(5))
    bench.step()
    assert bench.epoch == 7


def test_a_leader_without_a_majority_resigns() -> None:
    bench = Bench()
    bench.become_leader()
    bench.after(2_999)
    assert bench.raft.is_leader
    bench.after(1)
    assert bench.state == "Resigned"
    assert [send.destination.id for send in bench.sends(EndQuorumEpochRequest)] == [2, 3]


def test_resigning_names_those_first_that_have_the_most() -> None:
    bench = Bench()
    bench.become_leader()
    bench.ask(fetch(3, 1, OffsetAndEpoch(1, 1)))
    bench.ask(fetch(2, 1, EMPTY))
    bench.raft.resign(1)
    bench.step()
    request = bench.sends(EndQuorumEpochRequest)[0].message
    assert [info.candidate_id for info in partition_of(request).preferred_candidates] == [3, 2]


@pytest.mark.parametrize(
    ("position", "successors", "expected_ms"),
    [(0, 4, 0), (1, 4, 125), (2, 4, 250), (3, 4, 500), (4, 4, 1_000), (0, 0, 1_000), (1, 2, 500)],
)
def test_later_successors_wait_twice_as_long(position: int, successors: int, expected_ms: int) -> None:
    assert successor_backoff_ms(position, successors, 1_000) == expected_ms


def test_the_first_successor_stands_at_once() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5))
    assert partition_of(bench.ask(end_epoch(2, 5, (1, 3)))).error_code == ErrorCode.NONE
    assert bench.state == "Prospective"
    other = Bench()
    other.answer(other.become_follower(2, 5), fetched(2, 5))
    other.ask(end_epoch(2, 5, (3, 1)))
    assert other.state == "Follower"
    assert partition_of(other.ask(vote(3, 5, pre_vote=True))).vote_granted
    other.after(500)
    assert other.state == "Prospective"


def test_shutting_down_a_leader_waits_for_a_successor() -> None:
    bench = Bench()
    bench.become_leader()
    bench.raft.shutdown(5_000, bench.now_ms)
    bench.after(bench.config.disconnect_grace_ms)
    assert bench.state == "Resigned" and not bench.raft.is_stopped
    bench.ask(begin_epoch(2, 2))
    assert bench.raft.is_stopped and bench.find(Stopped) == [Stopped(True)]


def test_a_leader_that_stops_passes_on_what_it_has_first() -> None:
    """With more in its log than the others it could not vote for its successor."""
    bench = Bench()
    bench.become_leader()
    bench.ask(fetch(2, 1, OffsetAndEpoch(1, 1)))
    last_offset = bench.raft.append(1, [b"one"], bench.now_ms)
    bench.raft.shutdown(5_000, bench.now_ms)
    bench.step()
    assert bench.state == "Leader"
    bench.ask(fetch(2, 1, OffsetAndEpoch(1, last_offset + 1)))
    assert bench.state == "Resigned"
    assert bench.find(Commit)[-1].batches[-1].values == (b"one",)


def test_one_who_lost_a_pre_vote_asks_again_soon_if_the_leader_has_resigned() -> None:
    """A voter that had not heard of it refused; the next time it has."""
    bench = Bench(local_id=3)
    bench.answer(bench.become_follower(2, 5), fetched(2, 5))
    bench.ask(end_epoch(2, 5, (3, 1)))
    assert bench.state == "Prospective"
    for send in bench.sends(VoteRequest):
        bench.answer(send, granted(5, vote_granted=False, leader_id=2))
    assert bench.state == "Follower"
    assert partition_of(bench.ask(vote(1, 5, voter_id=3, pre_vote=True))).vote_granted
    bench.after(bench.config.disconnect_grace_ms)
    assert bench.state == "Prospective"


def test_shutting_down_does_not_wait_for_voters_that_are_gone() -> None:
    bench = Bench()
    bench.become_leader()
    bench.raft.shutdown(5_000, bench.now_ms)
    bench.after(bench.config.disconnect_grace_ms)
    asked = bench.sends(EndQuorumEpochRequest)
    assert [send.destination.id for send in asked] == [2, 3]
    bench.step(RequestFailed(asked[0].correlation_id, refused=True))
    assert bench.raft.is_stopped and bench.find(Stopped) == [Stopped(False)]


def test_shutting_down_waits_for_a_voter_that_was_gone_and_is_back() -> None:
    bench = Bench()
    bench.answer(bench.become_candidate()[0], granted(1))
    for send in bench.sends(BeginQuorumEpochRequest):
        bench.step(RequestFailed(send.correlation_id, refused=True))
    assert bench.raft.unreachable_nodes == (2, 3)
    bench.ask(fetch(2, 1, OffsetAndEpoch(1, 1)))
    bench.ask(fetch(3, 1, OffsetAndEpoch(1, 1)))
    assert bench.raft.unreachable_nodes == ()
    bench.raft.shutdown(5_000, bench.now_ms)
    bench.after(bench.config.disconnect_grace_ms)
    assert bench.state == "Resigned" and not bench.raft.is_stopped


def test_shutting_down_ends_in_any_case() -> None:
    bench = Bench()
    bench.become_leader()
    bench.raft.shutdown(5_000, bench.now_ms)
    bench.step()
    while not bench.raft.is_stopped:
        bench.until_deadline()
    assert bench.find(Stopped) == [Stopped(False)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (vote(2, 4), ErrorCode.FENCED_LEADER_EPOCH),
        (vote(-1, 5), ErrorCode.INVALID_REQUEST),
        (vote(2, 6, end=OffsetAndEpoch(6, 1)), ErrorCode.INVALID_REQUEST),
        (vote(2, 6, end=OffsetAndEpoch(7, 1), pre_vote=True), ErrorCode.INVALID_REQUEST),
        (vote(2, 6, end=OffsetAndEpoch(1, -1)), ErrorCode.INVALID_REQUEST),
        (vote(2, 6, voter_id=9), ErrorCode.INVALID_VOTER_KEY),
        (vote(2, 6, voter_directory_id=directory(9)), ErrorCode.INVALID_VOTER_KEY),
        (vote(2, 6, voter_directory_id=directory(1)), ErrorCode.NONE),
        (begin_epoch(2, 4), ErrorCode.FENCED_LEADER_EPOCH),
        (begin_epoch(-1, 6), ErrorCode.INVALID_REQUEST),
        (begin_epoch(2, 6, voter_id=9), ErrorCode.INVALID_VOTER_KEY),
        (end_epoch(2, 4, ()), ErrorCode.FENCED_LEADER_EPOCH),
        (end_epoch(-1, 6, ()), ErrorCode.INVALID_REQUEST),
    ],
)
def test_errors_of_a_partition(message: VoteRequest, expected: ErrorCode) -> None:
    bench = Bench(stored=ElectionState(5))
    bench.step()
    assert partition_of(bench.ask(message)).error_code == expected


def test_errors_of_a_whole_request() -> None:
    bench = Bench()
    bench.step()
    assert bench.ask(vote(cluster_id="another")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert bench.ask(VoteRequest(cluster_id=None)).error_code == ErrorCode.INVALID_REQUEST
    assert bench.ask(BeginQuorumEpochRequest(cluster_id="another")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert bench.ask(BeginQuorumEpochRequest()).error_code == ErrorCode.INVALID_REQUEST
    assert bench.ask(EndQuorumEpochRequest(cluster_id="another")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert bench.ask(EndQuorumEpochRequest()).error_code == ErrorCode.INVALID_REQUEST


def test_answers_tell_where_the_leader_listens_from_the_version_that_can() -> None:
    bench = Bench()
    bench.become_follower(2, 5)
    assert bench.ask(vote(3, 5), version=0).node_endpoints == []
    (node,) = bench.ask(vote(3, 5), version=1).node_endpoints
    assert (node.node_id, node.host, node.port) == (2, "node2", 9093)


@pytest.mark.parametrize("claim", [begin_epoch, partial(end_epoch, successors=(1,))])
def test_a_second_leader_of_an_epoch_is_refused(claim: Callable[[int, int], Message]) -> None:
    bench = Bench()
    bench.become_follower(2, 5)
    answer = bench.ask(claim(3, 5))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert (bench.state, bench.epoch, bench.raft.leader_and_epoch.leader_id) == ("Follower", 5, 2)


@pytest.mark.parametrize("claim", [begin_epoch, partial(end_epoch, successors=(1,))])
def test_a_leader_goes_on_when_another_claims_its_epoch(claim: Callable[[int, int], Message]) -> None:
    bench = Bench()
    bench.become_leader()
    epoch = bench.epoch
    answer = bench.ask(claim(3, epoch))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert (bench.state, bench.epoch) == ("Leader", epoch)


def test_an_answer_that_names_a_second_leader_of_an_epoch_is_ignored() -> None:
    bench = Bench()
    send = bench.become_follower(2, 5)
    bench.answer(send, fetched(3, 5, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert (bench.state, bench.epoch, bench.raft.leader_and_epoch.leader_id) == ("Follower", 5, 2)


def test_a_move_that_is_not_in_the_table_halts_the_replica() -> None:
    bench = Bench()
    bench.become_leader()
    with pytest.raises(Fault, match="no move from Leader"):
        bench.raft._quorum.to_prospective(bench.now_ms)


def test_the_table_has_no_move_twice() -> None:
    pairs = [(move.origin, move.target) for move in MOVES]
    assert len(pairs) == len(set(pairs))


def test_an_observer_never_stands() -> None:
    bench = Bench(local_id=9)
    bench.step()
    for _ in range(20):
        bench.until_deadline()
        for send in bench.sends(FetchRequest):
            bench.fail(send)
    assert bench.state == "Unattached" and bench.epoch == 0


def test_whoever_comes_with_our_own_id_is_refused() -> None:
    bench = Bench()
    bench.step()
    for request in (vote(1, 3), begin_epoch(1, 3), end_epoch(1, 3, (1,))):
        answer = bench.ask(request)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert bench.state == "Unattached" and bench.epoch == 0


def test_a_replica_with_a_new_disk_waits_until_another_leads_than_itself() -> None:
    bench = Bench()
    (send,) = bench.step() and bench.sends(FetchRequest)
    bench.answer(send, fetched(1, 4, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert (bench.state, bench.epoch) == ("Unattached", 0)
    bench.ask(begin_epoch(2, 5))
    assert (bench.state, bench.epoch) == ("Follower", 5)
    bench = Bench(log=log_of(1, 1))
    (send,) = bench.step() and bench.sends(FetchRequest)
    bench.answer(send, fetched(1, 4, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert (bench.state, bench.epoch, bench.raft.leader_and_epoch.leader_id) == ("Unattached", 4, None)
