"""Two other implementations read and write the same bytes, and see the same values in them.

Messages are made up from our facts; each is written by us, read by the other side, compared field by field, and
written again by the other side. Every message and version that the other side has is compared.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import unit.protocol.kafka_python_oracle as kafka_python
import unit.protocol.kio_oracle as kio
from odradek.protocol.codec import encode
from odradek.protocol.message import Message
from support.builders.protocol import every_message_version, messages, no_limits
from support.figures import report

#: For each message and version; the same ones in every run. More, and others, by hand.
EXAMPLES = int(os.environ.get("ODRADEK_ORACLE_EXAMPLES", "4"))
SHARDS = 4

pytestmark = pytest.mark.slow

QUICK = settings(
    max_examples=EXAMPLES,
    derandomize="ODRADEK_ORACLE_EXAMPLES" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

Check = Callable[[Message], None]


def compare(
    pairs: list[tuple[type[Message], int]], limits: Any, check_of: Callable[[type[Message], int], Check]
) -> None:
    for cls, version in pairs:
        QUICK(given(messages(cls, version, limits(cls)))(check_of(cls, version)))()


KIO = [pair for pair in every_message_version() if kio.kio_entity(*pair) is not None]
KAFKA_PYTHON = [pair for pair in every_message_version() if kafka_python.kafka_python_class(*pair) is not None]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_kio_agrees(shard: int) -> None:
    def check_of(cls: type[Message], version: int) -> Check:
        entity = kio.kio_entity(cls, version)

        def check(message: Message) -> None:
            body = encode(message, version)
            theirs, written = kio.kio_round_trip(entity, body)
            assert kio.differences(message, theirs, version) == []
            assert written == body

        return check

    compare(KIO[shard::SHARDS], lambda _: kio.kio_limits, check_of)
    report("kio agrees", shard=shard, message_versions=len(KIO[shard::SHARDS]), examples_each=EXAMPLES)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_kafka_python_agrees(shard: int) -> None:
    def check_of(cls: type[Message], version: int) -> Check:
        their_class = kafka_python.kafka_python_class(cls, version)

        def check(message: Message) -> None:
            body = encode(message, version)
            theirs, written = kafka_python.kafka_python_round_trip(their_class, version, body)
            assert kafka_python.differences(message, theirs, version) == []
            assert written == body

        return check

    def limits(cls: type[Message]) -> Any:
        return kafka_python.no_error if cls.__name__ == "ApiVersionsResponse" else no_limits

    compare(KAFKA_PYTHON[shard::SHARDS], limits, check_of)
    report(
        "kafka-python agrees", shard=shard, message_versions=len(KAFKA_PYTHON[shard::SHARDS]), examples_each=EXAMPLES
    )


def test_most_of_the_protocol_is_compared() -> None:
    """So that an oracle which loses its classes, or a bridge which loses sight of them, is noticed."""
    report("codec oracles", kio=len(KIO), kafka_python=len(KAFKA_PYTHON), of=len(list(every_message_version())))
    assert len(KIO) >= 625
    assert len(KAFKA_PYTHON) >= 486
