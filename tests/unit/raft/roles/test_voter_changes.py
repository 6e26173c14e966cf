"""Changes of the voters and of `kraft.version`, and the description of the quorum, at one leader."""

import pytest

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from odradek.protocol.messages.add_raft_voter_request import Listener as AddListener
from odradek.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse, SupportedFeatureKey
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from odradek.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from odradek.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from odradek.protocol.messages.update_raft_voter_request import KRaftVersionFeature, UpdateRaftVoterRequest
from odradek.protocol.messages.update_raft_voter_request import Listener as UpdateListener
from odradek.protocol.messages.update_raft_voter_response import CurrentLeader, UpdateRaftVoterResponse
from odradek.raft.config import QuorumConfig
from odradek.raft.effects import Reply
from odradek.raft.roles.kraft_version_upgrade import InvalidUpdateVersion
from odradek.raft.values import METADATA_TOPIC, OffsetAndEpoch
from support.builders.raft import (
    CLUSTER_ID,
    EMPTY,
    LISTENER,
    WALL_MS,
    Bench,
    directory,
    fetch,
    key,
    partition_of,
)


def leader(*voters: int, dynamic: bool = True) -> Bench:
    """Of epoch 1, with its first records committed."""
    bench = Bench(voters=voters, dynamic=dynamic)
    bench.become_leader()
    for voter_id in voters[1:]:
        bench.ask(fetch(voter_id, 1, OffsetAndEpoch(1, bench.log.end_offset)))
    assert bench.raft.high_watermark == bench.log.end_offset
    return bench


def add(voter_id: int, **changes: object) -> AddRaftVoterRequest:
    fields = {
        "cluster_id": CLUSTER_ID,
        "voter_id": voter_id,
        "voter_directory_id": directory(voter_id),
        "listeners": [AddListener(name=LISTENER, host=f"node{voter_id}", port=9093)],
    }
    return AddRaftVoterRequest(**(fields | changes))  # type: ignore[arg-type]


def remove(voter_id: int, **changes: object) -> RemoveRaftVoterRequest:
    fields = {"cluster_id": CLUSTER_ID, "voter_id": voter_id, "voter_directory_id": directory(voter_id)}
    return RemoveRaftVoterRequest(**(fields | changes))  # type: ignore[arg-type]


def update(voter_id: int, epoch: int = 1, host: str = "moved", **changes: object) -> UpdateRaftVoterRequest:
    fields = {
        "cluster_id": CLUSTER_ID,
        "current_leader_epoch": epoch,
        "voter_id": voter_id,
        "voter_directory_id": directory(voter_id),
        "listeners": [UpdateListener(name=LISTENER, host=host, port=9093)],
        "kraft_version_feature": KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    }
    return UpdateRaftVoterRequest(**(fields | changes))  # type: ignore[arg-type]


def versions(last: int = 1) -> ApiVersionsResponse:
    feature = SupportedFeatureKey(name="kraft.version", min_version=0, max_version=last)
    return ApiVersionsResponse(supported_features=[feature])


def end(bench: Bench) -> OffsetAndEpoch:
    return OffsetAndEpoch(1, bench.log.end_offset)


def replies(bench: Bench, kind: type) -> list[ErrorCode]:
    return [ErrorCode(reply.message.error_code) for reply in bench.find(Reply) if isinstance(reply.message, kind)]


def test_the_first_leader_writes_the_voters_of_the_bootstrap_snapshot() -> None:
    bench = leader(1, 2, 3)
    assert bench.log.end_offset == 3, "leader change, kraft.version, voters"
    assert bench.raft.voters_entry is not None and bench.raft.voters_entry[0] == 2
    assert bench.raft.kraft_version == 1


def test_a_voter_is_added_when_the_new_majority_has_the_record() -> None:
    bench = leader(1)
    bench.ask(fetch(2, 1, end(bench)))
    assert bench.ask(add(2)) is None
    (send,) = bench.sends(ApiVersionsRequest)
    assert send.destination == (2, "node2", 9093)
    bench.answer(send, versions())
    assert bench.raft.voters.ids == (1, 2), "it holds from when it is in the log"
    assert bench.raft.high_watermark == 3 and not replies(bench, AddRaftVoterResponse)
    bench.ask(fetch(2, 1, end(bench)))
    assert bench.raft.high_watermark == 4
    assert replies(bench, AddRaftVoterResponse) == [ErrorCode.NONE]


def test_an_answer_need_not_wait_for_the_commit() -> None:
    bench = leader(1)
    bench.ask(fetch(2, 1, end(bench)))
    bench.ask(add(2, ack_when_committed=False))
    bench.answer(bench.sends(ApiVersionsRequest)[0], versions())
    assert replies(bench, AddRaftVoterResponse) == [ErrorCode.NONE]
    assert bench.ask(add(3)).error_code == ErrorCode.REQUEST_TIMED_OUT, "the change is still under way"


def test_why_a_voter_is_not_added() -> None:
    bench = leader(1)
    refusals = {
        ErrorCode.INCONSISTENT_CLUSTER_ID: add(2, cluster_id="another"),
        ErrorCode.INVALID_REQUEST: add(2, voter_directory_id=bytes(16)),
        ErrorCode.DUPLICATE_VOTER: add(1),
    }
    for expected, message in refusals.items():
        answer = bench.ask(message)
        assert answer.error_code == expected and answer.error_message
    assert bench.ask(add(2, listeners=[])).error_code == ErrorCode.INVALID_REQUEST


def test_a_new_voter_that_lags_or_is_too_old_or_does_not_answer_is_refused() -> None:
    bench = leader(1)
    bench.ask(add(2))
    bench.answer(bench.sends(ApiVersionsRequest)[0], versions())
    assert replies(bench, AddRaftVoterResponse) == [ErrorCode.REQUEST_TIMED_OUT]
    bench.ask(fetch(2, 1, end(bench)))
    bench.ask(add(2))
    bench.answer(bench.sends(ApiVersionsRequest)[0], versions(last=0))
    assert replies(bench, AddRaftVoterResponse) == [ErrorCode.INVALID_REQUEST]
    bench.ask(add(2))
    bench.fail(bench.sends(ApiVersionsRequest)[0])
    assert replies(bench, AddRaftVoterResponse) == [ErrorCode.REQUEST_TIMED_OUT]
    bench.after(100)
    bench.ask(add(2))
    bench.after(2_000)
    assert replies(bench, AddRaftVoterResponse) == [ErrorCode.REQUEST_TIMED_OUT]
    assert bench.raft.voters.ids == (1,)


def test_voters_do_not_change_before_this_epoch_is_committed_nor_while_they_are_static() -> None:
    bench = Bench(voters=(1, 2, 3), dynamic=True)
    bench.become_leader()
    assert bench.ask(remove(3)).error_code == ErrorCode.REQUEST_TIMED_OUT
    static = leader(1, 2, 3, dynamic=False)
    assert static.ask(remove(3)).error_code == ErrorCode.UNSUPPORTED_VERSION
    follower = Bench(dynamic=True)
    follower.become_follower(2, 5)
    assert follower.ask(add(4)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_removed_voter_does_not_count_at_once() -> None:
    bench = leader(1, 2, 3)
    assert bench.ask(remove(3)) is None
    bench.step()
    assert bench.raft.voters.ids == (1, 2)
    bench.ask(fetch(3, 1, end(bench)))
    assert bench.raft.high_watermark == 3, "3 is no voter any more"
    bench.ask(fetch(2, 1, end(bench)))
    assert bench.raft.high_watermark == 4
    assert bench.ask(remove(3)).error_code == ErrorCode.VOTER_NOT_FOUND
    assert bench.ask(remove(2, voter_directory_id=directory(9))).error_code == ErrorCode.VOTER_NOT_FOUND


def test_a_leader_that_removed_itself_resigns_when_that_is_committed() -> None:
    bench = leader(1, 2, 3)
    bench.ask(remove(1))
    bench.step()
    bench.ask(fetch(2, 1, end(bench)))
    assert bench.raft.is_leader, "its own copy does not count: two voters are left, and both must have it"
    bench.ask(fetch(3, 1, end(bench)))
    assert bench.state == "Resigned"
    assert [send.destination.id for send in bench.sends(EndQuorumEpochRequest)] == [2, 3]


def test_a_replica_that_an_uncommitted_record_removes_may_still_be_elected() -> None:
    bench = leader(1, 2)
    bench.ask(remove(1))
    bench.step()
    assert bench.raft.voters.ids == (2,)
    again = Bench(voters=(1, 2), dynamic=True, log=bench.log, stored=bench.stored)
    again.step()
    assert again.state == "Resigned"
    while again.state != "Prospective":
        again.until_deadline()
    assert not again.raft.is_voter


def test_a_voter_tells_where_it_listens() -> None:
    bench = leader(1, 2, 3)
    assert bench.ask(update(2)).error_code == ErrorCode.NONE
    bench.step()
    assert bench.raft.voters.endpoints(2)[0].host == "moved"
    assert bench.ask(update(2, epoch=0)).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert bench.ask(update(2, listeners=[])).error_code == ErrorCode.INVALID_REQUEST
    bench.ask(fetch(2, 1, end(bench)))
    assert bench.ask(update(9)).error_code == ErrorCode.VOTER_NOT_FOUND
    old = KRaftVersionFeature(min_supported_version=0, max_supported_version=0)
    assert bench.ask(update(2, kraft_version_feature=old)).error_code == ErrorCode.INVALID_REQUEST


def test_kraft_version_is_raised_when_all_voters_have_told_about_themselves() -> None:
    bench = leader(1, 2, dynamic=False)
    with pytest.raises(InvalidUpdateVersion, match="not all"):
        bench.raft.upgrade_kraft_version(1, 1)
    assert bench.ask(update(2)).error_code == ErrorCode.NONE
    assert bench.raft.upgrade_kraft_version(1, 1, validate_only=True)
    assert bench.raft.kraft_version == 0
    assert bench.raft.upgrade_kraft_version(1, 1)
    assert bench.raft.kraft_version == 1
    bench.step()
    assert bench.raft.voters.keys == (key(1), key(2)), "the log has the voters now"
    bench.ask(fetch(2, 1, end(bench)))
    assert not bench.raft.upgrade_kraft_version(1, 1)
    with pytest.raises(InvalidUpdateVersion):
        bench.raft.upgrade_kraft_version(1, 0)
    assert bench.ask(remove(2)).error_code == ErrorCode.NONE


def test_a_follower_tells_each_static_leader_about_itself() -> None:
    bench = Bench()
    send = bench.keep_fetching(bench.become_follower(2, 5), 2, 5, UpdateRaftVoterRequest)
    leader_now = CurrentLeader(leader_id=2, leader_epoch=5, host="node2", port=9093)
    bench.answer(send, UpdateRaftVoterResponse(current_leader=leader_now))
    assert bench.state == "Follower"


def test_a_new_controller_joins_by_itself() -> None:
    """KIP-1186."""
    bench = Bench(local_id=4, voters=(1, 2), dynamic=True, config=QuorumConfig(auto_join=True))
    send = bench.keep_fetching(bench.become_follower(2, 5), 2, 5, AddRaftVoterRequest)
    assert (send.message.voter_id, send.message.ack_when_committed) == (4, False)
    lost = Bench(
        local_id=2, voters=(1, 2), dynamic=True, config=QuorumConfig(auto_join=True), directory_id=directory(8)
    )
    send = lost.keep_fetching(lost.become_follower(1, 5), 1, 5, RemoveRaftVoterRequest)
    assert (send.message.voter_id, send.message.voter_directory_id) == (2, directory(2)), "its old disk goes first"


def describe() -> DescribeQuorumRequest:
    return DescribeQuorumRequest(topics=[TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData()])])


def test_the_leader_describes_the_quorum() -> None:
    bench = leader(1, 2, 3)
    bench.now_ms += 1_000
    bench.ask(fetch(9, 1, EMPTY))
    bench.now_ms += 500
    answer = bench.ask(describe())
    partition = partition_of(answer)
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 1, 3)
    assert [(v.replica_id, v.log_end_offset) for v in partition.current_voters] == [(1, 3), (2, 3), (3, 3)]
    assert partition.current_voters[0].last_fetch_timestamp == WALL_MS
    assert partition.current_voters[1].last_caught_up_timestamp == WALL_MS - 1_500
    (observer,) = partition.observers
    assert (observer.replica_id, observer.replica_directory_id) == (9, directory(9))
    assert observer.last_fetch_timestamp == WALL_MS - 500 and observer.last_caught_up_timestamp == -1
    assert [node.node_id for node in answer.nodes] == [1, 2, 3]
    assert bench.ask(describe(), version=1).nodes == []


def test_others_do_not_describe_it() -> None:
    bench = Bench()
    bench.become_follower(2, 5)
    assert partition_of(bench.ask(describe())).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    other = DescribeQuorumRequest(topics=[TopicData(topic_name="other", partitions=[PartitionData()])])
    assert partition_of(bench.ask(other)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
