"""A group coordinator on one simulated partition, and members that talk to it."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from odradek.common.failures import ApiError
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.group.shard import GroupShard
from odradek.coordinator.group.values import RequestContext
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.runtime import CoordinatorRuntime
from odradek.coordinator.runtime.serde import decode_record
from odradek.coordinator.runtime.shard import NOBODY, CoordinatorRecord, Decision, ShardContext, Writer
from odradek.protocol.codec import encode
from odradek.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from odradek.protocol.messages.offset_fetch_response import OffsetFetchResponseGroup
from odradek.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.protocol.messages.sync_group_response import SyncGroupResponse
from odradek.records.batch import read_batch
from odradek.sim.coordinator.log import SimulatedLog, SimulatedTopic
from support.builders.logs import HandClock

Answer = TypeVar("Answer")

NODE = 1
SESSION_MS = 10_000
REBALANCE_MS = 30_000
NO_DELAY = GroupSettings(initial_rebalance_delay_ms=0)


def subscription(*topics: str, version: int = 1) -> bytes:
    """As a consumer says it in its metadata."""
    return version.to_bytes(2, "big") + encode(ConsumerProtocolSubscription(topics=list(topics)), version)


class GroupWorld:
    """One node that leads the one partition; replies are looked at in the order of the test."""

    def __init__(self, settings: GroupSettings = NO_DELAY) -> None:
        self.settings = settings
        self.topic = SimulatedTopic()
        self.partition = self.topic.partitions[0]
        self.partition.elect(NODE)
        self.log = SimulatedLog(self.topic, NODE)
        self.clock = HandClock()
        self.shard: GroupShard
        self.runtime = CoordinatorRuntime("__consumer_offsets", self.log, self._new_shard, self.clock, Random(0))
        self.load()

    def _new_shard(self, context: ShardContext) -> GroupShard:
        self.shard = GroupShard(context, self.settings)
        return self.shard

    def load(self) -> None:
        if self.runtime.load(0, self.partition.leader_epoch):
            while self.runtime.load_step(0):
                pass

    def reload(self) -> None:
        """The leadership was elsewhere meanwhile."""
        self.partition.elect(NODE + 1)
        self.runtime.unload(0, self.partition.leader_epoch)
        self.partition.elect(NODE)
        self.load()

    def commit(self) -> None:
        self.partition.commit()
        self.runtime.high_watermark_moved(0)

    def advance(self, ms: int) -> None:
        """Every timer on the way fires at its time."""
        end_ms = self.clock.monotonic_ms() + ms
        while (deadline_ms := self.runtime.deadline_ms) is not None and deadline_ms <= end_ms:
            self.clock.now_ms += max(0, deadline_ms - self.clock.monotonic_ms())
            self.runtime.tick(self.clock.monotonic_ms())
        self.clock.now_ms += end_ms - self.clock.monotonic_ms()

    def group(self, group_id: str = "g") -> ClassicGroup:
        group = self.shard.store.classic_group(group_id)
        assert group is not None
        return group

    def records(self) -> list[CoordinatorRecord]:
        """All that the log has."""
        return [
            decode_record("group-coordinator", record.key, record.value)
            for stored in self.partition.batches
            for record in read_batch(stored, 0).records()
        ]

    def write(self, operation: Callable[[GroupShard], Decision[Answer]], writer: Writer = NOBODY) -> Reply[Answer]:
        return self.runtime.write(0, operation, writer=writer)

    def code_of(self, operation: Callable[[GroupShard], Decision[Any]]) -> int:
        """The error of an operation that fails as a whole, or of its answer."""
        reply = self.write(operation)
        if reply.error is not None:
            return reply.error.code
        code: int = getattr(reply.answer(), "error_code", 0)
        return code

    # Members

    def join(
        self, member_id: str = "", *, version: int = 3, group: str = "g", **fields: Any
    ) -> Reply[JoinGroupResponse]:
        """Version 3 members get their id with their first join."""
        request = JoinGroupRequest(
            group_id=group,
            member_id=member_id,
            session_timeout_ms=fields.pop("session_ms", SESSION_MS),
            rebalance_timeout_ms=fields.pop("rebalance_ms", REBALANCE_MS),
            protocol_type=fields.pop("protocol_type", "consumer"),
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name, metadata in fields.pop("protocols", [("range", subscription("topic"))])
            ],
            **fields,
        )
        context = RequestContext(version, "client", "/127.0.0.1")
        reply = self.write(lambda shard: shard.join(context, request))
        return reply.answer()

    def sync(
        self, member_id: str, generation: int, assignments: dict[str, bytes] | None = None, **fields: Any
    ) -> Reply[SyncGroupResponse]:
        request = SyncGroupRequest(
            group_id="g",
            member_id=member_id,
            generation_id=generation,
            assignments=[
                SyncGroupRequestAssignment(member_id=one, assignment=assignment)
                for one, assignment in (assignments or {}).items()
            ],
            **fields,
        )
        return self.runtime.write(0, lambda shard: shard.sync(request)).answer()

    def heartbeat(self, member_id: str, generation: int, **fields: Any) -> int:
        request = HeartbeatRequest(group_id="g", member_id=member_id, generation_id=generation, **fields)
        return self.code_of(lambda shard: shard.heartbeat(request))

    def leave(self, *members: MemberIdentity | str) -> list[int]:
        request = LeaveGroupRequest(
            group_id="g",
            members=[one if isinstance(one, MemberIdentity) else MemberIdentity(member_id=one) for one in members],
        )
        return [one.error_code for one in self.write(lambda shard: shard.leave(request)).answer().members]

    def stable(self, count: int = 1, **fields: Any) -> list[str]:
        """A group of so many members, the leader first; every one has its number assigned."""
        replies: list[Reply[JoinGroupResponse]] = []
        ids: list[str] = []
        for _ in range(count):
            newcomer = self.join(**fields)
            replies = [*(self.join(one, **fields) for one in ids), newcomer]
            self.advance(self.settings.initial_rebalance_delay_ms)
            ids = [reply.answer().member_id for reply in replies]
        leader = replies[0].answer()
        assert leader.leader == ids[0]
        syncs = [self.sync(one, leader.generation_id) for one in ids[1:]]
        syncs.append(self.sync(ids[0], leader.generation_id, {one: b"%d" % n for n, one in enumerate(ids)}))
        assert [reply.answer().error_code for reply in syncs] == [0] * count
        return ids

    # Offsets

    def commit_offsets(
        self,
        offsets: dict[int, int],
        *,
        group: str = "g",
        member: str = "",
        generation: int = -1,
        version: int = 9,
        topic: str = "topic",
        topic_id: bytes = bytes(16),
        metadata: str | None = None,
        **fields: Any,
    ) -> Reply[Any]:
        request = OffsetCommitRequest(
            group_id=group,
            member_id=member,
            generation_id_or_member_epoch=generation,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    topic_id=topic_id,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=offset, committed_metadata=metadata
                        )
                        for index, offset in offsets.items()
                    ],
                )
            ],
            **fields,
        )
        return self.write(lambda shard: shard.commit_offsets(request, version))

    def fetch(self, *, group: str = "g", stable: bool = False) -> dict[tuple[str, int], tuple[int, int]]:
        """All of a group: offset and error by topic and partition."""
        request = OffsetFetchRequestGroup(group_id=group, topics=None)
        return shown(self.runtime.read(0, lambda shard: shard.fetch_offsets(request, stable)).answer())

    def fetch_some(
        self, partitions: Sequence[int], *, topic: str = "topic", topic_id: bytes = bytes(16), stable: bool = False
    ) -> dict[tuple[str, int], tuple[int, int]]:
        topics = [OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=list(partitions))]
        request = OffsetFetchRequestGroup(group_id="g", topics=topics)
        return shown(self.runtime.read(0, lambda shard: shard.fetch_offsets(request, stable)).answer())


def shown(answer: OffsetFetchResponseGroup) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (topic.name, one.partition_index): (one.committed_offset, one.error_code)
        for topic in answer.topics
        for one in topic.partitions
    }


def error_code(reply: Reply[Any]) -> int:
    """0 if it did not fail."""
    error: ApiError | None = reply.error
    return 0 if error is None else error.code
