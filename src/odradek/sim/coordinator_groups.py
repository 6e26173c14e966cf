"""Classic groups whose members come, die, are late and commit, while their coordinators fail.

Members do as consumers do: join, let their leader assign, sync, send heartbeats, commit what they own. Every offset
that is committed begins with the generation it was committed in. So whoever looks at the log sees an older generation
that overtook a younger one: offsets of a partition, and generations of a group, never go back. And a partition has one
owner in each generation, whatever the members were told.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from odradek.common.failures import ApiError, check
from odradek.coordinator.group.offsets import OffsetKey
from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.group.shard import GroupShard
from odradek.coordinator.group.values import RequestContext
from odradek.coordinator.reply import Reply
from odradek.coordinator.runtime import CoordinatorRuntime
from odradek.coordinator.serde import decode_record, module_of
from odradek.coordinator.shard import Decision
from odradek.protocol.codec import encode
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from odradek.protocol.messages.group_metadata_value import GroupMetadataValue
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.offset_commit_response import OffsetCommitResponse
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue
from odradek.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.protocol.messages.sync_group_response import SyncGroupResponse
from odradek.sim.coordinator_cluster import WRITE_TIMEOUT_MS, CoordinatorCluster
from odradek.sim.coordinator_looking import load_anew, shard_of

_TOPIC = "__consumer_offsets"
_PARTITIONS = 4
_SESSION_MS = 1_000
_REBALANCE_MS = 1_500
_HEARTBEAT_MS = 150
_RETRY_MS = 50
#: Offsets of one generation are below those of the next.
_GENERATION: Final = 1_000_000

_JOIN_VERSION = 5
_COMMIT_VERSION = 8
_SUBSCRIPTION = b"\x00\x01" + encode(ConsumerProtocolSubscription(topics=["t"]), 1)


class GroupWorkload:
    def __init__(self, random: Random) -> None:
        delay_ms = random.choice((0, 0, 100))
        settings = GroupSettings(min_session_timeout_ms=_SESSION_MS, initial_rebalance_delay_ms=delay_ms)
        self._new_shard = lambda context: GroupShard(context, settings)
        self.cluster = CoordinatorCluster(
            Random(random.getrandbits(64)), _TOPIC, self._new_shard, partition_count=random.randint(1, 2)
        )
        self._random = random
        self.is_over = False
        #: By group, generation and partition.
        self.owners: dict[tuple[str, int, int], str] = {}
        #: By group and partition: the last that was acknowledged.
        self.acked: dict[tuple[str, int], int] = {}
        self._acks: dict[str, int] = {}
        self.members = [
            Member(self, number, f"g{number}", each)
            for number in self.cluster.topic.partitions
            for each in range(random.randint(1, 3))
        ]

    @property
    def acks(self) -> int:
        return sum(self._acks.values())

    def begin(self) -> None:
        for member in self.members:
            self.cluster.scheduler.after(self._random.randint(0, 500), member.start)
        self.cluster.scheduler.every(lambda: self._random.randint(200, 2_000), self._disturb)

    def _disturb(self) -> None:
        """A member dies, and comes back as somebody else; or sleeps, and goes on as if nothing had happened."""
        if self.is_over:
            return
        member, absence_ms = self._random.choice(self.members), self._random.randint(0, 3 * _SESSION_MS)
        if self._random.random() < 0.5:
            member.sleep(absence_ms)
        else:
            member.die()
            self.cluster.scheduler.after(absence_ms, member.start)

    def progress(self) -> list[int]:
        return [self._acks.get(member.group, 0) for member in self.members]

    def stop(self) -> None:
        self.is_over = True
        for member in self.members:
            member.die()

    # What members tell

    def owned(self, group: str, generation: int, partition: int, member_id: str) -> None:
        before = self.owners.setdefault((group, generation, partition), member_id)
        check(before == member_id, f"{group}-{partition} is {before}'s and {member_id}'s in generation {generation}")

    def committed(self, group: str, partition: int, offset: int) -> None:
        self.acked[group, partition] = max(offset, self.acked.get((group, partition), 0))
        self._acks[group] = self._acks.get(group, 0) + 1

    # The end

    def check(self) -> None:
        for number in self.cluster.topic.partitions:
            live, loaded = shard_of(self.cluster, number), load_anew(self.cluster, number, self._new_shard)
            for state in (_state, _offsets):
                check(state(live) == state(loaded), f"{number}: {state(live)} is served, {state(loaded)} in the log")
            self._check_log(number)
            for (group, partition), offset in self.acked.items():
                if group == f"g{number}":
                    found = live.offsets.committed.get(OffsetKey(group, "t", partition))
                    check(
                        found is not None and found.offset >= offset,
                        f"{group}-{partition}: {offset} was acknowledged, and {found} is there",
                    )

    def _check_log(self, number: int) -> None:
        highest: dict[Any, int] = {}
        partition = self.cluster.topic.partitions[number]
        for batch in partition.batches_between(0, partition.end_offset):
            for one in batch.records():
                record = decode_record(module_of(_TOPIC), one.key, one.value)
                value: int | None = None
                if isinstance(record.value, OffsetCommitValue):
                    assert isinstance(record.key, OffsetCommitKey)
                    name, value = f"{record.key.group}-{record.key.partition}", record.value.offset
                elif isinstance(record.value, GroupMetadataValue):
                    name, value = "generation", record.value.generation
                if value is not None:
                    before = highest.get(name, -1)
                    check(value >= before, f"{name} goes back from {before} to {value} at offset {one.offset}")
                    highest[name] = value


def _state(shard: GroupShard) -> list[tuple[str, int, list[str]]]:
    groups = (shard.store.classic_group(name) for name in sorted(shard.store.groups))
    return [(group.group_id, group.generation, sorted(group.members)) for group in groups if group is not None]


def _offsets(shard: GroupShard) -> list[Any]:
    return sorted(shard.offsets.committed.items())


class Member:
    def __init__(self, world: GroupWorkload, number: int, group: str, index: int) -> None:
        self.group = group
        self._world = world
        self._cluster = world.cluster
        self._number = number
        self._index = index
        #: Changes with every life and every join: what is still said to an earlier one is not heard.
        self._life = 0
        self._awake_ms = 0
        self._member_id = ""
        self._generation = -1
        self._owned: list[int] = []
        self._count = 0

    def start(self) -> None:
        if not self._world.is_over:
            self._member_id = ""
            self._join()

    def die(self) -> None:
        self._life += 1
        self._owned = []

    def sleep(self, duration_ms: int) -> None:
        self._awake_ms = self._cluster.scheduler.now_ms + duration_ms

    # The protocol

    def _join(self) -> None:
        self._life += 1
        self._owned = []
        request = JoinGroupRequest(
            group_id=self.group,
            member_id=self._member_id,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=_REBALANCE_MS,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=_SUBSCRIPTION)],
        )
        context = RequestContext(_JOIN_VERSION, f"client-{self._index}", "/127.0.0.1")
        self._ask(lambda shard: shard.join(context, request), self._joined)

    def _joined(self, outcome: JoinGroupResponse | ApiError) -> None:
        code = _code(outcome)
        if isinstance(outcome, JoinGroupResponse) and code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self._member_id = outcome.member_id
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self._join()
        elif code != ErrorCode.NONE:
            self._again(code)
        else:
            assert isinstance(outcome, JoinGroupResponse)
            self._generation = outcome.generation_id
            self._sync(sorted(one.member_id for one in outcome.members))

    def _sync(self, members: list[str]) -> None:
        """Only its leader knows the members, and assigns."""
        parts = {one: list(range(at, _PARTITIONS, len(members))) for at, one in enumerate(members)}
        request = SyncGroupRequest(
            group_id=self.group,
            member_id=self._member_id,
            generation_id=self._generation,
            assignments=[
                SyncGroupRequestAssignment(member_id=one, assignment=bytes(part)) for one, part in parts.items()
            ],
        )
        self._ask(lambda shard: shard.sync(request), self._synced)

    def _synced(self, outcome: SyncGroupResponse | ApiError) -> None:
        if isinstance(outcome, ApiError) or outcome.error_code:
            self._again(_code(outcome))
            return
        self._owned = list(outcome.assignment)
        for partition in self._owned:
            self._world.owned(self.group, self._generation, partition, self._member_id)
        self._heartbeat()
        self._commit()

    def _heartbeat(self) -> None:
        request = HeartbeatRequest(group_id=self.group, member_id=self._member_id, generation_id=self._generation)
        self._ask(lambda shard: shard.heartbeat(request), self._heard)

    def _heard(self, outcome: Any) -> None:
        code = _code(outcome)
        if code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID):
            self._again(code)
        else:
            self._later(_HEARTBEAT_MS, self._heartbeat)

    def _commit(self) -> None:
        self._count += 1
        offset = self._generation * _GENERATION + self._count
        partitions = [OffsetCommitRequestPartition(partition_index=one, committed_offset=offset) for one in self._owned]
        request = OffsetCommitRequest(
            group_id=self.group,
            member_id=self._member_id,
            generation_id_or_member_epoch=self._generation,
            topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)],
        )
        self._ask(
            lambda shard: shard.commit_offsets(request, _COMMIT_VERSION), lambda said: self._committed(offset, said)
        )

    def _committed(self, offset: int, outcome: OffsetCommitResponse | ApiError) -> None:
        if not isinstance(outcome, ApiError):
            for partition in outcome.topics[0].partitions:
                if not partition.error_code:
                    self._world.committed(self.group, partition.partition_index, offset)
        self._later(self._cluster.random.randint(1, 100), self._commit)

    def _again(self, code: int) -> None:
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        self._later(_RETRY_MS, self._join)

    # Ways and means

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._cluster.scheduler.after(delay_ms, self._in_this_life(lambda _: action()))

    def _ask(self, operation: Callable[[GroupShard], Decision[Any]], then: Callable[[Any], None]) -> None:
        def ask(runtime: CoordinatorRuntime[GroupShard]) -> Reply[Any]:
            return _flat(runtime.write(self._number, operation, timeout_ms=WRITE_TIMEOUT_MS))

        self._cluster.ask(self._number, ask, self._in_this_life(then))

    def _in_this_life(self, then: Callable[[Any], None]) -> Callable[..., None]:
        life = self._life

        def heard(outcome: Any = None) -> None:
            if self._life != life:
                return
            if self._awake_ms > self._cluster.scheduler.now_ms:
                self._cluster.scheduler.at(self._awake_ms, lambda: heard(outcome))
            else:
                self._cluster.scheduler.trace(f"{self._cluster.scheduler.now_ms} {self.group} {self._index} {outcome}")
                then(outcome)

        return heard


def _code(outcome: Any) -> int:
    return outcome.code if isinstance(outcome, ApiError) else outcome.error_code


def _flat(outer: Reply[Any]) -> Reply[Any]:
    """An answer may be one that comes later."""
    flat: Reply[Any] = Reply()

    def take(reply: Reply[Any]) -> None:
        if reply.error is not None:
            flat.fail(reply.error)
        elif isinstance(reply.answer(), Reply):
            reply.answer().then(take)
        else:
            flat.complete(reply.answer())

    outer.then(take)
    return flat
