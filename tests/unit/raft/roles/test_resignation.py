"""Resignation, without the rest of the replica."""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import end_quorum_epoch_response
from odradek.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from odradek.raft.states.follower import Follower
from odradek.raft.states.resigned import Resigned
from odradek.raft.values import METADATA_TOPIC
from support.builders.raft import end_epoch, endpoints, partition_of
from support.builders.raft_owners import NOW_MS, Owners, request


def test_every_voter_is_notified_until_it_acknowledges() -> None:
    owners = Owners()
    leader, resignation = owners.become_leader(), owners.resignation()
    owners.role_changes.become_resigned(leader.successors())
    state = owners.quorum.state
    assert isinstance(state, Resigned)
    resignation.poll(state)
    assert [send.destination.id for send in owners.take_sends()] == [2, 3]
    partition = end_quorum_epoch_response.PartitionData(leader_id=1, leader_epoch=state.epoch)
    topic = end_quorum_epoch_response.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    assert resignation.handle_end_epoch_response(2, EndQuorumEpochResponse(topics=[topic]))
    assert state.unacknowledged == [3]


def test_without_a_successor_it_moves_to_the_next_epoch() -> None:
    owners = Owners()
    leader, resignation = owners.become_leader(), owners.resignation()
    owners.role_changes.become_resigned(leader.successors())
    state = owners.quorum.state
    assert isinstance(state, Resigned)
    owners.context.advance_to(state.election_deadline_ms)
    resignation.poll(state)
    assert (owners.quorum.state.name, owners.quorum.epoch) == ("Unattached", leader.epoch + 1)


def test_the_first_successor_doubts_the_leader_at_once() -> None:
    owners = Owners()
    owners.role_changes.become_follower(5, 2, endpoints(2))
    owners.take()
    message = end_epoch(2, 5, (1, 3))
    owners.resignation().handle_end_epoch_request(request(message), message)
    assert partition_of(owners.take_reply()).error_code == ErrorCode.NONE
    follower = owners.quorum.state
    assert isinstance(follower, Follower) and follower.doubts_leader
    assert follower.fetch_deadline_ms == NOW_MS
