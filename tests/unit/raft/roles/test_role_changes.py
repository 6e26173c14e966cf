"""What ends with a role."""

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.raft.effects import LeaderChange, Persist, Reply
from odradek.raft.events import Request
from odradek.raft.values import Destination, LeaderAndEpoch, OffsetAndEpoch
from support.builders.raft import CLUSTER_ID, LISTENER, endpoints, fetch, key, partition_of
from support.builders.raft_owners import NOW_MS, Owners, request


def test_a_new_role_abandons_the_requests_of_the_old_one() -> None:
    owners = Owners()
    owners.outbox.send(Destination(2, "node2", 9093), VoteRequest, NOW_MS)
    (send,) = owners.take_sends()
    owners.role_changes.become_follower(3, 2, endpoints(2))
    assert owners.requests.node_id(send.correlation_id) is None
    persist, change = owners.take()
    assert isinstance(persist, Persist) and persist.election[:2] == (3, 2)
    assert change == LeaderChange(LeaderAndEpoch(2, 3))


def test_fetches_that_wait_at_a_leader_are_refused_when_it_leads_no_more() -> None:
    owners = Owners()
    leader = owners.become_leader()
    replication = owners.leader_replication()
    message = fetch(2, leader.epoch, OffsetAndEpoch(0, 0), max_wait_ms=500)
    replication.handle_fetch_request(Request("waits", message, FetchRequest.VERSIONS[1], LISTENER), message)
    assert owners.take() == [] and len(owners.waiting) == 1
    owners.role_changes.become_follower(leader.epoch + 1, 2, endpoints(2))
    effects = owners.take()
    assert isinstance(effects[0], Persist), "the reply names the new leader, which must not be forgotten"
    (reply,) = [effect for effect in effects if isinstance(effect, Reply)]
    partition = partition_of(reply.message)
    assert reply.handle == "waits" and partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, leader.epoch + 1)
    assert len(owners.waiting) == 0


def test_a_pending_change_of_the_voters_ends_with_the_leadership() -> None:
    owners = Owners(dynamic=True)
    leader = owners.become_leader()
    replication = owners.leader_replication()
    replication.allow_writes()
    replication.poll(leader)
    fetched = fetch(2, leader.epoch, OffsetAndEpoch(leader.epoch, owners.log.end_offset))
    replication.handle_fetch_request(request(fetched), fetched)
    owners.take()
    removal = RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=3, voter_directory_id=key(3).wire_directory_id)
    owners.voter_changes.handle_remove_request(request(removal, "removal"), removal)
    assert owners.take() == [], "the response waits for the commit"
    assert owners.voter_changes.expire() > NOW_MS
    owners.role_changes.become_resigned(leader.successors())
    (reply,) = [effect for effect in owners.take() if isinstance(effect, Reply)]
    assert reply.handle == "removal" and reply.message.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER  # type: ignore[attr-defined]
    owners.role_changes.become_unattached(leader.epoch + 1)
    assert not any(isinstance(effect, Reply) for effect in owners.take()), "it is answered once"
