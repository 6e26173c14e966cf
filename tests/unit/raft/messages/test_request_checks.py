"""Checks that requests of several kinds share."""

from typing import Any

import pytest

from odradek.common.ids import ZERO_UUID
from odradek.protocol.error_codes import ErrorCode
from odradek.raft.messages.request_checks import RequestChecks, parse_error_code
from support.builders.raft import begin_epoch, directory, end_epoch, endpoints, vote
from support.builders.raft_owners import Owners

REQUESTS = {"vote": lambda: vote(2, 5), "begin": lambda: begin_epoch(2, 5), "end": lambda: end_epoch(2, 5, (1,))}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_for_this_cluster_and_the_metadata_partition(name: str) -> None:
    checks = RequestChecks(Owners().context)
    message: Any = REQUESTS[name]()
    assert checks.request_error(message) is None
    message.cluster_id = None
    assert checks.request_error(message) is None, "old versions have no cluster id"
    message.cluster_id = "another"
    assert checks.request_error(message) == ErrorCode.INCONSISTENT_CLUSTER_ID
    message = REQUESTS[name]()
    message.topics[0].topic_name = "another"
    assert checks.request_error(message) == ErrorCode.INVALID_REQUEST
    message.topics = []
    assert checks.request_error(message) == ErrorCode.INVALID_REQUEST


def test_the_sender_is_another_voter_in_no_earlier_epoch() -> None:
    owners = Owners()
    owners.role_changes.become_unattached(5)
    checks = RequestChecks(owners.context)
    assert checks.voter_request_error(2, 5) is None
    assert checks.voter_request_error(2, 4) == ErrorCode.FENCED_LEADER_EPOCH
    assert checks.voter_request_error(1, 5) == ErrorCode.INVALID_REQUEST
    assert checks.voter_request_error(-1, 5) == ErrorCode.INVALID_REQUEST


def test_only_the_leader_of_the_epoch_handles_requests_for_the_leader() -> None:
    owners = Owners()
    checks = RequestChecks(owners.context)
    leader = owners.become_leader()
    assert checks.leader_request_error(leader.epoch) is None
    assert checks.leader_request_error(leader.epoch - 1) == ErrorCode.FENCED_LEADER_EPOCH
    assert checks.leader_request_error(leader.epoch + 1) == ErrorCode.UNKNOWN_LEADER_EPOCH
    owners.role_changes.become_follower(leader.epoch + 1, 2, endpoints(2))
    assert checks.leader_request_error(leader.epoch + 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_request_may_name_the_replica_it_is_for() -> None:
    checks = RequestChecks(Owners().context)
    assert checks.is_for_local_replica(-1, ZERO_UUID)
    assert checks.is_for_local_replica(1, ZERO_UUID)
    assert checks.is_for_local_replica(1, directory(1))
    assert not checks.is_for_local_replica(1, directory(9))
    assert not checks.is_for_local_replica(2, ZERO_UUID)


def test_errors_of_newer_versions_are_unknown() -> None:
    assert parse_error_code(74) == ErrorCode.FENCED_LEADER_EPOCH
    assert parse_error_code(30_000) == ErrorCode.UNKNOWN_SERVER_ERROR
