"""The leader's part of replication, without the rest of the replica."""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from odradek.raft.effects import Flush, Reply
from odradek.raft.values import OffsetAndEpoch
from support.builders.raft import fetch, partition_of
from support.builders.raft_owners import NOW_MS, Owners, request


def test_a_new_leader_writes_only_after_its_epoch_is_persisted() -> None:
    owners = Owners()
    leader, replication = owners.become_leader(), owners.leader_replication()
    replication.poll(leader)
    assert owners.log.end_offset == 0
    assert replication.allow_writes() and not replication.allow_writes()
    owners.take()
    replication.poll(leader)
    assert owners.log.end_offset == 1 and Flush() in owners.take()


def test_voters_that_do_not_fetch_are_sent_the_epoch_at_intervals() -> None:
    owners = Owners()
    leader, replication = owners.become_leader(), owners.leader_replication()
    replication.poll(leader)
    sends = owners.take_sends()
    assert [send.destination.id for send in sends] == [2, 3]
    assert all(isinstance(send.message, BeginQuorumEpochRequest) for send in sends)
    replication.poll(leader)
    assert owners.take_sends() == []


def test_a_fetch_commits_what_a_majority_has_and_completes_the_waiting_ones() -> None:
    owners = Owners()
    leader, replication = owners.become_leader(), owners.leader_replication()
    replication.allow_writes()
    replication.poll(leader)
    owners.take()
    end = OffsetAndEpoch(leader.epoch, owners.log.end_offset)
    waits = fetch(9, leader.epoch, end, max_wait_ms=500)
    replication.handle_fetch_request(request(waits, "observer"), waits)
    assert owners.take() == [], "an observer commits nothing, and there is nothing new for it"
    caught_up = fetch(2, leader.epoch, end)
    replication.handle_fetch_request(request(caught_up, "voter"), caught_up)
    replies = [effect for effect in owners.take() if isinstance(effect, Reply)]
    assert [reply.handle for reply in replies] == ["observer", "voter"]
    assert [partition_of(reply.message).high_watermark for reply in replies] == [1, 1]
    assert owners.log.high_watermark == 1


def test_a_fetch_without_news_expires_with_an_empty_response() -> None:
    owners = Owners()
    leader, replication = owners.become_leader(), owners.leader_replication()
    message = fetch(2, leader.epoch, OffsetAndEpoch(0, 0), max_wait_ms=500)
    replication.handle_fetch_request(request(message), message)
    owners.context.advance_to(NOW_MS + 499)
    replication.expire_waiting()
    assert owners.take() == []
    owners.context.advance_to(NOW_MS + 500)
    replication.expire_waiting()
    assert partition_of(owners.take_reply()).error_code == ErrorCode.NONE


def test_a_leader_without_fetches_of_a_majority_resigns() -> None:
    owners = Owners()
    leader, replication = owners.become_leader(), owners.leader_replication()
    owners.context.advance_to(leader.check_quorum_deadline_ms)
    replication.poll(leader)
    assert owners.quorum.state.name == "Resigned"


def test_a_leader_that_stops_commits_first() -> None:
    owners = Owners()
    leader, replication = owners.become_leader(), owners.leader_replication()
    replication.allow_writes()
    owners.shutdown.request(5_000, NOW_MS)
    replication.poll(leader)
    assert owners.quorum.state is leader, "its first record is not committed yet"
    owners.context.advance_to(owners.shutdown.resign_deadline_ms)
    replication.poll(leader)
    assert owners.quorum.state.name == "Resigned", "but not for ever"
