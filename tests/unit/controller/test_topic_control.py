"""Topics: what is written, and Kafka's refusals for what cannot be."""

from typing import Any

import pytest

from odradek.metadata.records.record_serde import MetadataRecord
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from support.builders.controller import Bench, topic


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    for broker_id in range(3):
        made.add_broker(broker_id)
    made.add_broker(3, unfence=False)
    return made


def create_error(bench: Bench, asked: CreatableTopic) -> tuple[int, str]:
    before = bench.controller.next_write_offset
    result = bench.ask(CreateTopicsRequest(topics=[asked])).topics[0]
    assert bench.controller.next_write_offset == before, "a refused topic leaves no record"
    return result.error_code, result.error_message


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        (topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION, "the empty string is not allowed"),
        (topic("."), ErrorCode.INVALID_TOPIC_EXCEPTION, "'.' is not allowed"),
        (topic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION, "'..' is not allowed"),
        (topic("a" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION, "longer than the max allowed length 249"),
        (topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "other than ASCII alphanumerics"),
        (topic("é"), ErrorCode.INVALID_TOPIC_EXCEPTION, "other than ASCII alphanumerics"),
        (topic("a", num_partitions=0), ErrorCode.INVALID_PARTITIONS, "non-positive"),
        (topic("a", num_partitions=-2), ErrorCode.INVALID_PARTITIONS, "non-positive"),
        (topic("a", replication_factor=0), ErrorCode.INVALID_REPLICATION_FACTOR, "larger than 0, or -1"),
        (topic("a", replication_factor=-2), ErrorCode.INVALID_REPLICATION_FACTOR, "larger than 0, or -1"),
        (topic("a", replication_factor=5), ErrorCode.INVALID_REPLICATION_FACTOR, "only 4 broker(s) are registered"),
        (topic("a", [[0]], num_partitions=1), ErrorCode.INVALID_REQUEST, "numPartitions was not set to -1"),
        (topic("a", [[0]], replication_factor=1), ErrorCode.INVALID_REQUEST, "factor was not set to -1"),
        (topic("a", [[]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "an empty replica list"),
        (topic("a", [[9]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "broker 9, but no such broker is registered"),
        (topic("a", [[1, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the broker 1 more than once"),
        (topic("a", [[0, 1], [0]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "not consistent with previous partitions"),
        (topic("a", [[3]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "are fenced or in controlled shutdown"),
        (topic("a", configs={"no.such": "1"}), ErrorCode.INVALID_CONFIG, "Unknown topic config name: no.such"),
        (topic("a", configs={"retention.ms": "x"}), ErrorCode.INVALID_CONFIG, "Invalid value x for configuration"),
        (topic("a", configs={"retention.ms": "-2"}), ErrorCode.INVALID_CONFIG, "Value must be at least -1"),
        (topic("a", configs={"segment.bytes": None}), ErrorCode.INVALID_CONFIG, "Null value not supported"),
        (topic("a", configs={"cleanup.policy": "burn"}), ErrorCode.INVALID_CONFIG, "must be one of: compact, delete"),
        (
            topic("a", configs={"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"}),
            ErrorCode.INVALID_CONFIG,
            "min.compaction.lag.ms (9) > max.compaction.lag.ms (5)",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, CreatableTopic | ErrorCode) else "",
)
def test_topics_that_cannot_be(bench: Bench, asked: CreatableTopic, code: ErrorCode, said: str) -> None:
    found, message = create_error(bench, asked)
    assert (ErrorCode(found), said in message) == (code, True), message


def test_names_already_taken_or_colliding(bench: Bench) -> None:
    bench.create("a.b")
    assert create_error(bench, topic("a.b"))[0] == ErrorCode.TOPIC_ALREADY_EXISTS
    code, said = create_error(bench, topic("a_b"))
    assert code == ErrorCode.INVALID_TOPIC_EXCEPTION and "collides with existing topic: a.b" in said


def test_a_name_twice_in_a_request(bench: Bench) -> None:
    results = bench.ask(CreateTopicsRequest(topics=[topic("a"), topic("b"), topic("a")])).topics
    assert [(r.name, r.error_code) for r in results] == [("a", ErrorCode.INVALID_REQUEST), ("b", 0)]


def test_the_metadata_log_is_no_topic(bench: Bench) -> None:
    code, said = create_error(bench, topic("__cluster_metadata"))
    assert (code, "is prohibited" in said) == (ErrorCode.INVALID_REQUEST, True)


def test_more_partitions_for_a_topic_that_is_named_twice(bench: Bench) -> None:
    bench.create("a", num_partitions=1)
    twice = [CreatePartitionsTopic(name="a", count=count, assignments=None) for count in (2, 3)]
    results = bench.ask(CreatePartitionsRequest(topics=twice)).results
    assert [(r.name, r.error_code) for r in results] == [("a", ErrorCode.INVALID_REQUEST)]


def test_too_many_partitions_for_one_request(bench: Bench) -> None:
    refused = bench.refusal(CreateTopicsRequest(topics=[topic("a", num_partitions=10_001)]))
    assert refused.code == ErrorCode.POLICY_VIOLATION


def test_only_validated(bench: Bench) -> None:
    response = bench.ask(CreateTopicsRequest(topics=[topic("a", num_partitions=2)], validate_only=True))
    assert response.topics[0].error_code == 0 and response.topics[0].num_partitions == 2
    assert not bench.controller.controls.registry.topics


def test_a_created_topic(bench: Bench) -> None:
    request = CreateTopicsRequest(topics=[topic("a", [[2, 0], [1, 3]], configs={"retention.ms": "5"})])
    submission = bench.controller.handle(request)
    records = bench.take(submission.appends)
    assert [type(r.message).__name__ for r in records] == [
        "TopicRecord",
        "ConfigRecord",
        "PartitionRecord",
        "PartitionRecord",
    ]
    assert [r.version for r in records] == [0, 0, 2, 2]
    second = fields(records[3])
    assert (second.replicas, second.isr, second.leader) == ([1, 3], [1], 1), "a fenced broker is not in sync"
    assert len(second.directories) == 2
    (answer,) = bench.controller.take_results()
    result = answer.response.topics[0]
    assert result.num_partitions == 2 and result.replication_factor == 2
    configs = {c.name: (c.value, c.config_source) for c in result.configs}
    assert configs["retention.ms"] == ("5", 1)
    assert configs["segment.bytes"] == ("1073741824", 5)
    assert configs["min.insync.replicas"] == ("1", 3), "the cluster has its own since ELR is on"


def fields(record: MetadataRecord) -> Any:
    return record.message


def grow(bench: Bench, count: int, assignments: list[list[int]] | None = None) -> tuple[int, str | None]:
    manual = None if assignments is None else [CreatePartitionsAssignment(broker_ids=ids) for ids in assignments]
    asked = CreatePartitionsTopic(name="a", count=count, assignments=manual)
    result = bench.ask(CreatePartitionsRequest(topics=[asked])).results[0]
    return result.error_code, result.error_message


def test_growing(bench: Bench) -> None:
    topic_id = bench.create("a", [[0, 1]])
    assert grow(bench, 1) == (ErrorCode.INVALID_PARTITIONS, "Topic already has 1 partition(s).")
    code, said = grow(bench, 0)
    assert code == ErrorCode.INVALID_PARTITIONS and "would not be an increase" in (said or "")
    assert grow(bench, 3, [[1, 2]])[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert grow(bench, 2, [[1]])[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert grow(bench, 2, [[1, 2]]) == (0, None)
    assert grow(bench, 4) == (0, None)
    partitions = bench.controller.controls.registry.topics[topic_id].partitions
    assert sorted(partitions) == [0, 1, 2, 3]
    assert all(len(partition.replicas) == 2 for partition in partitions.values())
    unknown = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="zzz", count=2, assignments=None)])
    assert bench.ask(unknown).results[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_deleting(bench: Bench) -> None:
    first, second = bench.create("a", configs={"retention.ms": "5"}), bench.create("b")
    states = [
        DeleteTopicState(name="a"),
        DeleteTopicState(topic_id=second),
        DeleteTopicState(name="zzz"),
        DeleteTopicState(topic_id=b"z" * 16),
        DeleteTopicState(name="a", topic_id=second),
        DeleteTopicState(),
    ]
    responses = bench.ask(DeleteTopicsRequest(topics=states)).responses
    assert [ErrorCode(r.error_code).name for r in responses] == [
        "NONE",
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "INVALID_REQUEST",
        "INVALID_REQUEST",
    ]
    assert [(r.name, r.topic_id) for r in responses[:2]] == [("a", first), ("b", second)]
    assert not bench.controller.controls.registry.topics
    assert not any(resource.type == 2 for resource in bench.controller.controls.configuration.settings)
    assert not bench.controller.controls.registry.index.with_broker_in_isr(0)


def test_a_topic_is_deleted_once_or_not_at_all(bench: Bench) -> None:
    by_name, by_id = bench.create("a"), bench.create("b")
    states = [DeleteTopicState(name="a")] * 2 + [DeleteTopicState(topic_id=by_id)] * 2
    responses = bench.ask(DeleteTopicsRequest(topics=states)).responses
    assert [(r.name, r.topic_id, r.error_message) for r in responses] == [
        ("a", bytes(16), "Duplicate topic name."),
        (None, by_id, "Duplicate topic id."),
    ]
    both = [DeleteTopicState(name="a"), DeleteTopicState(topic_id=by_name)]
    responses = bench.ask(DeleteTopicsRequest(topics=both)).responses
    assert {r.error_code for r in responses} == {ErrorCode.INVALID_REQUEST}
    assert list(bench.controller.controls.registry.topics) == [by_name, by_id]


def test_the_settings_in_the_answer_follow_those_of_the_brokers(bench: Bench) -> None:
    def shown(name: str, **settings: str) -> list[tuple[str | None, int]]:
        asked = topic(name, [[0]], configs={key.replace("_", "."): value for key, value in settings.items()})
        configs = bench.ask(CreateTopicsRequest(topics=[asked])).topics[0].configs
        assert [config.name for config in configs] == sorted(config.name for config in configs)
        return [(c.value, c.config_source) for c in configs if c.name in ("retention.ms", "segment.bytes")]

    by_default = [("604800000", 5), ("1073741824", 5)]
    assert shown("a") == by_default
    assert shown("b", retention_ms="7") == [("7", 1), by_default[1]]
    assert bench.set_config(4, "", "log.retention.ms", "9") == (0, None)
    assert shown("c") == [("9", 3), by_default[1]]
    assert bench.set_config(4, "", "log.retention.ms", None, op=1) == (0, None)
    assert shown("d") == by_default
