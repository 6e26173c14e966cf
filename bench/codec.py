"""Cost of decoding and encoding the messages of the hot path.

The floor of an operation is what any implementation must pay for the same bytes: one copy of them (`bytes(...)`).
"""

import statistics
import time
from collections.abc import Callable
from typing import TypedDict

from odradek.protocol.api_keys import ListenerRole, accepted_versions
from odradek.protocol.codec import decode, encode, encode_parts
from odradek.protocol.framing import FrameReader, frame
from odradek.protocol.message import Message
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_request, request_parts

BATCH_BYTES = 16 * 1024
ROUNDS = 7
ROUND_SECONDS = 0.05


class Row(TypedDict):
    operation: str
    median_us: float
    floor_us: float | None
    note: str


def measure_us(operation: Callable[[], object]) -> float:
    """Median over some rounds of the mean of as many calls as fill a round."""
    calls, seconds = 1, 0.0
    while True:
        seconds = _timed(operation, calls)
        if seconds >= ROUND_SECONDS / 4:
            break
        calls *= 2
    calls = max(1, int(calls * ROUND_SECONDS / seconds))
    return statistics.median(_timed(operation, calls) / calls for _ in range(ROUNDS)) * 1e6


def _timed(operation: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        operation()
    return time.perf_counter() - start


def produce_request(version: int) -> ProduceRequest:
    partition = PartitionProduceData(index=3, records=bytes(BATCH_BYTES))
    topic = TopicProduceData(partition_data=[partition])
    if version >= 13:
        topic.topic_id = bytes(range(16))
    else:
        topic.name = "events"
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def fetch_request() -> FetchRequest:
    """An incremental fetch: a session, and three partitions of a topic that moved on."""
    partitions = [
        FetchPartition(partition=index, current_leader_epoch=5, fetch_offset=1_000_000, partition_max_bytes=1 << 20)
        for index in range(3)
    ]
    topics = [FetchTopic(topic_id=bytes(range(16)), partitions=partitions)]
    return FetchRequest(
        max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, session_id=77, session_epoch=12, topics=topics
    )


def metadata_response() -> MetadataResponse:
    brokers = [MetadataResponseBroker(node_id=node, host=f"broker-{node}", port=9092) for node in range(3)]
    topics = [
        MetadataResponseTopic(
            name=f"topic-{number}",
            topic_id=number.to_bytes(16, "big"),
            partitions=[
                MetadataResponsePartition(
                    partition_index=index,
                    leader_id=index % 3,
                    leader_epoch=4,
                    replica_nodes=[0, 1, 2],
                    isr_nodes=[0, 1, 2],
                )
                for index in range(10)
            ],
        )
        for number in range(100)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="c" * 22, controller_id=1, topics=topics)


def rows_of(name: str, message: Message, version: int, note: str = "") -> list[Row]:
    body = encode(message, version)
    buffer = bytearray(body)
    floor = measure_us(lambda: bytes(buffer))
    rows: list[Row] = []

    def add(verb: str, operation: Callable[[], object], floor_us: float | None) -> None:
        text = f"{len(body):,} bytes{', ' + note if note else ''}"
        rows.append(
            Row(operation=f"{verb} {name} v{version}", median_us=measure_us(operation), floor_us=floor_us, note=text)
        )

    add("decode", lambda: decode(type(message), version, buffer), floor)
    add("encode", lambda: encode(message, version), floor)
    if note:
        add("encode (pieces)", lambda: encode_parts(message, version), None)
    return rows


def whole_request(version: int) -> list[Row]:
    """From the bytes of a connection to a request: split, header, body."""
    header = RequestHeader(request_api_key=0, request_api_version=version, correlation_id=1, client_id="producer-1")
    stream = b"".join(frame(request_parts(header, produce_request(version))))
    accepted = accepted_versions(ListenerRole.BROKER)

    def receive() -> None:
        for whole in FrameReader().feed(stream):
            parse_request(whole, accepted)

    floor = measure_us(lambda: bytearray(stream))
    return [
        Row(
            operation=f"receive Produce request v{version}",
            median_us=measure_us(receive),
            floor_us=floor,
            note=f"{len(stream):,} bytes: frame, header and body",
        )
    ]


def run() -> list[Row]:
    rows: list[Row] = []
    for version in (9, 11, 13):
        rows += rows_of("Produce request", produce_request(version), version, "one batch of 16 KiB")
    rows += whole_request(13)
    rows += rows_of("Fetch request", fetch_request(), 17)
    rows += rows_of("Metadata response, 100 x 10", metadata_response(), 13)
    return rows


if __name__ == "__main__":
    print(f"{'operation':50} {'median us':>10} {'floor us':>9}  note")
    for row in run():
        floor_text = "" if row["floor_us"] is None else f"{row['floor_us']:.2f}"
        print(f"{row['operation']:50} {row['median_us']:10.2f} {floor_text:>9}  {row['note']}")
