"""Topics come, grow and go."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.controller.configuration_control import ConfigChange
from odradek.controller.decision import DONE, Decision, Outcome, Refused, outcome_of
from odradek.controller.replica_placer import Randomness, StripedReplicaPlacer
from odradek.controller.replication_state import ReplicationState, TopicState
from odradek.controller.topic_names import check_topic_name, collision_form
from odradek.metadata.configs.definitions import EffectiveConfig, is_sensitive
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.config_kinds import ConfigOp, ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_words import ERROR_WORDS
from odradek.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.protocol.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest
from odradek.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.raft.values import METADATA_TOPIC

#: Partitions that one request may create: they become visible in one batch.
MAX_PARTITIONS_PER_REQUEST = 10_000

_DEFAULT = -1

#: Descriptions of settings that are kept: some tens are the defaults, the rest is what topics set most.
_DESCRIBED_MAX = 1_000

T = TypeVar("T")

#: Ids that no topic may have: "none" and the metadata topic's.
_RESERVED_TOPIC_IDS = (ZERO_UUID, bytes(15) + b"\x01")


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    #: `num.partitions`
    partitions: int = 1
    #: `default.replication.factor`
    replication_factor: int = 1


class TopicControl:
    def __init__(self, state: ReplicationState, random: Randomness, defaults: TopicDefaults) -> None:
        self._state = state
        self._random = random
        self._placer = StripedReplicaPlacer(random)
        self._defaults = defaults

    # Creation

    def create_topics(self, request: CreateTopicsRequest) -> Decision[CreateTopicsResponse]:
        self._check_total(request)
        records: list[MetadataRecord] = []
        results: list[CreatableTopicResult] = []
        repeated = _repeated([topic.name for topic in request.topics])
        for topic in {topic.name: topic for topic in request.topics}.values():
            try:
                if topic.name in repeated:
                    raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
                topic_records, result = self._create_topic(topic)
                records += topic_records
                results.append(result)
            except ApiError as error:
                results.append(
                    CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
                )
        return Decision([] if request.validate_only else records, CreateTopicsResponse(topics=results), is_atomic=True)

    def _check_total(self, request: CreateTopicsRequest) -> None:
        total = 0
        for topic in request.topics:
            count = self._defaults.partitions if topic.num_partitions == _DEFAULT else max(0, topic.num_partitions)
            total += len(topic.assignments) or count
        if total > MAX_PARTITIONS_PER_REQUEST:
            raise Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")

    def _create_topic(self, topic: CreatableTopic) -> tuple[list[MetadataRecord], CreatableTopicResult]:
        self._check_new_name(topic.name)
        settings = _settings(topic)
        resource = ConfigResource(ConfigResourceType.TOPIC, topic.name)
        changes = [ConfigChange(name, ConfigOp.SET, value) for name, value in settings.items()]
        config_records = self._state.configuration.alter(resource, changes, exists=None) if changes else []
        partitions = self._manual_partitions(topic) if topic.assignments else self._placed_partitions(topic)
        topic_id = self._new_topic_id()
        options = self._writer_options()
        records = [
            MetadataRecord(TopicRecord(name=topic.name, topic_id=topic_id), 0),
            *config_records,
            *(partition.to_record(topic_id, number, options) for number, partition in enumerate(partitions)),
        ]
        result = CreatableTopicResult(name=topic.name, topic_id=topic_id, error_message=None)
        self._describe(result, partitions, settings)
        return records, result

    def _check_new_name(self, name: str) -> None:
        if name == METADATA_TOPIC:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
        check_topic_name(name)
        if name in self._state.ids_by_name:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        form = collision_form(name)
        if form is not None and form in self._state.colliding:
            other = next(iter(self._state.colliding[form]))
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")

    def _manual_partitions(self, topic: CreatableTopic) -> list[PartitionRegistration]:
        for value, name in ((topic.replication_factor, "replication factor"), (topic.num_partitions, "numPartitions")):
            if value != _DEFAULT:
                raise Refused(
                    ErrorCode.INVALID_REQUEST,
                    f"A manual partition assignment was specified, but {name} was not set to -1.",
                )
        partitions: dict[int, PartitionRegistration] = {}
        factor = None
        for assignment in topic.assignments:
            number = assignment.partition_index
            if number in partitions:
                raise Refused(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"Found multiple manual partition assignments for partition {number}",
                )
            self._state.check_manual_assignment(assignment.broker_ids, factor)
            factor = len(assignment.broker_ids)
            partitions[number] = self._manual_partition(assignment.broker_ids, number)
        if sorted(partitions) != list(range(len(partitions))):
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
            )
        return [partitions[number] for number in range(len(partitions))]

    def _manual_partition(self, replicas: list[int], number: int) -> PartitionRegistration:
        partition = self._new_partition(replicas)
        if partition is None:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"All brokers specified in the manual partition assignment for partition {number} are fenced or in "
                "controlled shutdown.",
            )
        return partition

    def _placed_partitions(self, topic: CreatableTopic) -> list[PartitionRegistration]:
        factor, count = topic.replication_factor, topic.num_partitions
        if factor < _DEFAULT or factor == 0:
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if count < _DEFAULT or count == 0:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
            )
        factor = self._defaults.replication_factor if factor == _DEFAULT else factor
        count = self._defaults.partitions if count == _DEFAULT else count
        return self._place(count, factor)

    def _place(self, count: int, factor: int) -> list[PartitionRegistration]:
        why = f"Unable to replicate the partition {factor} time(s): "
        try:
            placed = self._placer.place(count, factor, self._state.cluster.usable_brokers())
        except Refused as refused:
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, why + refused.message) from None
        partitions = [self._new_partition(replicas) for replicas in placed]
        found = [partition for partition in partitions if partition is not None]
        if len(found) < count:
            why += "All brokers are currently fenced or in controlled shutdown."
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, why)
        return found

    def _new_partition(self, replicas: list[int]) -> PartitionRegistration | None:
        """Led by the first replica that is active; None if none is."""
        cluster = self._state.cluster
        isr = tuple(replica for replica in replicas if cluster.is_active(replica))
        if not isr:
            return None
        return PartitionRegistration(
            replicas=tuple(replicas),
            directories=tuple(cluster.default_directory(replica) for replica in replicas),
            isr=isr,
            removing_replicas=(),
            adding_replicas=(),
            elr=(),
            last_known_elr=(),
            leader=isr[0],
            leader_recovery_state=0,
            leader_epoch=0,
            partition_epoch=0,
        )

    def _new_topic_id(self) -> bytes:
        while True:
            topic_id = _random_uuid(self._random)
            if topic_id not in self._state.topics and topic_id not in _RESERVED_TOPIC_IDS:
                return topic_id

    def _writer_options(self) -> WriterOptions:
        return WriterOptions(self._state.features.metadata_version)

    def _describe(
        self, result: CreatableTopicResult, partitions: list[PartitionRegistration], settings: Mapping[str, str]
    ) -> None:
        result.num_partitions = len(partitions)
        result.replication_factor = len(partitions[0].replicas)
        effective = self._state.configuration.effective_topic_configs(settings)
        result.configs = [_described(name, config) for name, config in effective.items()]

    # Growth

    def create_partitions(self, request: CreatePartitionsRequest) -> Decision[CreatePartitionsResponse]:
        records: list[MetadataRecord] = []
        results: list[CreatePartitionsTopicResult] = []
        repeated = _repeated([topic.name for topic in request.topics])
        for topic in {topic.name: topic for topic in request.topics}.values():
            outcome = DONE
            try:
                if topic.name in repeated:
                    raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
                records += self._create_partitions(topic)
            except Refused as refused:
                outcome = outcome_of(refused)
            results.append(
                CreatePartitionsTopicResult(name=topic.name, error_code=outcome.code, error_message=outcome.message)
            )
        response = CreatePartitionsResponse(results=results)
        return Decision([] if request.validate_only else records, response, is_atomic=True)

    def _create_partitions(self, asked: CreatePartitionsTopic) -> list[MetadataRecord]:
        topic = self._state.topic_named(asked.name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        have = len(topic.partitions)
        if asked.count == have:
            raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
        if asked.count < have:
            raise Refused(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {asked.name} currently has {have} partition(s); {asked.count} would not be an increase.",
            )
        if asked.count - have > MAX_PARTITIONS_PER_REQUEST:
            raise Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
        options = self._writer_options()
        partitions = self._additional_partitions(asked, topic)
        return [p.to_record(topic.id, have + number, options) for number, p in enumerate(partitions)]

    def _additional_partitions(self, asked: CreatePartitionsTopic, topic: TopicState) -> list[PartitionRegistration]:
        have, additional = len(topic.partitions), asked.count - len(topic.partitions)
        factor = len(topic.partitions[0].replicas)
        if asked.assignments is None:
            return self._place(additional, factor)
        if len(asked.assignments) != additional:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {additional} additional partition(s), but only {len(asked.assignments)} "
                "assignment(s) were specified.",
            )
        partitions = []
        for number, assignment in enumerate(asked.assignments):
            self._state.check_manual_assignment(assignment.broker_ids, factor)
            partitions.append(self._manual_partition(assignment.broker_ids, have + number))
        return partitions

    # Deletion

    def delete_topics(self, request: DeleteTopicsRequest) -> Decision[DeleteTopicsResponse]:
        """By name or by id; a topic that is asked for twice in any way is refused, and answered once."""
        asked = [_Asked(topic.name, topic.topic_id) for topic in request.topics]
        asked += [_Asked(name, ZERO_UUID) for name in request.topic_names]
        repeated = _repeated(asked)
        flaws = {one: _request_flaw(one, one in repeated) for one in asked}
        found = {one: self._found(one) if flaw is DONE else None for one, flaw in flaws.items()}
        twice = _repeated([topic.id for topic in found.values() if topic is not None])
        records: list[MetadataRecord] = []
        responses: list[DeletableTopicResult] = []
        for one, topic in found.items():
            outcome = flaws[one]
            is_double = topic is not None and topic.id in twice
            if is_double and one.name is None:
                continue  # told of by its name
            if is_double:
                what = "The provided topic name maps to an ID that was already supplied."
                outcome = Outcome(ErrorCode.INVALID_REQUEST, what)
            elif outcome is DONE and topic is None:
                code = ErrorCode.UNKNOWN_TOPIC_ID if one.name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                outcome = Outcome(code, ERROR_WORDS[code])
            result = DeletableTopicResult(name=one.name, topic_id=one.topic_id)
            result.error_code, result.error_message = outcome.code, outcome.message
            if topic is not None:
                result.name, result.topic_id = topic.name, topic.id
            if outcome is DONE and topic is not None:
                records.append(MetadataRecord(RemoveTopicRecord(topic_id=topic.id), 0))
            responses.append(result)
        return Decision(records, DeleteTopicsResponse(responses=responses), is_atomic=True)

    def _found(self, asked: "_Asked") -> TopicState | None:
        topic_id = asked.topic_id if asked.name is None else self._state.ids_by_name.get(asked.name, ZERO_UUID)
        return self._state.topics.get(topic_id)


class _Asked(NamedTuple):
    """A topic to be deleted, as the request names it."""

    name: str | None
    topic_id: bytes


def _request_flaw(asked: _Asked, is_repeated: bool) -> Outcome:
    """DONE if there is none."""
    if asked.name is not None and asked.topic_id != ZERO_UUID:
        return Outcome(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if asked.name is None and asked.topic_id == ZERO_UUID:
        return Outcome(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if is_repeated:
        what = "Duplicate topic name." if asked.name is not None else "Duplicate topic id."
        return Outcome(ErrorCode.INVALID_REQUEST, what)
    return DONE


@lru_cache(maxsize=_DESCRIBED_MAX)
def _described(name: str, config: EffectiveConfig) -> CreatableTopicConfigs:
    """Shared by all answers that say the same: nobody changes an answer."""
    hidden = is_sensitive(ConfigResourceType.TOPIC, name)
    return CreatableTopicConfigs(
        name=name, value=None if hidden else config.value, config_source=config.source, is_sensitive=hidden
    )


def _repeated(names: list[T]) -> Collection[T]:
    """Those that are there more than once."""
    seen: dict[T, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return frozenset(name for name, count in seen.items() if count > 1)


def _settings(topic: CreatableTopic) -> dict[str, str]:
    missing = [config.name for config in topic.configs if config.value is None]
    if missing:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(missing)}")
    return {config.name: config.value for config in topic.configs if config.value is not None}


def _random_uuid(random: Randomness) -> bytes:
    """Version 4; never one whose text begins with a dash, which commands would take for an option."""
    while True:
        raw = bytearray(random.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if raw[0] >> 2 != 62:  # the 62nd character of the alphabet is the dash
            return bytes(raw)
