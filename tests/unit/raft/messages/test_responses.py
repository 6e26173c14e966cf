"""Every response says who leads; from a certain version on also where."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.vote_request import VoteRequest
from odradek.raft.events import Request
from odradek.raft.messages.responses import ResponseBuilder
from odradek.raft.values import OffsetAndEpoch
from support.builders.raft import LISTENER, endpoints, partition_of
from support.builders.raft_owners import Owners

Build = Callable[[ResponseBuilder, Request, ErrorCode], Any]

BUILDS: dict[str, tuple[Build, int]] = {
    "vote": (ResponseBuilder.build_vote, 1),
    "begin epoch": (ResponseBuilder.build_begin_epoch, 1),
    "end epoch": (ResponseBuilder.build_end_epoch, 1),
    "fetch": (ResponseBuilder.build_fetch, 17),
    "fetch snapshot": (ResponseBuilder.build_fetch_snapshot, 1),
}


def request(version: int, listener: str = LISTENER) -> Request:
    return Request("handle", VoteRequest(), version, listener)


@pytest.mark.parametrize("name", BUILDS)
def test_the_leader_and_its_address(name: str) -> None:
    build, first_version = BUILDS[name]
    owners = Owners()
    builder = ResponseBuilder(owners.context)
    before = build(builder, request(first_version), ErrorCode.NONE)
    fields = getattr(partition_of(before), "current_leader", partition_of(before))
    assert (fields.leader_id, fields.leader_epoch) == (-1, 0)
    assert before.node_endpoints == []

    owners.role_changes.become_follower(4, 2, endpoints(2))
    after = build(builder, request(first_version), ErrorCode.NONE)
    fields = getattr(partition_of(after), "current_leader", partition_of(after))
    assert (fields.leader_id, fields.leader_epoch) == (2, 4)
    assert [(e.node_id, e.host, e.port) for e in after.node_endpoints] == [(2, "node2", 9093)]
    assert build(builder, request(first_version - 1), ErrorCode.NONE).node_endpoints == []
    assert build(builder, request(first_version, "OTHER"), ErrorCode.NONE).node_endpoints == []


def test_another_partition_has_no_leader() -> None:
    owners = Owners()
    owners.role_changes.become_follower(4, 2, endpoints(2))
    response = ResponseBuilder(owners.context).build_fetch_snapshot_of_unknown(request(1), "other", 3)
    partition = partition_of(response)
    assert (response.topics[0].name, partition.index) == ("other", 3)
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (0, 0)


def test_a_part_of_a_snapshot() -> None:
    response = ResponseBuilder(Owners().context).build_fetch_snapshot(
        request(1), ErrorCode.NONE, snapshot_id=OffsetAndEpoch(3, 20), size_bytes=9, position=4, data=b"part"
    )
    partition = partition_of(response)
    assert (partition.snapshot_id.epoch, partition.snapshot_id.end_offset) == (3, 20)
    assert (partition.size, partition.position, partition.unaligned_records) == (9, 4, b"part")


def test_a_voter_learns_the_leader_from_the_response_to_its_update() -> None:
    owners = Owners()
    builder = ResponseBuilder(owners.context)
    unknown = builder.build_update_voter(request(0), ErrorCode.NOT_LEADER_OR_FOLLOWER).current_leader
    assert (unknown.leader_id, unknown.host, unknown.port) == (-1, "", 0)
    owners.role_changes.become_follower(4, 2, endpoints(2))
    leader = builder.build_update_voter(request(0), ErrorCode.NOT_LEADER_OR_FOLLOWER).current_leader
    assert (leader.leader_id, leader.leader_epoch, leader.host, leader.port) == (2, 4, "node2", 9093)
