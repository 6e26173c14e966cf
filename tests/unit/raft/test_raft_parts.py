"""The small parts: voters, histories, counts, connections, the accumulator, names of snapshots."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import Fault
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.raft.request_manager import RequestManager
from odradek.raft.states.vote_count import EpochElection
from odradek.raft.storage.batch_accumulator import Accumulator, BatchTooLarge, TooManyWaiting
from odradek.raft.storage.control_record_history import ControlState, History
from odradek.raft.storage.raft_log import Fit, truncate_to_end_offset, validate_offset_and_epoch
from odradek.raft.storage.snapshots import parse_snapshot_file_name, read_snapshot, snapshot_file_name
from odradek.raft.values import NEVER_MS, Destination, OffsetAndEpoch, ReplicaKey
from odradek.raft.voters import NO_VOTERS, VoterSet
from odradek.records.batch import read_batches
from support.builders.raft import data_batch, key, log_of, new_log, static_voters, voter, write_snapshot


class Dice(Random):
    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return 0


def test_a_later_epoch_is_ahead_of_a_longer_log() -> None:
    assert OffsetAndEpoch(3, 10) > OffsetAndEpoch(2, 500)
    assert OffsetAndEpoch(3, 10) > OffsetAndEpoch(3, 9)


def test_a_replica_with_another_directory_is_another_replica() -> None:
    assert ReplicaKey(1).covers(key(1))
    assert key(1).covers(key(1))
    assert not key(1).covers(ReplicaKey(1, bytes(16)))
    assert not key(1).covers(ReplicaKey(1))
    assert not ReplicaKey(1).covers(key(2))


def test_voters_change_one_at_a_time() -> None:
    voters = VoterSet([voter(1), voter(2)])
    more = voters.add(voter(3))
    assert more is not None and more.ids == (1, 2, 3)
    assert more.add(voter(3)) is None
    fewer = more.remove(key(1))
    assert fewer is not None and fewer.ids == (2, 3)
    assert more.remove(ReplicaKey(1, bytes(16))) is None
    assert VoterSet([voter(1)]).remove(key(1)) is None, "the last one stays"
    assert voters.has_overlapping_majority(more)
    assert not voters.has_overlapping_majority(VoterSet([voter(3), voter(4)]))
    assert VoterSet.from_record(more.to_record()) == more


@given(st.lists(st.integers(0, 30), unique=True), st.integers(0, 30), st.integers(0, 30))
def test_a_history_answers_for_every_offset_it_still_knows(offsets: list[int], cut: int, asked: int) -> None:
    offsets.sort()
    history: History[int] = History()
    for offset in offsets:
        history.add(offset, offset)
    history.truncate_new(cut)
    left = [offset for offset in offsets if offset < cut]
    assert history.at(asked) == max((o for o in left if o <= asked), default=None)
    history.truncate_old(asked)
    assert history.at(max(asked, 30)) == (left[-1] if left else None)
    assert history.at(asked) == max((o for o in left if o <= asked), default=None)


def test_an_election_is_won_by_a_majority_and_lost_without_a_chance() -> None:
    election = EpochElection(static_voters(1, 2, 3, 4, 5), 1)
    assert [k.id for k in election.unrecorded] == [2, 3, 4, 5]
    election.record(2, True)
    election.record(3, False)
    assert not election.is_granted and not election.is_rejected
    election.record(4, False)
    assert not election.is_rejected
    election.record(5, True)
    assert election.is_granted and election.granting == [1, 2, 5]
    lost = EpochElection(static_voters(1, 2, 3), 1)
    lost.record(2, False)
    assert not lost.is_rejected
    lost.record(3, False)
    assert lost.is_rejected
    with pytest.raises(Fault, match="no voter"):
        lost.record(9, True)


def test_who_does_not_vote_does_not_count_for_itself() -> None:
    election = EpochElection(static_voters(2), 1)
    assert not election.is_granted
    election.record(2, True)
    assert election.is_granted


def test_one_request_at_a_time_and_a_pause_after_a_failure() -> None:
    requests = RequestManager(20, 2_000, Dice())
    first = requests.start_request(1, VoteRequest, 0).correlation_id
    assert not requests.is_ready(1, 1_999) and requests.is_ready(1, 2_000)
    assert requests.node_id(first) is None, "it was given up"
    second = requests.start_request(1, VoteRequest, 2_000).correlation_id
    requests.record_failure(second, 2_010)
    assert requests.is_backing_off(1, 2_029) and requests.ready_at_ms(1, 2_029) == 2_030
    assert requests.is_ready(1, 2_030)
    third = requests.start_request(1, VoteRequest, 3_000).correlation_id
    assert requests.message_class(third) is VoteRequest
    requests.record_success(third)
    assert requests.is_ready(1, 3_000)


def test_a_change_of_state_forgets_what_was_asked() -> None:
    requests = RequestManager(20, 2_000, Dice())
    asked = requests.start_request(1, VoteRequest, 0).correlation_id
    requests.reset_all()
    assert requests.node_id(asked) is None
    requests.record_failure(asked, 5)
    assert requests.is_ready(1, 5)


def test_a_leader_is_looked_for_one_server_at_a_time() -> None:
    servers = (Destination(-2, "a", 1), Destination(-3, "b", 1))
    requests = RequestManager(20, 2_000, Dice())
    assert requests.select_ready(servers, 0) == servers[0]
    asked = requests.start_request(-2, VoteRequest, 0).correlation_id
    assert requests.select_ready(servers, 1) is None
    assert requests.next_ready_at_ms(servers, 1) == 2_000
    requests.record_failure(asked, 1)
    assert requests.select_ready(servers, 1) == servers[1]
    assert requests.select_ready((), 1) is None and requests.next_ready_at_ms((), 1) == NEVER_MS


def accumulator(**settings: int) -> Accumulator:
    defaults = {"linger_ms": 25, "max_batch_bytes": 1_000, "max_waiting_batches": 2}
    return Accumulator(5, 100, **(defaults | settings))


def test_records_linger_and_leave_together() -> None:
    gathering = accumulator()
    assert gathering.append([b"a", b"b"], None, 1_000, 7) == 101
    assert gathering.append([b"c"], ["C"], 1_010, 8) == 102
    assert gathering.deadline_ms == 1_025
    (batch,) = gathering.drain()
    assert (batch.base_offset, batch.last_offset, batch.values) == (100, 102, (b"a", b"b", b"c"))
    (read,) = read_batches(batch.data)
    assert (read.base_offset, read.leader_epoch, read.count, read.base_timestamp) == (100, 5, 3, 7)
    assert gathering.deadline_ms == NEVER_MS and gathering.drain() == []


def test_one_append_is_one_batch() -> None:
    gathering = accumulator()
    gathering.append([b"x" * 500], None, 0, 0)
    gathering.append([b"y" * 500, b"z"], None, 0, 0)
    assert [(b.base_offset, b.last_offset) for b in gathering.drain()] == [(100, 100), (101, 102)]
    with pytest.raises(BatchTooLarge):
        gathering.append([b"x" * 2_000], None, 0, 0)
    with pytest.raises(TooManyWaiting):
        for _ in range(5):
            gathering.append([b"x" * 900], None, 0, 0)


def test_control_records_leave_at_once_and_in_order() -> None:
    gathering = accumulator()
    gathering.append([b"a"], None, 0, 0)
    assert gathering.append_control([VoterSet([voter(1)]).to_record()], 3, 0) == 101
    assert gathering.deadline_ms == 3
    assert [(b.base_offset, b.is_control) for b in gathering.drain()] == [(100, False), (101, True)]


def test_a_log_is_a_beginning_of_ours_or_diverges_or_needs_a_snapshot() -> None:
    log = log_of(1, 1, 3, 3)
    assert validate_offset_and_epoch(log, 4, 3).fit is Fit.VALID
    assert validate_offset_and_epoch(log, 2, 1).fit is Fit.VALID
    assert validate_offset_and_epoch(log, 3, 1) == (Fit.DIVERGING, OffsetAndEpoch(1, 2))
    assert validate_offset_and_epoch(log, 3, 2) == (Fit.DIVERGING, OffsetAndEpoch(1, 2))
    assert validate_offset_and_epoch(log, 5, 3) == (Fit.DIVERGING, OffsetAndEpoch(3, 4))
    log.high_watermark = 4
    write_snapshot(log, OffsetAndEpoch(3, 3), NO_VOTERS, [])
    log.delete_before_snapshot(OffsetAndEpoch(3, 3))
    assert validate_offset_and_epoch(log, 2, 1) == (Fit.SNAPSHOT, OffsetAndEpoch(3, 3))
    assert validate_offset_and_epoch(log, 3, 3).fit is Fit.VALID
    assert validate_offset_and_epoch(log, 3, 2).fit is Fit.SNAPSHOT


def test_a_follower_cuts_its_log_to_where_both_may_agree() -> None:
    log = log_of(1, 1, 2, 2, 2)
    assert truncate_to_end_offset(log, OffsetAndEpoch(1, 2)) == 2
    log = log_of(1, 1, 2, 2, 2)
    assert truncate_to_end_offset(log, OffsetAndEpoch(2, 4)) == 4
    log = log_of(1, 1, 3)
    assert truncate_to_end_offset(log, OffsetAndEpoch(2, 9)) == 2
    log = log_of(1, 1)
    assert truncate_to_end_offset(log, OffsetAndEpoch(0, 0)) == 0


def test_voters_hold_from_when_they_are_in_the_log() -> None:
    log = new_log()
    state = ControlState(log, static_voters(1, 2))
    assert state.voters.ids == (1, 2) and state.voters_entry is None
    gathering = Accumulator(1, 0, linger_ms=0, max_batch_bytes=9_999, max_waiting_batches=9)
    gathering.append_control([VoterSet([voter(1)]).to_record()], 0, 0)
    gathering.append_control([VoterSet([voter(1), voter(2)]).to_record()], 0, 0)
    for batch in gathering.drain():
        log.append_as_leader(batch.data, 1)
        state.update()
    assert state.voters.ids == (1, 2) and state.voters_entry == (1, state.voters)
    before = state.voters_before
    assert before is not None and before.ids == (1,)
    log.truncate_to(1)
    state.truncate_new(1)
    assert state.voters.ids == (1,)
    log.append_as_follower(data_batch(1, 2), 2)
    state.update()
    assert state.voters.ids == (1,)


def test_voters_come_from_the_snapshot_where_the_log_begins() -> None:
    log = new_log()
    write_snapshot(log, OffsetAndEpoch(4, 20), VoterSet([voter(1), voter(3)]), [b"a", b"b"])
    log.truncate_to_latest_snapshot()
    state = ControlState(log, NO_VOTERS)
    assert state.voters.ids == (1, 3) and state.kraft_version == 1
    assert state.voters_entry is not None and state.voters_entry[0] == 19
    assert state.voters_at(19) == state.voters and state.voters_at(18) is None


def test_a_snapshot_has_header_records_and_footer() -> None:
    log = new_log()
    snapshot_id = OffsetAndEpoch(4, 20)
    write_snapshot(log, snapshot_id, VoterSet([voter(1)]), [b"a", b"b"])
    batches = list(read_snapshot(log, snapshot_id))
    assert [batch.is_control for batch in batches] == [True, False, True]
    assert batches[1].values == (b"a", b"b")
    assert [batch.base_offset for batch in batches] == [0, 3, 5]
    assert {batch.epoch for batch in batches} == {4}


def test_names_of_snapshots_are_kafkas() -> None:
    name = "00000000000000000020-0000000004.checkpoint"
    assert snapshot_file_name(OffsetAndEpoch(4, 20)) == name
    assert parse_snapshot_file_name(name) == OffsetAndEpoch(4, 20)
    for other in ("00000000000000000020.log", name + ".part", name + ".deleted", "bootstrap.checkpoint"):
        assert parse_snapshot_file_name(other) is None
