"""The follower's part of replication, without the rest of the replica."""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from odradek.raft.effects import Flush
from odradek.raft.states.follower import Follower
from odradek.raft.values import OffsetAndEpoch
from support.builders.raft import begin_epoch, data_batch, endpoints, fetched, log_of, partition_of
from support.builders.raft_owners import Owners, request


def follow(owners: Owners, epoch: int = 5) -> Follower:
    owners.role_changes.become_follower(epoch, 2, endpoints(2))
    owners.take()
    follower = owners.quorum.state
    assert isinstance(follower, Follower)
    return follower


def test_fetched_batches_are_synced_and_committed_up_to_the_end_of_the_log() -> None:
    owners = Owners()
    follower, replication = follow(owners), owners.follower_replication()
    assert replication.handle_fetch_response(fetched(2, 5, data_batch(0, 5), high_watermark=9))
    assert owners.take() == [Flush()]
    assert owners.log.end_offset == 1 and follower.high_watermark == owners.log.high_watermark == 1
    assert follower.has_leader_contact


def test_damaged_batches_are_counted_and_not_appended() -> None:
    owners = Owners()
    follow(owners)
    replication = owners.follower_replication()
    damaged = bytearray(data_batch(0, 5))
    damaged[-1] ^= 1
    assert replication.handle_fetch_response(fetched(2, 5, bytes(damaged)))
    assert replication.damaged_fetches == 1 and owners.log.end_offset == 0


def test_a_diverging_log_is_truncated_but_not_below_what_is_committed() -> None:
    owners = Owners(log=log_of(1, 1, 2))
    follower, replication = follow(owners), owners.follower_replication()
    assert replication.handle_fetch_response(fetched(2, 5, diverging=OffsetAndEpoch(1, 2)))
    assert owners.log.end_offset == 2
    assert replication.handle_fetch_response(fetched(2, 5, high_watermark=2))
    assert not replication.handle_fetch_response(fetched(2, 5, diverging=OffsetAndEpoch(1, 1)))
    assert owners.log.end_offset == 2 and follower.high_watermark == 2
    assert owners.context.contradictions.count == 1


def test_a_snapshot_is_fetched_before_the_log_goes_on() -> None:
    owners = Owners()
    follower, replication = follow(owners), owners.follower_replication()
    replication.poll(follower)
    (send,) = owners.take_sends()
    assert isinstance(send.message, FetchRequest)
    owners.requests.record_success(send.correlation_id)
    assert replication.handle_fetch_response(fetched(2, 5, snapshot_id=OffsetAndEpoch(3, 10)))
    replication.poll(follower)
    (send,) = owners.take_sends()
    assert isinstance(send.message, FetchSnapshotRequest) and partition_of(send.message).position == 0


def test_a_voter_without_successful_fetches_starts_an_election() -> None:
    owners = Owners()
    follower, replication = follow(owners), owners.follower_replication()
    owners.context.advance_to(follower.fetch_deadline_ms)
    replication.poll(follower)
    assert owners.quorum.state.name == "Prospective"


def test_an_observer_without_successful_fetches_stays_a_follower() -> None:
    owners = Owners((2, 3))
    follower, replication = follow(owners), owners.follower_replication()
    follower.record_leader_contact(owners.context.now_ms)
    owners.context.advance_to(follower.fetch_deadline_ms)
    replication.poll(follower)
    assert owners.quorum.state is follower and not follower.has_leader_contact


def test_a_leader_that_introduces_itself_is_followed() -> None:
    owners = Owners()
    replication, message = owners.follower_replication(), begin_epoch(2, 5)
    replication.handle_begin_epoch_request(request(message), message)
    partition = partition_of(owners.take_reply())
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (ErrorCode.NONE, 2, 5)
    other = begin_epoch(2, 5, voter_id=3)
    replication.handle_begin_epoch_request(request(other), other)
    assert partition_of(owners.take_reply()).error_code == ErrorCode.INVALID_VOTER_KEY
