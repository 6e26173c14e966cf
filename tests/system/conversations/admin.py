"""What administrators ask a broker of a cluster of one, rightly and wrongly: topics, partitions, records, settings."""

from collections.abc import Iterator
from typing import Any

from odradek.common.list_offsets_timestamps import EARLIEST
from odradek.protocol.message import Message
from odradek.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from support.builders.controller import topic
from support.builders.logs import batch, idempotent
from system.conversations.admin_more import more_questions
from system.conversations.compare import Learned, Line

TIMEOUT_MS = 60_000


def questions() -> Iterator[Line]:
    yield from _creation()
    yield from _bad_creation()
    yield from settled(empty=3, full=2, compacted=1, **{"col.lide": 1})
    yield from _records()
    yield from _partitions()
    yield from more_questions()


def _create(*topics: Any, **fields: Any) -> Message:
    return CreateTopicsRequest(topics=list(topics), timeout_ms=TIMEOUT_MS, **fields)


def _creation() -> Iterator[Line]:
    good = [
        topic("empty", num_partitions=3, replication_factor=1, configs={"retention.ms": "50000"}),
        topic("full", [[1], [1]], configs={"retention.ms": "-1"}),
        topic("compacted", configs={"cleanup.policy": "compact"}),
        topic("col.lide", num_partitions=1),
    ]
    yield Line("create topics", lambda known: _create(*good))
    tried = [topic("tried", num_partitions=2), topic("empty"), topic("bad name")]
    yield Line("try to create topics", lambda known: _create(*tried, validate_only=True))


def _bad_creation() -> Iterator[Line]:
    counted: dict[str, Any] = {"num_partitions": 1, "replication_factor": 1}
    bad = {
        "no name": topic(""),
        "a dot": topic("."),
        "two dots": topic(".."),
        "a space": topic("a b"),
        "a slash": topic("a/b"),
        "an umlaut": topic("\u00fcber"),
        "too long": topic("x" * 250),
        "one that collides": topic("col_lide"),
        "one that is there": topic("full"),
        "one of the cluster's own": topic("__cluster_metadata", **counted),
        "no partitions": topic("x", num_partitions=0, replication_factor=1),
        "fewer than none": topic("x", num_partitions=-2, replication_factor=1),
        "no replicas": topic("x", num_partitions=1, replication_factor=0),
        "too few replicas": topic("x", num_partitions=1, replication_factor=-2),
        "too many replicas": topic("x", num_partitions=1, replication_factor=2),
        "places and counts": topic("x", [[1]], **counted),
        "places and a factor": topic("x", [[1]], replication_factor=1),
        "an unknown broker": topic("x", [[9]]),
        "a broker twice": topic("x", [[1, 1]]),
        "a negative broker": topic("x", [[-1]]),
        "no broker": topic("x", [[]]),
        "uneven places": topic("x", [[1], [1, 9]]),
    }
    for what, asked in bad.items():
        yield Line(f"create {what}", lambda known, t=asked: _create(t))
    gap = topic("gap", [[1], [1]])
    gap.assignments[1].partition_index = 5
    yield Line("create with a gap", lambda known: _create(gap))
    twice = topic("same", [[1], [1]])
    twice.assignments[1].partition_index = 0
    yield Line("create with a partition twice", lambda known: _create(twice))
    yield Line("create one topic twice", lambda known: _create(topic("x"), topic("y b"), topic("x")))
    yield Line("create nothing", lambda known: _create())
    for number, (name, value) in enumerate(BAD_CONFIGS):
        asked = topic(f"config-{number}", configs={name: value})
        yield Line(f"create with {name}={value}", lambda known, t=asked: _create(t, validate_only=True))


BAD_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("no.such", "1"),
    ("", "1"),
    ("retention.ms", "many"),
    ("retention.ms", "-2"),
    ("retention.ms", ""),
    ("retention.ms", None),
    ("retention.ms", "99999999999999999999"),
    ("retention.bytes", " 7 "),
    ("segment.bytes", "1"),
    ("segment.bytes", "2147483648"),
    ("segment.ms", "0"),
    ("cleanup.policy", "burn"),
    ("cleanup.policy", ""),
    ("cleanup.policy", "delete,delete"),
    ("cleanup.policy", "compact, delete"),
    ("compression.type", "brotli"),
    ("compression.gzip.level", "77"),
    ("message.timestamp.type", "sometime"),
    ("min.insync.replicas", "0"),
    ("min.cleanable.dirty.ratio", "1.5"),
    ("max.compaction.lag.ms", "0"),
    ("unclean.leader.election.enable", "yes"),
    ("leader.replication.throttled.replicas", "nonsense"),
    ("follower.replication.throttled.replicas", "0:1,1:x"),
    ("remote.storage.enable", "true"),
    ("local.retention.ms", "5"),
    ("message.format.version", "2.0"),
)


def settled(**partitions: int) -> Iterator[Line]:
    """Until the broker has seen what the controller made, and leads every partition of these topics."""

    def first(count: int) -> list[ListOffsetsPartition]:
        return [ListOffsetsPartition(partition_index=number, timestamp=EARLIEST) for number in range(count)]

    topics = [ListOffsetsTopic(name=name, partitions=first(count)) for name, count in partitions.items()]
    yield Line(
        "every partition is led",
        lambda known: ListOffsetsRequest(replica_id=-1, topics=topics, timeout_ms=TIMEOUT_MS),
        until=lambda said: not any(part.error_code for one in said.topics for part in one.partitions),
    )


def _produce(known: Learned, name: str, partition: int, records: bytes) -> Message:
    data = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        acks=-1,
        timeout_ms=TIMEOUT_MS,
        topic_data=[TopicProduceData(name=name, partition_data=[data])],
    )


def _records() -> Iterator[Line]:
    # By name: the version before ids.
    for number, records in enumerate((batch("a", "b", "c"), batch("d", "e"), idempotent(7, 0, "f", "g"))):
        yield Line(f"produce {number}", lambda known, r=records: _produce(known, "full", 0, r), 12)

    def delete(*wanted: tuple[str, int, int]) -> Message:
        topics = [
            DeleteRecordsTopic(name=name, partitions=[DeleteRecordsPartition(partition_index=number, offset=offset)])
            for name, number, offset in wanted
        ]
        return DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS)

    asked = {
        "of an empty log": ("empty", 0, 0),
        "up to the end of an empty log": ("empty", 1, -1),
        "beyond the end": ("full", 0, 99),
        "before the start": ("full", 1, -2),
        "some": ("full", 0, 2),
        "some again": ("full", 0, 1),
        "of a compacted log": ("compacted", 0, 0),
        "of no partition": ("full", 9, 0),
        "of a negative partition": ("full", -1, 0),
        "of no topic": ("missing", 0, 0),
    }
    for what, one in asked.items():
        yield Line(f"delete records {what}", lambda known, o=one: delete(o))


def _partitions() -> Iterator[Line]:
    def more(name: str, count: int, *assignments: list[int]) -> CreatePartitionsTopic:
        places = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments]
        return CreatePartitionsTopic(name=name, count=count, assignments=places or None)

    asked = {
        "fewer": more("empty", 1),
        "as many": more("empty", 3),
        "no": more("empty", 0),
        "fewer than no": more("empty", -1),
        "of no topic": more("missing", 3),
        "of no name": more("", 3),
        "too few places": more("empty", 5, [1]),
        "too many places": more("empty", 4, [1], [1]),
        "on an unknown broker": more("empty", 4, [9]),
        "on too many brokers": more("empty", 4, [1, 9]),
        "on no broker": more("empty", 4, []),
        "good": more("empty", 4, [1]),
    }
    for what, one in asked.items():
        yield Line(
            f"more partitions: {what}", lambda known, o=one: CreatePartitionsRequest(topics=[o], timeout_ms=1000)
        )
    twice = [more("empty", 5), more("empty", 6), more("missing", 7)]
    yield Line("more partitions twice", lambda known: CreatePartitionsRequest(topics=twice, timeout_ms=TIMEOUT_MS))
    tried = [more("full", 9)]
    yield Line(
        "try more partitions",
        lambda known: CreatePartitionsRequest(topics=tried, timeout_ms=TIMEOUT_MS, validate_only=True),
    )
