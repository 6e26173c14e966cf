"""Replication, one replica at a time: fetches, the high watermark, truncation, snapshots, and what is durable when."""

import pytest

from odradek.common.failures import Fault
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import fetch_snapshot_request, fetch_snapshot_response
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from odradek.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from odradek.raft.config import MAX_BATCH_BYTES
from odradek.raft.effects import Commit, Flush, LeaderChange, LoadSnapshot, Reply, Send
from odradek.raft.raft import NotLeader
from odradek.raft.storage.batch_accumulator import BatchTooLarge
from odradek.raft.storage.quorum_state_file import ElectionState
from odradek.raft.values import METADATA_TOPIC, LeaderAndEpoch, OffsetAndEpoch
from odradek.raft.voters import VoterSet
from odradek.records.batch import read_batches
from support.builders.raft import (
    CLUSTER_ID,
    EMPTY,
    Bench,
    begin_epoch,
    data_batch,
    directory,
    fetch,
    fetched,
    granted,
    leader_change_batch,
    log_of,
    new_log,
    partition_of,
    voter,
    write_snapshot,
)

ONE = OffsetAndEpoch(1, 1)
TWO = OffsetAndEpoch(1, 2)


def leader(**settings: object) -> Bench:
    """Of epoch 1, with its first record at offset 0."""
    bench = Bench(**settings)  # type: ignore[arg-type]
    bench.become_leader()
    return bench


def answer_to_parked(bench: Bench) -> list[object]:
    return [partition_of(reply.message) for reply in bench.find(Reply)]


def test_a_record_is_committed_when_a_majority_has_it() -> None:
    bench = leader()
    assert bench.raft.high_watermark is None
    answer = partition_of(bench.ask(fetch(2, 1, ONE)))
    assert bench.raft.high_watermark == 1 and answer.high_watermark == 1
    assert LeaderChange(LeaderAndEpoch(1, 1)) in bench.effects
    assert bench.raft.append(1, [b"a", b"b"], bench.now_ms, ["A", "B"]) == 2
    bench.step()
    assert bench.raft.high_watermark == 1 and not bench.find(Commit)
    bench.ask(fetch(3, 1, OffsetAndEpoch(1, 3)))
    (commit,) = bench.find(Commit)
    (batch,) = commit.batches
    assert (batch.base_offset, batch.last_offset, batch.values, batch.objects) == (1, 2, (b"a", b"b"), ("A", "B"))


def test_nothing_of_an_earlier_epoch_is_committed_before_a_record_of_this_one() -> None:
    bench = Bench(log=log_of(1, 1))
    bench.become_leader()
    bench.ask(fetch(2, 2, OffsetAndEpoch(1, 2)))
    assert bench.raft.high_watermark is None
    bench.ask(fetch(2, 2, OffsetAndEpoch(2, 3)))
    assert bench.raft.high_watermark == 3


def test_followers_get_a_record_before_the_leader_has_synced_it_but_it_counts_after() -> None:
    bench = leader()
    bench.ask(fetch(2, 1, ONE))
    bench.ask(fetch(2, 1, ONE, max_wait_ms=500, high_watermark=1))
    assert not bench.find(Reply)
    bench.raft.append(1, [b"a"], bench.now_ms)
    bench.step()
    kinds = [type(effect) for effect in bench.effects]
    assert kinds.index(Reply) < kinds.index(Flush)
    single = Bench(voters=(1,))
    single.become_leader()
    single.raft.append(1, [b"a"], single.now_ms)
    single.step()
    kinds = [type(effect) for effect in single.effects]
    assert kinds.index(Flush) < kinds.index(Commit)


def test_a_fetch_waits_for_something_new() -> None:
    bench = leader()
    bench.ask(fetch(2, 1, ONE))
    assert bench.ask(fetch(2, 1, ONE, max_wait_ms=500, high_watermark=1)) is None
    bench.after(499)
    assert not bench.find(Reply)
    bench.after(1)
    (nothing,) = answer_to_parked(bench)
    assert not nothing.records and nothing.error_code == ErrorCode.NONE


def test_a_fetch_that_does_not_know_the_high_watermark_is_answered_at_once() -> None:
    """KIP-1166."""
    bench = leader()
    bench.ask(fetch(2, 1, ONE))
    assert partition_of(bench.ask(fetch(3, 1, ONE, max_wait_ms=500, high_watermark=0))).high_watermark == 1
    bench.ask(fetch(3, 1, ONE, max_wait_ms=500, high_watermark=1))
    bench.raft.append(1, [b"a"], bench.now_ms)
    bench.step()
    bench.ask(fetch(3, 1, TWO, max_wait_ms=500, high_watermark=1))
    assert bench.raft.high_watermark == 2
    assert answer_to_parked(bench)[0].high_watermark == 2


def test_waiting_fetches_are_refused_when_the_leader_is_none_any_more() -> None:
    bench = leader()
    bench.ask(fetch(2, 1, ONE))
    bench.ask(fetch(2, 1, ONE, max_wait_ms=500, high_watermark=1))
    bench.ask(begin_epoch(3, 2))
    refused = [p for p in answer_to_parked(bench) if p.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert len(refused) == 1 and refused[0].current_leader.leader_epoch == 2


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (fetch(2, 0, EMPTY), ErrorCode.FENCED_LEADER_EPOCH),
        (fetch(2, 9, EMPTY), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (fetch(2, 1, OffsetAndEpoch(0, -1)), ErrorCode.INVALID_REQUEST),
        (fetch(2, 1, OffsetAndEpoch(-1, 0)), ErrorCode.INVALID_REQUEST),
        (fetch(2, 1, OffsetAndEpoch(2, 0)), ErrorCode.INVALID_REQUEST),
        (fetch(1, 1, EMPTY), ErrorCode.INVALID_REQUEST),
    ],
)
def test_errors_of_a_fetch(message: FetchRequest, expected: ErrorCode) -> None:
    assert partition_of(leader().ask(message)).error_code == expected


def test_whoever_does_not_lead_says_who_does() -> None:
    bench = Bench()
    bench.become_follower(2, 5)
    answer = bench.ask(fetch(3, 5, EMPTY))
    partition = partition_of(answer)
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 5)
    assert [(node.node_id, node.host) for node in answer.node_endpoints] == [(2, "node2")]


def test_a_diverging_log_is_told_where_to_cut() -> None:
    bench = Bench(log=log_of(1, 1, 3))
    bench.become_leader()
    epoch = bench.epoch
    partition = partition_of(bench.ask(fetch(2, epoch, OffsetAndEpoch(2, 5))))
    assert (partition.diverging_epoch.epoch, partition.diverging_epoch.end_offset) == (1, 2)
    assert not partition.records
    assert bench.raft.high_watermark is None, "such a fetch says nothing about what the follower has"


def test_a_follower_syncs_before_it_fetches_on() -> None:
    bench = Bench()
    first = bench.become_follower(2, 5)
    bench.answer(first, fetched(2, 5, leader_change_batch(0, 5), high_watermark=0))
    kinds = [type(effect) for effect in bench.effects]
    assert kinds.index(Flush) < kinds.index(Send)
    (send,) = bench.sends(FetchRequest)
    asked = partition_of(send.message)
    assert (asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch) == (1, 5, 5)


def test_a_followers_high_watermark_is_not_beyond_its_log() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, leader_change_batch(0, 5), high_watermark=100))
    assert bench.raft.high_watermark == 1
    (commit,) = bench.find(Commit)
    assert commit.batches[0].is_control and commit.batches[0].values == ()


def test_a_damaged_batch_is_not_appended_and_fetched_again() -> None:
    bench = Bench()
    damaged = bytearray(data_batch(0, 5, b"abcdef"))
    damaged[-2] ^= 1
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, bytes(damaged)))
    assert bench.log.end_offset == 0
    assert [partition_of(send.message).fetch_offset for send in bench.sends(FetchRequest)] == [0]


def test_a_follower_truncates_where_the_leader_says() -> None:
    bench = Bench(log=log_of(1, 1, 2, 2))
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, diverging=OffsetAndEpoch(1, 2)))
    assert bench.log.end_offset == 2
    (send,) = bench.sends(FetchRequest)
    assert partition_of(send.message).last_fetched_epoch == 1


def test_what_is_committed_is_never_truncated() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, data_batch(0, 5, b"a", b"b"), high_watermark=2))
    for wrong in (OffsetAndEpoch(5, 1), OffsetAndEpoch(0, 0), OffsetAndEpoch(3, 7)):
        bench.answer(bench.next_fetch(), fetched(2, 5, diverging=wrong))
        assert (bench.state, bench.log.end_offset, bench.log.high_watermark) == ("Follower", 2, 2)


def test_a_leader_that_repeats_itself_does_not_fill_the_log_file(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, data_batch(0, 5, b"a", b"b"), high_watermark=2))
    for _ in range(100):
        bench.answer(bench.next_fetch(), fetched(2, 5, diverging=OffsetAndEpoch(5, 1)))
    assert bench.raft.contradictions == 100
    lines = [line for line in caplog.messages if "asks to truncate" in line]
    assert len(lines) == 7 and "but 2 is committed; ignored (64 such messages" in lines[-1]


def test_a_leader_cannot_take_the_high_watermark_back() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, data_batch(0, 5, b"a", b"b"), high_watermark=2))
    bench.answer(bench.next_fetch(), fetched(2, 5, high_watermark=1))
    assert (bench.state, bench.log.high_watermark) == ("Follower", 2)


def test_a_snapshot_that_is_not_beyond_the_log_is_not_fetched() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, data_batch(0, 5, b"a", b"b"), high_watermark=2))
    bench.answer(bench.next_fetch(), fetched(2, 5, snapshot_id=OffsetAndEpoch(5, 1)))
    assert bench.state == "Follower" and not bench.sends(FetchSnapshotRequest)


def test_a_later_epoch_in_an_answer_is_followed() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(3, 7, error=ErrorCode.FENCED_LEADER_EPOCH))
    assert (bench.state, bench.epoch, bench.raft.leader_and_epoch.leader_id) == ("Follower", 7, 3)
    (send,) = bench.sends(FetchRequest)
    assert send.destination.id == 3


def test_an_observer_finds_the_leader_and_appends_with_one_fetch() -> None:
    bench = Bench(local_id=9, stored=ElectionState(5))
    bench.step()
    (send,) = bench.sends(FetchRequest)
    bench.answer(send, fetched(2, 5, leader_change_batch(0, 5), high_watermark=1))
    assert bench.state == "Follower" and bench.log.end_offset == 1 and bench.raft.high_watermark == 1


def test_a_follower_whose_leader_does_not_answer_asks_others() -> None:
    bench = Bench()
    first = bench.become_follower(2, 5)
    bench.fail(first)
    (other,) = bench.sends(FetchRequest)
    assert other.destination.id == 3


def snapshot_request(
    epoch: int, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int = 100
) -> FetchSnapshotRequest:
    partition = fetch_snapshot_request.PartitionSnapshot(
        current_leader_epoch=epoch,
        snapshot_id=fetch_snapshot_request.SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch),
        position=position,
        replica_directory_id=directory(2),
    )
    topic = fetch_snapshot_request.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
    return FetchSnapshotRequest(cluster_id=CLUSTER_ID, replica_id=2, max_bytes=max_bytes, topics=[topic])


def snapshot_piece(
    snapshot_id: OffsetAndEpoch, data: bytes, position: int, size: int, error: int = 0
) -> FetchSnapshotResponse:
    partition = fetch_snapshot_response.PartitionSnapshot(
        error_code=error,
        snapshot_id=fetch_snapshot_response.SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch),
        current_leader=fetch_snapshot_response.LeaderIdAndEpoch(leader_id=2, leader_epoch=5),
        size=size,
        position=position,
        unaligned_records=data,
    )
    topic = fetch_snapshot_response.TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])
    return FetchSnapshotResponse(topics=[topic])


SNAPSHOT_ID = OffsetAndEpoch(4, 20)


def whole_snapshot() -> bytes:
    log = new_log()
    write_snapshot(log, SNAPSHOT_ID, VoterSet(map(voter, (1, 2, 3))), [b"state"])
    return bytes(log.read_snapshot(SNAPSHOT_ID, 0, 1 << 20))


def test_an_empty_log_is_sent_to_the_snapshot_and_gets_it_in_pieces() -> None:
    bench = leader(voters=(1,))
    for value in (b"a", b"b"):
        bench.raft.append(1, [value], bench.now_ms)
        bench.step()
    writer = bench.raft.create_snapshot(OffsetAndEpoch(1, 3), 7)
    assert writer is not None
    writer.append([b"ab"])
    size = writer.freeze()
    snapshot_id = OffsetAndEpoch(1, 3)
    assert bench.raft.create_snapshot(snapshot_id, 7) is None
    bench.log.delete_before_snapshot(snapshot_id)
    told = partition_of(bench.ask(fetch(2, 1, EMPTY)))
    assert (told.snapshot_id.end_offset, told.snapshot_id.epoch) == (3, 1)
    data = b""
    while len(data) < size:
        piece = partition_of(bench.ask(snapshot_request(1, snapshot_id, len(data), 50)))
        assert (piece.size, piece.position) == (size, len(data))
        data += bytes(piece.unaligned_records)
    assert [batch.is_control for batch in read_batches(data)] == [True, False, True]
    errors = {
        ErrorCode.POSITION_OUT_OF_RANGE: snapshot_request(1, snapshot_id, size),
        ErrorCode.SNAPSHOT_NOT_FOUND: snapshot_request(1, OffsetAndEpoch(1, 2), 0),
        ErrorCode.FENCED_LEADER_EPOCH: snapshot_request(0, snapshot_id, 0),
        ErrorCode.UNKNOWN_LEADER_EPOCH: snapshot_request(3, snapshot_id, 0),
    }
    for expected, message in errors.items():
        assert partition_of(bench.ask(message)).error_code == expected


def test_a_follower_begins_anew_from_a_snapshot() -> None:
    bench = Bench()
    data = whole_snapshot()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, snapshot_id=SNAPSHOT_ID))
    (send,) = bench.sends(FetchSnapshotRequest)
    assert partition_of(send.message).position == 0
    bench.answer(send, snapshot_piece(SNAPSHOT_ID, data[:100], 0, len(data)))
    (send,) = bench.sends(FetchSnapshotRequest)
    assert partition_of(send.message).position == 100
    bench.answer(send, snapshot_piece(SNAPSHOT_ID, data[100:], 100, len(data)))
    assert bench.find(LoadSnapshot) == [LoadSnapshot(SNAPSHOT_ID, False)]
    assert (bench.log.start_offset, bench.log.end_offset, bench.raft.high_watermark) == (20, 20, 20)
    assert [b.values for b in bench.raft.read_snapshot(SNAPSHOT_ID) if not b.is_control] == [(b"state",)]
    (send,) = bench.sends(FetchRequest)
    asked = partition_of(send.message)
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (20, 4)
    assert bench.raft.voters.ids == (1, 2, 3)


def test_a_snapshot_that_is_gone_at_the_leader_is_asked_for_anew() -> None:
    bench = Bench()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, snapshot_id=SNAPSHOT_ID))
    (send,) = bench.sends(FetchSnapshotRequest)
    bench.answer(send, snapshot_piece(EMPTY, b"", 0, 0, ErrorCode.SNAPSHOT_NOT_FOUND))
    assert len(bench.sends(FetchRequest)) == 1


def test_a_piece_from_the_wrong_place_is_not_written() -> None:
    bench = Bench()
    data = whole_snapshot()
    bench.answer(bench.become_follower(2, 5), fetched(2, 5, snapshot_id=SNAPSHOT_ID))
    (send,) = bench.sends(FetchSnapshotRequest)
    bench.answer(send, snapshot_piece(SNAPSHOT_ID, data[50:], 50, len(data)))
    assert bench.log.latest_snapshot_id is None


def test_the_bootstrap_snapshot_is_not_handed_out() -> None:
    bench = leader(voters=(1,), dynamic=True)
    assert partition_of(bench.ask(snapshot_request(1, EMPTY, 0))).error_code == ErrorCode.SNAPSHOT_NOT_FOUND
    told = partition_of(bench.ask(fetch(2, 1, EMPTY)))
    assert told.records and told.snapshot_id.epoch == -1


def test_only_the_leader_of_the_epoch_writes() -> None:
    bench = leader()
    with pytest.raises(NotLeader):
        bench.raft.append(0, [b"a"], bench.now_ms)
    with pytest.raises(Fault, match="not come yet"):
        bench.raft.append(2, [b"a"], bench.now_ms)
    with pytest.raises(BatchTooLarge):
        bench.raft.append(1, [bytes(9 << 20)], bench.now_ms)
    bench.ask(begin_epoch(2, 2))
    with pytest.raises(NotLeader):
        bench.raft.append(1, [b"a"], bench.now_ms)


def test_a_restart_hands_over_the_snapshot_and_then_the_log() -> None:
    log = new_log()
    write_snapshot(log, SNAPSHOT_ID, VoterSet([voter(1)]), [b"state"])
    log.truncate_to_latest_snapshot()
    log.append_as_follower(data_batch(20, 4, b"a"), 4)
    log.flush()
    bench = Bench(voters=(1,), log=log)
    bench.step()
    bench.step()
    handed = [e for e in bench.effects if isinstance(e, LoadSnapshot | Commit | LeaderChange)]
    assert isinstance(handed[0], LoadSnapshot) and isinstance(handed[1], Commit)
    assert handed[1].batches[0].values == (b"a",)
    assert handed[-1] == LeaderChange(LeaderAndEpoch(1, 5))


def test_a_size_that_is_none_is_refused_and_harms_nobody() -> None:
    log = log_of(1, 1)
    write_snapshot(log, TWO, VoterSet([voter(1)]), [b"a"])
    bench = leader(log=log)
    asked = fetch(2, 2, ONE)
    asked.max_bytes = -1
    assert partition_of(bench.ask(asked)).error_code == ErrorCode.INVALID_REQUEST
    answer = bench.ask(snapshot_request(2, TWO, 0, max_bytes=-1))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST


def test_an_error_that_only_newer_peers_know_is_an_error() -> None:
    bench = Bench()
    send = bench.become_follower()
    bench.answer(send, fetched(2, 5, error=9_999))
    assert bench.state == "Follower" and bench.raft.log_end_offset == 0
    bench = Bench()
    bench.answer(bench.become_candidate()[0], granted(1, error=9_999))
    assert bench.state == "Candidate"


def test_nobody_gets_more_at_once_than_the_largest_batch() -> None:
    log = log_of(1, 1)
    write_snapshot(log, TWO, VoterSet([voter(1)]), [b"v" * (MAX_BATCH_BYTES - 100)])
    bench = leader(log=log)
    (piece,) = bench.ask(snapshot_request(2, TWO, 0, max_bytes=2**31 - 1)).topics[0].partitions
    assert piece.size > len(piece.unaligned_records) == MAX_BATCH_BYTES
    for _ in range(9):
        bench.raft.append(2, [b"v" * 1_000_000], bench.now_ms)
        bench.step()
    assert len(partition_of(bench.ask(fetch(2, 2, TWO))).records) <= MAX_BATCH_BYTES
