"""Creation and deletion of topics, and additional partitions."""

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple, TypeVar

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID
from odradek.common.randomness import Randomness
from odradek.common.uuids import random_uuid
from odradek.controller.configuration_control import ConfigChange, ConfigurationControl
from odradek.controller.decision import SUCCESS, ControllerDecision, ItemResult, RequestRejected, item_result
from odradek.controller.feature_control import FeatureControl
from odradek.controller.partition_creation import DEFAULT, PartitionCreation
from odradek.controller.topic_names import check_topic_name
from odradek.controller.topic_registry import TopicRegistry, TopicState
from odradek.metadata.configs.definitions import EffectiveConfig, is_sensitive
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.records.record_serde import MetadataRecord
from odradek.metadata.records.writer_options import WriterOptions
from odradek.protocol.config_types import ConfigOp, ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_messages import ERROR_WORDS
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

#: Descriptions of configs in the cache: the defaults, and the configs that topics set most.
_DESCRIBED_MAX = 1_000

T = TypeVar("T")

#: Reserved ids: the zero uuid, and that of the metadata topic.
_RESERVED_TOPIC_IDS = (ZERO_UUID, bytes(15) + b"\x01")


class TopicControl:
    def __init__(
        self,
        registry: TopicRegistry,
        configuration: ConfigurationControl,
        features: FeatureControl,
        creation: PartitionCreation,
        random: Randomness,
    ) -> None:
        self._registry = registry
        self._configuration = configuration
        self._features = features
        self._creation = creation
        self._random = random

    # Creation

    def create_topics(self, request: CreateTopicsRequest) -> ControllerDecision[CreateTopicsResponse]:
        self._check_total(request)
        records: list[MetadataRecord] = []
        results: list[CreatableTopicResult] = []
        repeated = _repeated([topic.name for topic in request.topics])
        for topic in {topic.name: topic for topic in request.topics}.values():
            try:
                if topic.name in repeated:
                    raise RequestRejected(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
                topic_records, result = self._create_topic(topic)
                records += topic_records
                results.append(result)
            except ApiError as error:
                results.append(
                    CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
                )
        return ControllerDecision(
            [] if request.validate_only else records, CreateTopicsResponse(topics=results), is_atomic=True
        )

    def _check_total(self, request: CreateTopicsRequest) -> None:
        total = 0
        for topic in request.topics:
            count = self._creation.defaults.partitions if topic.num_partitions == DEFAULT else topic.num_partitions
            total += len(topic.assignments) or max(0, count)
        if total > MAX_PARTITIONS_PER_REQUEST:
            raise RequestRejected(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")

    def _create_topic(self, topic: CreatableTopic) -> tuple[list[MetadataRecord], CreatableTopicResult]:
        self._check_new_name(topic.name)
        settings = _settings(topic)
        resource = ConfigResource(ConfigResourceType.TOPIC, topic.name)
        changes = [ConfigChange(name, ConfigOp.SET, value) for name, value in settings.items()]
        config_records = self._configuration.alter(resource, changes, check_exists=None) if changes else []
        partitions = self._creation.partitions_of(topic)
        topic_id = self._new_topic_id()
        options = self._writer_options()
        records = [
            MetadataRecord(TopicRecord(name=topic.name, topic_id=topic_id), 0),
            *config_records,
            *(partition.to_record(topic_id, index, options) for index, partition in enumerate(partitions)),
        ]
        effective = self._configuration.effective_topic_configs(settings)
        result = CreatableTopicResult(
            name=topic.name,
            topic_id=topic_id,
            error_message=None,
            num_partitions=len(partitions),
            replication_factor=len(partitions[0].replicas),
            configs=[_described(name, config) for name, config in effective.items()],
        )
        return records, result

    def _check_new_name(self, name: str) -> None:
        if name == METADATA_TOPIC:
            raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
        check_topic_name(name)
        if name in self._registry.ids_by_name:
            raise RequestRejected(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        other = self._registry.colliding_topic(name)
        if other is not None:
            raise RequestRejected(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
            )

    def _new_topic_id(self) -> bytes:
        while True:
            topic_id = random_uuid(self._random.randbytes)
            if topic_id not in self._registry.topics and topic_id not in _RESERVED_TOPIC_IDS:
                return topic_id

    def _writer_options(self) -> WriterOptions:
        return WriterOptions(self._features.metadata_version)

    # Additional partitions

    def create_partitions(self, request: CreatePartitionsRequest) -> ControllerDecision[CreatePartitionsResponse]:
        records: list[MetadataRecord] = []
        results: list[CreatePartitionsTopicResult] = []
        repeated = _repeated([topic.name for topic in request.topics])
        for topic in {topic.name: topic for topic in request.topics}.values():
            result = SUCCESS
            try:
                if topic.name in repeated:
                    raise RequestRejected(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
                records += self._create_partitions(topic)
            except RequestRejected as rejection:
                result = item_result(rejection)
            results.append(
                CreatePartitionsTopicResult(name=topic.name, error_code=result.code, error_message=result.message)
            )
        response = CreatePartitionsResponse(results=results)
        return ControllerDecision([] if request.validate_only else records, response, is_atomic=True)

    def _create_partitions(self, request: CreatePartitionsTopic) -> list[MetadataRecord]:
        topic = self._registry.topic_named(request.name)
        if topic is None:
            raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        current = len(topic.partitions)
        if request.count == current:
            raise RequestRejected(ErrorCode.INVALID_PARTITIONS, f"Topic already has {current} partition(s).")
        if request.count < current:
            raise RequestRejected(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {request.name} currently has {current} partition(s); "
                f"{request.count} would not be an increase.",
            )
        if request.count - current > MAX_PARTITIONS_PER_REQUEST:
            raise RequestRejected(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
        options = self._writer_options()
        partitions = self._creation.additional_partitions(request, topic)
        return [p.to_record(topic.id, current + index, options) for index, p in enumerate(partitions)]

    # Deletion

    def delete_topics(self, request: DeleteTopicsRequest) -> ControllerDecision[DeleteTopicsResponse]:
        """Delete topics by name or by id. A topic that is in the request twice is rejected, with one result."""
        references = [TopicReference(topic.name, topic.topic_id) for topic in request.topics]
        references += [TopicReference(name, ZERO_UUID) for name in request.topic_names]
        repeated = _repeated(references)
        errors = {reference: _reference_error(reference, reference in repeated) for reference in references}
        topics = {
            reference: self._resolve(reference) if error is SUCCESS else None for reference, error in errors.items()
        }
        twice = _repeated([topic.id for topic in topics.values() if topic is not None])
        records: list[MetadataRecord] = []
        responses: list[DeletableTopicResult] = []
        for reference, topic in topics.items():
            result = errors[reference]
            is_double = topic is not None and topic.id in twice
            if is_double and reference.name is None:
                continue  # reported by its name
            if is_double:
                message = "The provided topic name maps to an ID that was already supplied."
                result = ItemResult(ErrorCode.INVALID_REQUEST, message)
            elif result is SUCCESS and topic is None:
                is_id = reference.name is None
                code = ErrorCode.UNKNOWN_TOPIC_ID if is_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                result = ItemResult(code, ERROR_WORDS[code])
            if result is SUCCESS and topic is not None:
                records.append(MetadataRecord(RemoveTopicRecord(topic_id=topic.id), 0))
            responses.append(
                DeletableTopicResult(
                    name=reference.name if topic is None else topic.name,
                    topic_id=reference.topic_id if topic is None else topic.id,
                    error_code=result.code,
                    error_message=result.message,
                )
            )
        return ControllerDecision(records, DeleteTopicsResponse(responses=responses), is_atomic=True)

    def _resolve(self, reference: "TopicReference") -> TopicState | None:
        registry = self._registry
        topic_id = reference.topic_id if reference.name is None else registry.ids_by_name.get(reference.name, ZERO_UUID)
        return registry.topics.get(topic_id)


class TopicReference(NamedTuple):
    """Topic to be deleted, by name or by id."""

    name: str | None
    topic_id: bytes


def _reference_error(reference: TopicReference, is_repeated: bool) -> ItemResult:
    """Return the error of an invalid reference; SUCCESS for a valid one."""
    if reference.name is not None and reference.topic_id != ZERO_UUID:
        return ItemResult(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if reference.name is None and reference.topic_id == ZERO_UUID:
        return ItemResult(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if is_repeated:
        message = "Duplicate topic name." if reference.name is not None else "Duplicate topic id."
        return ItemResult(ErrorCode.INVALID_REQUEST, message)
    return SUCCESS


@lru_cache(maxsize=_DESCRIBED_MAX)
def _described(name: str, config: EffectiveConfig) -> CreatableTopicConfigs:
    """Return the description of a config. Responses share it: nothing changes a response."""
    hidden = is_sensitive(ConfigResourceType.TOPIC, name)
    return CreatableTopicConfigs(
        name=name, value=None if hidden else config.value, config_source=config.source, is_sensitive=hidden
    )


def _repeated(names: list[T]) -> Collection[T]:
    """Return the elements that occur more than once."""
    seen: dict[T, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return frozenset(name for name, count in seen.items() if count > 1)


def _settings(topic: CreatableTopic) -> dict[str, str]:
    missing = [config.name for config in topic.configs if config.value is None]
    if missing:
        raise RequestRejected(
            ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(missing)}"
        )
    return {config.name: config.value for config in topic.configs if config.value is not None}
