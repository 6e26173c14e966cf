"""Consumer groups on one simulated partition, and members that send heartbeats to them."""

from dataclasses import dataclass, field

from odradek.common.failures import ApiError
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.protocol import read_assignment, read_subscription
from odradek.coordinator.group.consumer.settings import ConsumerSettings
from odradek.coordinator.group.settings import GroupSettings
from odradek.coordinator.group.values import RequestContext
from odradek.coordinator.runtime.reply import Reply
from odradek.metadata.image.delta import MetadataDelta
from odradek.protocol.codec import encode
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages import consumer_protocol_subscription as protocol_subscription
from odradek.protocol.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from odradek.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.protocol.messages.leave_group_request import MemberIdentity
from odradek.protocol.messages.sync_group_response import SyncGroupResponse
from odradek.protocol.messages.topic_record import TopicRecord
from support.builders.groups import GroupWorld
from support.builders.metadata import replayed
from support.builders.replica import partition_record

A, B = b"a" * 16, b"b" * 16
SESSION_MS, REVOCATION_MS = 45_000, 60_000
SETTINGS = GroupSettings(initial_rebalance_delay_ms=0, consumer=ConsumerSettings(assignment_interval_ms=0, max_size=4))

Partition = tuple[bytes, int]


def topic(name: str, topic_id: bytes, partitions: int) -> list[Message]:
    return [
        TopicRecord(name=name, topic_id=topic_id),
        *(partition_record([1], number=number, topic_id=topic_id) for number in range(partitions)),
    ]


class World(GroupWorld):
    def __init__(self, settings: GroupSettings = SETTINGS) -> None:
        super().__init__(settings)
        self.add_topics(*topic("a", A, 4))

    def add_topics(self, *records: Message) -> None:
        delta = MetadataDelta(self.runtime.image)
        for record in records:
            delta.replay(record)
        image = replayed(records, self.runtime.image)
        self.runtime.metadata_changed(delta, image)

    @property
    def consumer_group(self) -> ConsumerGroup:
        group = self.shard.store.groups["g"]
        assert isinstance(group, ConsumerGroup)
        return group

    def send(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        context = RequestContext(1, "client", "/127.0.0.1")
        return self.write(lambda shard: shard.consumer_heartbeat(context, request)).answer()

    def refusal(self, request: ConsumerGroupHeartbeatRequest) -> int:
        context = RequestContext(1, "client", "/127.0.0.1")
        return self.code_of(lambda shard: shard.consumer_heartbeat(context, request))


@dataclass
class Member:
    """A client: it has what it was told to have, and gives up at once unless it is slow."""

    world: World
    name: str
    topics: tuple[str, ...] = ("a",)
    regex: str | None = None
    instance_id: str | None = None
    is_slow: bool = False
    epoch: int = 0
    owned: set[Partition] = field(default_factory=set)

    def beat(self) -> ConsumerGroupHeartbeatResponse:
        """What it has is said before it hears what it should have."""
        response = self.world.send(self.request())
        self.epoch = response.member_epoch
        if response.assignment is not None:
            told = {
                (each.topic_id, number) for each in response.assignment.topic_partitions for number in each.partitions
            }
            self.owned = self.owned | told if self.is_slow else told
        return response

    def request(self, epoch: int | None = None) -> ConsumerGroupHeartbeatRequest:
        by_topic: dict[bytes, list[int]] = {}
        for topic_id, number in sorted(self.owned):
            by_topic.setdefault(topic_id, []).append(number)
        return ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=self.name,
            member_epoch=self.epoch if epoch is None else epoch,
            instance_id=self.instance_id,
            rebalance_timeout_ms=REVOCATION_MS,
            subscribed_topic_names=list(self.topics),
            subscribed_topic_regex=self.regex,
            topic_partitions=[TopicPartitions(topic_id=each, partitions=ids) for each, ids in by_topic.items()],
        )

    def leave(self, epoch: int = -1) -> None:
        self.world.send(self.request(epoch))
        self.epoch, self.owned = 0, set()


def settle(*members: Member) -> None:
    for _ in range(4):
        for member in members:
            member.beat()


def numbers(member: Member) -> list[int]:
    return sorted(number for _, number in member.owned)


class ClassicMember:
    """A client of the classic protocol, as consumers are. It goes one step with every `act`.

    An eager one gives up everything before it joins; a cooperative one keeps what it has, says so, and joins again when
    it has had to give up something.
    """

    def __init__(
        self,
        world: World,
        *,
        topics: tuple[str, ...] = ("a",),
        is_cooperative: bool = False,
        instance_id: str | None = None,
    ) -> None:
        self.world = world
        self.topics = topics
        self.is_cooperative = is_cooperative
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1
        self.owned: set[Partition] = set()
        self.errors: list[int] = []
        self._joining: Reply[JoinGroupResponse] | None = None
        self._syncing: Reply[SyncGroupResponse] | None = None
        self._has_to_join = True

    def act(self) -> None:
        if self._syncing is not None:
            self._finish_sync(self._syncing)
        elif self._joining is not None:
            self._finish_join(self._joining)
        elif self._has_to_join:
            self._join()
        else:
            code = self.world.heartbeat(self.member_id, self.generation, group_instance_id=self.instance_id)
            if code:
                self._fail(code)

    def leave(self) -> None:
        if self.member_id:
            self.world.leave(MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id))
        self._forget()

    def _join(self) -> None:
        if not self.is_cooperative:
            self.owned = set()
        name = "cooperative-sticky" if self.is_cooperative else "range"
        try:
            self._joining = self.world.join(
                self.member_id,
                version=5,
                group_instance_id=self.instance_id,
                protocols=[(name, _metadata(self.topics, self.owned))],
            )
        except ApiError as error:
            self._fail(error.code)

    def _finish_join(self, reply: Reply[JoinGroupResponse]) -> None:
        if not reply.is_done:
            return
        self._joining, response = None, reply.answer()
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
        elif response.error_code:
            self._fail(response.error_code)
        else:
            self.member_id, self.generation = response.member_id, response.generation_id
            leads = response.leader == self.member_id and not response.skip_assignment
            assignments = _lead(response) if leads else {}
            try:
                self._syncing = self.world.sync(
                    self.member_id, self.generation, assignments, group_instance_id=self.instance_id
                )
            except ApiError as error:
                self._fail(error.code)

    def _finish_sync(self, reply: Reply[SyncGroupResponse]) -> None:
        if not reply.is_done:
            return
        self._syncing, response = None, reply.answer()
        if response.error_code:
            self._fail(response.error_code)
            return
        told = _read_assignment(response.assignment)
        self._has_to_join = self.is_cooperative and not self.owned <= told
        self.owned = told

    def _fail(self, code: int) -> None:
        self.errors.append(code)
        self._has_to_join = True
        if code != ErrorCode.REBALANCE_IN_PROGRESS:
            self._forget()

    def _forget(self) -> None:
        self.member_id, self.generation, self.owned, self._has_to_join = "", -1, set(), True


_TOPIC_NAMES = {A: "a", B: "b"}
_TOPIC_IDS = {"a": A, "b": B}
_PARTITION_COUNTS = {"a": 4, "b": 3}


def _metadata(topics: tuple[str, ...], owned: set[Partition]) -> bytes:
    said = [
        protocol_subscription.TopicPartition(
            topic=_TOPIC_NAMES[each], partitions=[number for topic_id, number in sorted(owned) if topic_id == each]
        )
        for each in sorted({topic_id for topic_id, _ in owned})
    ]
    message = protocol_subscription.ConsumerProtocolSubscription(topics=list(topics), owned_partitions=said)
    return b"\0\1" + encode(message, 1)


def _read_assignment(assignment: bytes) -> set[Partition]:
    if not assignment:
        return set()
    return {
        (_TOPIC_IDS[each.topic], number)
        for each in read_assignment(assignment).assigned_partitions
        for number in each.partitions
    }


def _lead(response: JoinGroupResponse) -> dict[str, bytes]:
    """Everything in turns to those who want it, but for what somebody else has to give up first."""
    wanted = {each.member_id: read_subscription(each.metadata) for each in response.members}
    owners = {
        (owned.topic, number): member_id
        for member_id, said in wanted.items()
        for owned in said.owned_partitions
        for number in owned.partitions
    }
    given: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in wanted}
    for name, count in _PARTITION_COUNTS.items():
        wanting = sorted(member_id for member_id, said in wanted.items() if name in said.topics)
        for number in range(count if wanting else 0):
            member_id = wanting[number % len(wanting)]
            if owners.get((name, number), member_id) == member_id:
                given[member_id].setdefault(name, []).append(number)
    return {
        member_id: b"\0\1"
        + encode(
            ConsumerProtocolAssignment(
                assigned_partitions=[TopicPartition(topic=name, partitions=numbers) for name, numbers in topics.items()]
            ),
            1,
        )
        for member_id, topics in given.items()
    }
