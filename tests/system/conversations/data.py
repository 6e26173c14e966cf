"""What producers and consumers ask a broker of a cluster of one, wrongly for the most part."""

from collections.abc import Iterator
from typing import Any

from odradek.protocol.message import Message
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.records.compression import Compression
from support.builders.controller import topic
from support.builders.logs import batch, idempotent
from system.conversations.admin import settled
from system.conversations.compare import Line

TIMEOUT_MS = 60_000

#: By name, since ids differ; with and without sessions, epochs, errors of single records.
PRODUCE_VERSIONS = (3, 7, 8, 12)
FETCH_VERSIONS = (4, 7, 9, 12)


def data_questions() -> Iterator[Line]:
    yield from _topics()
    for version in PRODUCE_VERSIONS:
        yield from _writes(version)
    for version in FETCH_VERSIONS:
        yield from _reads(version)


def _topics() -> Iterator[Line]:
    # The batches have timestamps of long ago.
    for_ever = {"retention.ms": "-1"}
    made = [
        topic("data", num_partitions=2, configs=for_ever),
        topic("keyed", num_partitions=1, configs={**for_ever, "cleanup.policy": "compact"}),
    ]
    yield Line("create", lambda known: CreateTopicsRequest(topics=made, timeout_ms=TIMEOUT_MS))
    yield from settled(data=2, keyed=1)


def _produce(name: str, partition: int, records: bytes, acks: int = -1) -> Message:
    data = PartitionProduceData(index=partition, records=records)
    topics = [TopicProduceData(name=name, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=TIMEOUT_MS, topic_data=topics)


def _writes(version: int) -> Iterator[Line]:
    good, producer = batch("a", "b"), 100 + version
    damaged, too_long, too_short, old, new = (bytearray(good) for _ in range(5))
    damaged[-1] ^= 1
    too_long[8:12] = (len(good) + 50).to_bytes(4, "big")
    too_short[8:12] = (5).to_bytes(4, "big")
    old[16], new[16] = 1, 3
    asked = {
        "a batch": _produce("data", 0, good),
        "nothing": _produce("data", 0, b""),
        "a damaged batch": _produce("data", 0, bytes(damaged)),
        "two batches": _produce("data", 0, good + good),
        "half a batch": _produce("data", 0, good[: len(good) // 2]),
        "a few bytes": _produce("data", 0, good[:7]),
        "a length beyond the end": _produce("data", 0, bytes(too_long)),
        "a length of almost nothing": _produce("data", 0, bytes(too_short)),
        "a format of the past": _produce("data", 0, bytes(old)),
        "a format of the future": _produce("data", 0, bytes(new)),
        "zstd": _produce("data", 0, batch("x", compression=Compression.ZSTD)),
        "too much": _produce("data", 0, batch("x" * 1_100_000)),
        "no key": _produce("keyed", 0, batch("x", "y", key=None)),
        "to no topic": _produce("missing", 0, good),
        "nothing to no topic": _produce("missing", 0, b""),
        "to no partition": _produce("data", 9, good),
        "to a bad name": _produce("a b", 0, good),
        "acks=2": _produce("data", 0, good, acks=2),
        "a sequence from the middle": _produce("data", 1, idempotent(producer, 5, "x")),
        "a sequence from its beginning": _produce("data", 1, idempotent(producer + 100, 0, "x")),
        "a sequence with a gap": _produce("data", 1, idempotent(producer + 100, 9, "x")),
        "a sequence again": _produce("data", 1, idempotent(producer + 100, 0, "x")),
        "a new epoch": _produce("data", 1, idempotent(producer + 100, 0, "x", epoch=2)),
        "an old epoch": _produce("data", 1, idempotent(producer + 100, 1, "x", epoch=1)),
    }
    for what, request in asked.items():
        yield Line(f"produce {what} v{version}", lambda known, r=request: r, version)


def _fetch(name: str, partition: int, offset: int, **fields: Any) -> Message:
    one = FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=fields.pop("partition_max_bytes", 1000),
        current_leader_epoch=fields.pop("current_leader_epoch", -1),
    )
    values = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1}
    return FetchRequest(topics=[FetchTopic(topic=name, partitions=[one])], **{**values, **fields})


def _reads(version: int) -> Iterator[Line]:
    asked = {
        "records": _fetch("data", 0, 0),
        "committed records": _fetch("data", 0, 0, isolation_level=1),
        "of an unknown isolation": _fetch("data", 0, 0, isolation_level=7),
        "from beyond the end": _fetch("data", 0, 9999),
        "from before the start": _fetch("data", 0, -5),
        "of no topic": _fetch("missing", 0, 0),
        "of no partition": _fetch("data", 9, 0),
        "of a bad name": _fetch("a b", 0, 0),
        "nothing": _fetch("data", 0, 0, partition_max_bytes=0, max_bytes=0),
        "as a follower that is none": _fetch("data", 0, 0, replica_id=9),
    }
    if version >= 7:
        asked["in an unknown session"] = _fetch("data", 0, 0, session_id=77, session_epoch=3)
        asked["in no session"] = _fetch("data", 0, 0, session_epoch=3)
    if version >= 9:
        asked["in a later epoch"] = _fetch("data", 0, 0, current_leader_epoch=9)
    for what, request in asked.items():
        yield Line(f"fetch {what} v{version}", lambda known, r=request: r, version)
