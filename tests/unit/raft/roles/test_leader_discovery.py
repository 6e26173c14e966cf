"""How a replica learns who leads."""

import pytest

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.vote_response import NodeEndpoint
from support.builders.raft import data_batch, endpoints, log_of
from support.builders.raft_owners import NOW_MS, Owners

ADDRESS = [NodeEndpoint(node_id=2, host="elsewhere", port=1)]


def test_a_response_of_a_later_epoch_makes_a_follower() -> None:
    owners = Owners()
    assert owners.discovery.handle_response(ErrorCode.NONE, 2, 3, ADDRESS) is True
    state = owners.quorum.state
    assert (state.name, state.epoch, state.leader_id) == ("Follower", 3, 2)
    assert state.leader_endpoints[0].host == "elsewhere"


def test_without_an_address_in_the_response_the_voter_set_has_it() -> None:
    owners = Owners()
    owners.discovery.handle_response(ErrorCode.NONE, 2, 3, [])
    assert owners.quorum.state.leader_endpoints == endpoints(2)


def test_a_leader_without_any_address_is_only_remembered() -> None:
    owners = Owners()
    owners.discovery.handle_response(ErrorCode.NONE, 9, 3, [])
    assert (owners.quorum.state.name, owners.quorum.state.leader_id) == ("Unattached", 9)


@pytest.mark.parametrize(
    ("error", "epoch", "result"),
    [
        (ErrorCode.NONE, 3, None),
        (ErrorCode.NONE, 2, False),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, 3, False),
        (ErrorCode.BROKER_NOT_AVAILABLE, 3, False),
        (ErrorCode.INVALID_VOTER_KEY, 3, True),
        (ErrorCode.FENCED_LEADER_EPOCH, 3, False),
    ],
)
def test_a_response_of_the_same_leader_changes_nothing(error: ErrorCode, epoch: int, result: bool | None) -> None:
    owners = Owners()
    owners.role_changes.become_follower(3, 2, endpoints(2))
    state = owners.quorum.state
    assert owners.discovery.handle_response(error, 2, epoch, []) is result
    assert owners.quorum.state is state


def test_two_leaders_of_one_epoch_are_a_contradiction() -> None:
    owners = Owners()
    owners.role_changes.become_follower(3, 2, endpoints(2))
    assert owners.discovery.handle_leader_request(3, 3, []) == ErrorCode.INVALID_REQUEST
    assert owners.context.contradictions.count == 1
    assert owners.quorum.state.leader_id == 2


def test_a_leadership_that_this_replica_does_not_know_is_not_taken_over() -> None:
    empty = Owners()
    empty.discovery.handle_response(ErrorCode.NONE, 1, 7, [])
    assert empty.quorum.epoch == 0, "the others will notice that the log is empty"
    owners = Owners(log=log_of(1))
    owners.discovery.handle_response(ErrorCode.NONE, 1, 7, [])
    assert (owners.quorum.state.name, owners.quorum.epoch, owners.quorum.state.leader_id) == ("Unattached", 7, None)
    assert owners.context.contradictions.count == 1


def test_one_server_at_a_time_is_asked_for_the_leader() -> None:
    owners = Owners()
    assert owners.discovery.fetch_from_any() == NOW_MS + 2_000
    (send,) = owners.take_sends()
    assert isinstance(send.message, FetchRequest) and send.destination.id in (2, 3)
    owners.discovery.fetch_from_any()
    assert owners.take_sends() == []


def test_the_leader_that_sends_a_request_is_followed() -> None:
    owners = Owners(log=log_of(1))
    assert owners.discovery.handle_leader_request(2, 1, []) is None
    assert owners.quorum.state.leader_id == 2
    assert owners.discovery.handle_leader_request(2, 0, []) == ErrorCode.FENCED_LEADER_EPOCH
    owners.log.append_as_follower(data_batch(1, 1), 1)
    assert owners.context.log_end == (1, 2)
