"""The short way of a Produce request answers as the long one does, and leaves alone what is not for it."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.api.dispatch.context import ANONYMOUS, Context, Services, Session
from odradek.api.handlers import produce
from odradek.api.handlers.produce_quick import quick
from odradek.network.answers import framed_answer
from odradek.protocol.api_keys import ListenerRole
from odradek.protocol.message import Message
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_request, request_parts
from support.builders.api import session
from support.builders.logs import batch, idempotent
from support.builders.replica import TOPIC, TOPIC_ID, Cluster

VERSIONS = range(9, 14)


class Served:
    """A broker with one topic, and a session with it."""

    def __init__(self, size: int = 1) -> None:
        self.cluster = Cluster(size)
        self.cluster.create_topic()
        self.broker = self.cluster.brokers[0]
        services = Services(replicas=self.broker.replicas, image=lambda: self.cluster.image)
        self.session: Session = session(services, ListenerRole.BROKER)

    @property
    def end(self) -> int:
        end: int = self.broker.log.offsets.log_end_offset
        return end

    def quickly(self, frame: bytes) -> bytes | None:
        answer = quick(self.session, bytearray(frame))
        return self._framed(bytearray(frame), answer) if isinstance(answer, Message) else answer

    def usually(self, frame: bytes) -> bytes:
        whole = bytearray(frame)
        answer = produce.handle(self._context(whole), parse_request(whole, self.session.registry.accepted).body)  # type: ignore[arg-type]
        assert isinstance(answer, Message)
        return self._framed(whole, answer)

    def _framed(self, frame: bytearray, answer: Message) -> bytes:
        return b"".join(framed_answer(self._context(frame), self.session.registry.entry(0), answer))

    def _context(self, frame: bytearray) -> Context:
        header, _ = parse_request(frame, self.session.registry.accepted)
        return Context(self.session, 0, header.request_api_version, header.correlation_id, "test", ANONYMOUS)


def request(
    version: int,
    records: bytes | None,
    *,
    topic: str = TOPIC,
    topic_id: bytes = TOPIC_ID,
    client_id: str | None = "test",
    partitions: int = 1,
    index: int = 0,
    **fields: Any,
) -> bytes:
    data = [PartitionProduceData(index=index, records=records) for _ in range(partitions)]
    named = {"topic_id": topic_id} if version >= 13 else {"name": topic}
    body = ProduceRequest(
        topic_data=[TopicProduceData(partition_data=data, **named)],
        **{"acks": 1, "timeout_ms": 1000, **fields},
    )
    header = RequestHeader(request_api_key=0, request_api_version=version, correlation_id=77, client_id=client_id)
    return b"".join(map(bytes, request_parts(header, body)))


def damaged() -> bytes:
    records = bytearray(batch("x"))
    records[-1] ^= 1
    return bytes(records)


QUICK: dict[str, Callable[[int], bytes]] = {
    "a batch": lambda version: request(version, batch("a")),
    "a large batch": lambda version: request(version, batch("a" * 50_000, "b")),
    "no client id": lambda version: request(version, batch("a"), client_id=None),
    "acks=all": lambda version: request(version, batch("a"), acks=-1),
    "an idempotent batch": lambda version: request(version, idempotent(5, 0, "a")),
    "a sequence that is out of order": lambda version: request(version, idempotent(6, 9, "a")),
    "a damaged batch": lambda version: request(version, damaged()),
    "no such partition": lambda version: request(version, batch("a"), index=9),
}

USUAL: dict[str, Callable[[int], bytes]] = {
    "no records": lambda version: request(version, b""),
    "null": lambda version: request(version, None),
    "two batches": lambda version: request(version, batch("a") + batch("b")),
    "half a batch": lambda version: request(version, batch("a")[:40]),
    "an old format": lambda version: request(version, batch("a")[:16] + b"\1" + batch("a")[17:]),
    "two partitions": lambda version: request(version, batch("a"), partitions=2),
    "a transaction": lambda version: request(version, batch("a"), transactional_id="t"),
    "acks=0": lambda version: request(version, batch("a"), acks=0),
    "acks=2": lambda version: request(version, batch("a"), acks=2),
    "a tagged field": lambda version: request(version, batch("a"), unknown_tagged_fields=((9, b"x"),)),
    "bytes that are left over": lambda version: request(version, batch("a")) + b"\0",
    "a frame that is cut off": lambda version: request(version, batch("a"))[:-1],
    "nothing but a key": lambda version: b"\0\0",
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", QUICK)
def test_the_answer_is_the_same_byte_for_byte(name: str, version: int) -> None:
    ours, twin = Served(), Served()
    frame = QUICK[name](version)
    for _ in range(2):
        assert ours.quickly(frame) == twin.usually(frame)
        assert ours.end == twin.end
        assert ours.broker.log.offsets.high_watermark == ours.end


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", USUAL)
def test_whatever_is_not_usual_is_left_alone(name: str, version: int) -> None:
    served = Served()
    assert served.quickly(USUAL[name](version)) is None
    assert served.end == 0


def test_a_topic_that_is_not_there() -> None:
    ours, twin = Served(), Served()
    named = request(9, batch("a"), topic="nowhere")
    assert ours.quickly(named) == twin.usually(named)
    assert ours.quickly(request(13, batch("a"), topic_id=b"?" * 16)) is None
    assert ours.quickly(request(9, batch("a"), topic="n" * 200)) is None


def test_older_versions_and_a_node_without_replicas_are_left_alone() -> None:
    served = Served()
    assert served.quickly(request(8, batch("a"))) is None
    served.session.services.replicas = None
    assert served.quickly(request(9, batch("a"))) is None


def test_what_must_wait_for_followers_is_left_alone() -> None:
    served = Served(3)
    assert served.quickly(request(9, batch("a"), acks=-1)) is None
    assert served.end == 0
    assert served.quickly(request(9, batch("a"))) is not None
    assert served.end == 1


def test_a_consumer_that_waits_is_woken() -> None:
    served = Served()
    answers = served.broker.fetch(0, max_wait_ms=10_000)
    assert answers == []
    served.quickly(request(12, batch("a")))
    assert answers[0][0].high_watermark == 1
