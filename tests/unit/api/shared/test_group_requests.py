"""Requests about groups and offsets in every version, on a coordinator of one partition."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.api.dispatch.context import Services, Session
from odradek.api.dispatch.registry import Registry
from odradek.coordinator.group.shard import GroupShard
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.shard import NOBODY, Decision, Writer
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.delete_groups_request import DeleteGroupsRequest
from odradek.protocol.messages.describe_groups_request import DescribeGroupsRequest
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.list_groups_request import ListGroupsRequest
from odradek.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.sync_group_request import SyncGroupRequest
from support.builders.api import ask, session
from support.builders.controller import Bench
from support.builders.groups import NO_DELAY, SESSION_MS, GroupWorld, subscription

NOT_THERE = b"?" * 16


class Here:
    """`facades.Coordinator` on a world whose clock goes on to the next timer while somebody waits."""

    topic = "__consumer_offsets"

    def __init__(self, world: GroupWorld) -> None:
        self._world = world

    async def write(
        self, key: str, operation: Callable[[GroupShard], Decision[Any]], *, writer: Writer = NOBODY
    ) -> Any:
        answer = self._world.write(operation, writer).answer()
        if isinstance(answer, Reply) and not answer.is_done:
            self._world.advance(0)
        return answer

    async def read(self, key: str, operation: Callable[[GroupShard], Any]) -> Any:
        return self._world.runtime.read(0, operation).answer()

    async def read_all(self, operation: Callable[[GroupShard], Any]) -> list[Any]:
        return [await self.read("", operation)]


class Asked:
    """A broker that knows the topic `topic`, with two partitions, and coordinates all groups."""

    def __init__(self) -> None:
        self.world = GroupWorld(NO_DELAY)
        self._bench = Bench()
        self._bench.add_broker(0)
        self.topic_id = self._bench.create("topic", [[0], [0]])
        services = Services(
            image=lambda: self._bench.controller.loader.image,
            groups=Here(self.world),  # type: ignore[arg-type]
        )
        self._session: Session = session(services, ListenerRole.BROKER)

    def __call__(self, request: Any, version: int) -> Any:
        return ask(self._session, request, version)


@pytest.fixture
def asked() -> Asked:
    return Asked()


def versions(key: ApiKey) -> list[int]:
    accepted = Registry(ListenerRole.BROKER).accepted[key]
    return list(range(accepted.first, accepted.last + 1))


def join_request(**fields: Any) -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=subscription("topic"))]
    return JoinGroupRequest(
        group_id="g", session_timeout_ms=SESSION_MS, protocol_type="consumer", protocols=protocols, **fields
    )


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
def test_joining(asked: Asked, version: int) -> None:
    request = join_request(**{"rebalance_timeout_ms": 7_000} if version else {})
    response = asked(request, version)
    if version >= 4:
        assert (response.error_code, bool(response.member_id)) == (ErrorCode.MEMBER_ID_REQUIRED, True)
        assert response.protocol_name == (None if version >= 7 else "")
        request.member_id = response.member_id
        response = asked(request, version)
    assert (response.error_code, response.generation_id, response.protocol_name) == (0, 1, "range")
    (member,) = asked.world.group().members.values()
    assert member.rebalance_timeout_ms == (7_000 if version else SESSION_MS)
    assert (member.client_id, member.client_host) == ("test", "/127.0.0.1")


@pytest.mark.parametrize("version", versions(ApiKey.SYNC_GROUP))
def test_syncing(asked: Asked, version: int) -> None:
    (member,) = asked.world.stable()
    names = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    response = asked(SyncGroupRequest(group_id="g", member_id=member, generation_id=1, **names), version)
    assert (response.error_code, response.assignment) == (0, b"0")
    assert response.protocol_name == ("range" if version >= 5 else None)


def test_syncing_needs_the_protocol_since_version_5(asked: Asked) -> None:
    (member,) = asked.world.stable()
    response = asked(SyncGroupRequest(group_id="g", member_id=member, generation_id=1), 5)
    assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", versions(ApiKey.HEARTBEAT))
def test_heartbeats(asked: Asked, version: int) -> None:
    (member,) = asked.world.stable()
    assert asked(HeartbeatRequest(group_id="g", member_id=member, generation_id=1), version).error_code == 0
    response = asked(HeartbeatRequest(group_id="g", member_id="stranger", generation_id=1), version)
    assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    response = asked(HeartbeatRequest(group_id="none", member_id=member, generation_id=1), version)
    assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_is_welcome_while_the_group_is_being_loaded(asked: Asked) -> None:
    world = asked.world
    world.stable()
    world.partition.elect(9)
    world.runtime.unload(0, world.partition.leader_epoch)
    world.partition.elect(1)
    world.runtime.load(0, world.partition.leader_epoch)
    assert asked(HeartbeatRequest(group_id="g", member_id="anybody"), 4).error_code == 0
    response = asked(join_request(), 9)
    assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP))
def test_leaving(asked: Asked, version: int) -> None:
    (member,) = asked.world.stable()

    def leave(group: str, member_id: str) -> list[int]:
        if version < 3:
            return [asked(LeaveGroupRequest(group_id=group, member_id=member_id), version).error_code]
        request = LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id)])
        response = asked(request, version)
        assert response.error_code == 0
        return [one.error_code for one in response.members]

    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert [leave("g", "stranger"), leave("none", member), leave("g", member)] == [[unknown], [unknown], [0]]


@pytest.mark.parametrize("make", [join_request, HeartbeatRequest, LeaveGroupRequest])
def test_members_need_a_group_with_a_name(asked: Asked, make: Callable[[], Any]) -> None:
    request = make()
    request.group_id = ""
    assert asked(request, 2).error_code == ErrorCode.INVALID_GROUP_ID


def commit_request(asked: Asked, version: int, *partitions: int, topic: str = "topic") -> OffsetCommitRequest:
    is_named = {"name": topic} if version < 10 else {"topic_id": asked.topic_id if topic == "topic" else NOT_THERE}
    return OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(
                partitions=[
                    OffsetCommitRequestPartition(partition_index=index, committed_offset=10 + index)
                    for index in partitions
                ],
                **is_named,
            )
        ],
    )


def codes(response: Any) -> dict[tuple[Any, int], int]:
    return {
        (topic.name or topic.topic_id, one.partition_index): one.error_code
        for topic in response.topics
        for one in topic.partitions
    }


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_committing(asked: Asked, version: int) -> None:
    name = "topic" if version < 10 else asked.topic_id
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(asked(commit_request(asked, version, 0, 2, 1), version)) == {
        (name, 2): missing,
        (name, 0): 0,
        (name, 1): 0,
    }
    assert asked.world.fetch() == {("topic", 0): (10, 0), ("topic", 1): (11, 0)}
    (value,) = {record.value.topic_id for record in asked.world.records()}  # type: ignore[union-attr]
    assert value == asked.topic_id
    unknown = asked(commit_request(asked, version, 0, topic="none"), version)
    if version < 10:
        assert codes(unknown) == {("none", 0): missing}
    else:
        assert codes(unknown) == {(NOT_THERE, 0): ErrorCode.UNKNOWN_TOPIC_ID}


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_a_group_that_refuses_says_so_of_each_partition(asked: Asked, version: int) -> None:
    asked.world.stable()
    request = commit_request(asked, version, 0, 2)
    request.generation_id_or_member_epoch, request.member_id = 1, "stranger"
    assert list(codes(asked(request, version)).values()) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
def test_fetching_some_partitions(asked: Asked, version: int) -> None:
    asked.world.commit_offsets({0: 5}, topic_id=asked.topic_id, metadata="m")
    if version < 8:
        topics = [OffsetFetchRequestTopic(name="topic", partition_indexes=[0, 1])]
        (topic,) = asked(OffsetFetchRequest(group_id="g", topics=topics), version).topics
    else:
        named = {"name": "topic"} if version < 10 else {"topic_id": asked.topic_id}
        groups = [
            OffsetFetchRequestGroup(
                group_id=group, topics=[OffsetFetchRequestTopics(partition_indexes=[0, 1], **named)]
            )
            for group in ("g", "other")
        ]
        first, second = asked(OffsetFetchRequest(groups=groups), version).groups
        assert (first.group_id, second.group_id) == ("g", "other")
        assert [one.committed_offset for one in second.topics[0].partitions] == [-1, -1]
        (topic,) = first.topics
    found = [(one.committed_offset, one.metadata, one.error_code) for one in topic.partitions]
    assert found == [(5, "m", 0), (-1, "", 0)]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH)[1:])
def test_fetching_everything(asked: Asked, version: int) -> None:
    asked.world.commit_offsets({0: 5}, topic_id=asked.topic_id)
    asked.world.commit_offsets({0: 6}, topic="gone")
    if version < 8:
        found = asked(OffsetFetchRequest(group_id="g", topics=None), version).topics
    else:
        groups = [OffsetFetchRequestGroup(group_id="g", topics=None)]
        found = asked(OffsetFetchRequest(groups=groups), version).groups[0].topics
    if version >= 10:
        # A topic that is no more has no id to be called by.
        assert [(topic.topic_id, topic.partitions[0].committed_offset) for topic in found] == [(asked.topic_id, 5)]
    else:
        assert [(topic.name, topic.partitions[0].committed_offset) for topic in found] == [("topic", 5), ("gone", 6)]


def test_an_id_that_is_no_topics_is_told_beside_the_others(asked: Asked) -> None:
    asked.world.commit_offsets({0: 5}, topic_id=asked.topic_id)
    topics = [OffsetFetchRequestTopics(topic_id=one, partition_indexes=[0]) for one in (NOT_THERE, asked.topic_id)]
    (group,) = asked(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)]), 10).groups
    found = {topic.topic_id: topic.partitions[0].error_code for topic in group.topics}
    assert found == {asked.topic_id: 0, NOT_THERE: ErrorCode.UNKNOWN_TOPIC_ID}


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
def test_a_coordinator_that_is_elsewhere_is_said_where_the_version_has_room(asked: Asked, version: int) -> None:
    asked.world.runtime.close()
    if version < 8:
        topics = [OffsetFetchRequestTopic(name="topic", partition_indexes=[0])]
        response = asked(OffsetFetchRequest(group_id="g", topics=topics), version)
        code = response.error_code if version >= 2 else response.topics[0].partitions[0].error_code
    else:
        response = asked(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)]), version)
        code = response.groups[0].error_code
    assert code == ErrorCode.NOT_COORDINATOR


def test_deleting_offsets(asked: Asked) -> None:
    asked.world.commit_offsets({0: 5, 1: 6})
    partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in (0, 7)]
    topics = [OffsetDeleteRequestTopic(name=name, partitions=partitions) for name in ("topic", "none")]
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    response = asked(OffsetDeleteRequest(group_id="g", topics=topics), 0)
    found = {(one.name, each.partition_index): each.error_code for one in response.topics for each in one.partitions}
    assert found == {("topic", 7): missing, ("topic", 0): 0, ("none", 0): missing, ("none", 7): missing}
    assert asked.world.fetch() == {("topic", 1): (6, 0)}
    assert asked(OffsetDeleteRequest(group_id="none"), 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_GROUPS))
def test_deleting_groups(asked: Asked, version: int) -> None:
    asked.world.stable()
    asked.world.commit_offsets({0: 5}, group="simple")
    response = asked(DeleteGroupsRequest(groups_names=["g", "simple", "none", "g"]), version)
    assert [(one.group_id, one.error_code) for one in response.results] == [
        ("g", ErrorCode.NON_EMPTY_GROUP),
        ("simple", 0),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
    ]


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
def test_describing_groups(asked: Asked, version: int) -> None:
    (member,) = asked.world.stable()
    wants = {"include_authorized_operations": True} if version >= 3 else {}
    there, missing = asked(DescribeGroupsRequest(groups=["g", "none"], **wants), version).groups
    assert (there.group_state, [one.member_id for one in there.members]) == ("Stable", [member])
    assert there.authorized_operations == (0b110101001000 if version >= 3 else -(2**31))
    assert missing.group_state == "Dead"
    assert missing.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)


@pytest.mark.parametrize("version", versions(ApiKey.LIST_GROUPS))
def test_listing_groups(asked: Asked, version: int) -> None:
    asked.world.stable()
    asked.world.commit_offsets({0: 5}, group="simple")
    wanted = {"states_filter": ["stable"]} if version >= 4 else {}
    found = [one.group_id for one in asked(ListGroupsRequest(**wanted), version).groups]
    assert found == (["g"] if version >= 4 else ["g", "simple"])
