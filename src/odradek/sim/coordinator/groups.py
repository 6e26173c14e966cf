"""Groups of both protocols whose members come, die, are stuck or late, and commit, while their coordinators fail.

Members are the client's own (`group_member`). Every offset that is committed begins with the generation, or the member
epoch, that it was committed in. So whoever looks at the log sees an older one that overtook a younger: offsets of a
partition, and generations of a group, never go back. And a partition has one owner in each generation and in each
epoch, whatever the members were told.
"""

from __future__ import annotations

from random import Random
from typing import Any

from odradek.client.group.assignors.assignor import make_assignors
from odradek.client.group.classic_member import ClassicMember
from odradek.client.group.consumer_member import ConsumerMember
from odradek.client.group.core import MemberConfig, MemberCore
from odradek.client.group.subscription import Topics
from odradek.client.net.backoff import Backoff
from odradek.common.failures import check
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.settings import ConsumerSettings
from odradek.coordinator.group.offsets.offset_store import OffsetKey
from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.group.shard import GroupShard
from odradek.coordinator.runtime.serde import decode_record, module_of
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from odradek.protocol.messages.group_metadata_value import GroupMetadataValue
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.sim.coordinator.cluster import CLIENT_TIMEOUT_MS, CoordinatorCluster
from odradek.sim.coordinator.group_member import PARTITIONS, TOPIC, TOPIC_ID, SimulatedMember
from odradek.sim.coordinator.looking import load_anew, shard_of

_OFFSETS_TOPIC = "__consumer_offsets"
_SESSION_MS = 1_000
_REBALANCE_MS = 1_500
_HEARTBEAT_MS = 150
_BACKOFF = Backoff(50, 200)
_ASSIGNORS = (["range"], ["cooperative-sticky"], ["roundrobin"], ["sticky"], ["cooperative-sticky", "range"])


class GroupWorkload:
    """Workload of classic groups."""

    def __init__(self, random: Random) -> None:
        self._random = random
        settings = self._settings(random)
        self._new_shard = lambda context: GroupShard(context, settings)
        self.cluster = CoordinatorCluster(
            Random(random.getrandbits(64)),
            _OFFSETS_TOPIC,
            self._new_shard,
            partition_count=random.randint(1, 2),
            image=_image(),
        )
        self._assignors = random.choice(_ASSIGNORS)
        self.is_over = False
        self.topics: Topics = {TOPIC: [()] * PARTITIONS}
        #: By group, generation or epoch, and partition.
        self.owners: dict[tuple[str, int, int], str] = {}
        #: By group and partition: the last that was acknowledged.
        self.acked: dict[tuple[str, int], int] = {}
        self._acks: dict[str, int] = {}
        is_static = random.random() < 0.3
        self.members = [
            SimulatedMember(self, partition_index, index, f"instance-{index}" if is_static else None)
            for partition_index in self.cluster.topic.partitions
            for index in range(random.randint(1, 3))
        ]

    def _settings(self, random: Random) -> GroupSettings:
        delay_ms = random.choice((0, 0, 100))
        return GroupSettings(min_session_timeout_ms=_SESSION_MS, initial_rebalance_delay_ms=delay_ms)

    def new_core(self, member: SimulatedMember) -> MemberCore:
        return ClassicMember(_config(member), make_assignors(self._assignors), member.random, lambda: None)

    @property
    def acks(self) -> int:
        return sum(self._acks.values())

    def begin(self) -> None:
        for member in self.members:
            self.cluster.scheduler.after(self._random.randint(0, 500), member.start)
        self.cluster.scheduler.every(lambda: self._random.randint(200, 2_000), self._disturb)

    def _disturb(self) -> None:
        """A member sleeps, or only its application; or it dies or leaves, and comes back as somebody else."""
        if self.is_over:
            return
        member, absence_ms = self._random.choice(self.members), self._random.randint(0, 3 * _SESSION_MS)
        chance = self._random.random()
        if chance < 0.3:
            member.sleep(absence_ms)
        elif chance < 0.5:
            member.be_stuck(absence_ms)
        elif chance < 0.8:
            member.die()
            self.cluster.scheduler.after(absence_ms, member.start)
        else:
            member.leave()
            self.cluster.scheduler.after(absence_ms, member.start)

    def progress(self) -> list[int]:
        return [self._acks.get(member.group, 0) for member in self.members]

    def stop(self) -> None:
        self.is_over = True
        for member in self.members:
            member.die()

    # What members tell

    def owned(self, member: SimulatedMember) -> None:
        """A static member that comes back has another id, but is the same owner."""
        identity = member.core.identity
        if not identity.is_member or identity.generation_id <= 0:
            return
        owner = member.instance_id or identity.member_id
        for topic_partition in member.core.owned:
            key = (member.group, identity.generation_id, topic_partition.partition)
            previous = self.owners.setdefault(key, owner)
            check(
                previous == owner,
                f"{key[0]}-{key[2]} is {previous}'s and {owner}'s in generation {key[1]}",
            )

    def committed(self, group: str, partition: int, offset: int) -> None:
        self.acked[group, partition] = max(offset, self.acked.get((group, partition), 0))
        self._acks[group] = self._acks.get(group, 0) + 1

    # The end

    def check(self) -> None:
        for partition_index in self.cluster.topic.partitions:
            live, loaded = (
                shard_of(self.cluster, partition_index),
                load_anew(self.cluster, partition_index, self._new_shard),
            )
            for state in (_groups, _offsets):
                check(
                    _is_same(state(live), state(loaded)),
                    f"{partition_index}: {state(live)} is served, not {state(loaded)}",
                )
            self._check_log(partition_index)
            for (group, partition), offset in self.acked.items():
                if group == f"g{partition_index}":
                    committed = live.offsets.committed.get(OffsetKey(group, TOPIC, partition))
                    check(
                        committed is not None and committed.offset >= offset,
                        f"{group}-{partition}: {offset} was acknowledged, and {committed} is there",
                    )

    def _check_log(self, partition_index: int) -> None:
        highest: dict[Any, int] = {}
        partition = self.cluster.topic.partitions[partition_index]
        for batch in partition.batches_between(0, partition.end_offset):
            for written in batch.records():
                record = decode_record(module_of(_OFFSETS_TOPIC), written.key, written.value)
                name, value = _progress(record.key, record.value)
                last = highest.get(name, -1)
                check(value >= last, f"{name} goes back from {last} to {value} at offset {written.offset}")
                highest[name] = value


class ConsumerGroupWorkload(GroupWorkload):
    """Workload of consumer groups (KIP-848)."""

    def _settings(self, random: Random) -> GroupSettings:
        consumer = ConsumerSettings(
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=_HEARTBEAT_MS,
            assignment_interval_ms=random.choice((0, 100)),
            assignors=random.choice((("uniform", "range"), ("range", "uniform"))),
        )
        return GroupSettings(consumer=consumer)

    def new_core(self, member: SimulatedMember) -> MemberCore:
        member_id = f"{member.name} {member.random.getrandbits(32)}"
        resolve = {TOPIC_ID: TOPIC}.get
        return ConsumerMember(_config(member), member_id, resolve, member.random, lambda: None)


def _config(member: SimulatedMember) -> MemberConfig:
    return MemberConfig(
        group_id=member.group,
        group_instance_id=member.instance_id,
        rack_id=None,
        session_timeout_ms=_SESSION_MS,
        heartbeat_interval_ms=_HEARTBEAT_MS,
        max_poll_interval_ms=_REBALANCE_MS,
        request_timeout_ms=CLIENT_TIMEOUT_MS,
        backoff=_BACKOFF,
    )


def _image() -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    delta.replay(TopicRecord(name=TOPIC, topic_id=TOPIC_ID))
    for partition_index in range(PARTITIONS):
        record = PartitionRecord(partition_id=partition_index, topic_id=TOPIC_ID, replicas=[0], isr=[0], leader=0)
        record.leader_epoch, record.partition_epoch, record.directories = 0, 0, [bytes(16)]
        delta.replay(record)
    return delta.apply(MetadataProvenance())


def _progress(key: Any, value: Any) -> tuple[str, int]:
    """Return the value of a record that must never decrease."""
    if isinstance(value, OffsetCommitValue):
        assert isinstance(key, OffsetCommitKey)
        return f"{key.group}-{key.partition}", value.offset
    if isinstance(value, GroupMetadataValue):
        return "generation", value.generation
    if isinstance(value, ConsumerGroupMetadataValue):
        return "epoch", value.epoch
    return "", 0


def _groups(shard: GroupShard) -> dict[Any, Any]:
    """Return the generation and the members of each group."""
    states: dict[Any, Any] = {}
    for name, group in sorted(shard.store.groups.items()):
        if isinstance(group, ConsumerGroup):
            states[name] = (group.epoch, sorted(group.members))
        elif isinstance(group, ClassicGroup):
            states[name] = (group.generation, sorted(group.members))
    return states


def _offsets(shard: GroupShard) -> dict[Any, Any]:
    return dict(shard.offsets.committed.items())


def _is_same(live: dict[Any, Any], loaded: dict[Any, Any]) -> bool:
    """That the last member of a classic group has gone may not have been written, as in Kafka: the next coordinator
    will notice it again."""
    for name in [*live, *loaded]:
        served, written = live.get(name), loaded.get(name)
        if served != written and not (written and served == (written[0] + 1, [])):
            return False
    return True
