"""Produce refuses what is not one whole batch, in every version, and never says that it took what it did not write."""

import pytest

from odradek.api.dispatch.context import Services
from odradek.protocol.api_keys import ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from support.builders.api import ask, session
from support.builders.logs import batch
from support.builders.replica import TOPIC, Cluster

GOOD = batch("a", "b")


def with_length(length: int) -> bytes:
    return GOOD[:8] + length.to_bytes(4, "big", signed=True) + GOOD[12:]


FLAWS = [
    (b"", ErrorCode.INVALID_RECORD),
    (GOOD[:11], ErrorCode.INVALID_RECORD),
    (GOOD[:12], ErrorCode.INVALID_RECORD),
    (GOOD[:-1], ErrorCode.INVALID_RECORD),
    (GOOD + GOOD, ErrorCode.INVALID_RECORD),
    (with_length(len(GOOD)), ErrorCode.INVALID_RECORD),
    (with_length(13), ErrorCode.CORRUPT_MESSAGE),
    (with_length(-1), ErrorCode.CORRUPT_MESSAGE),
    (GOOD[:16] + b"\1" + GOOD[17:], ErrorCode.INVALID_RECORD),
    (GOOD[:16] + b"\3" + GOOD[17:], ErrorCode.CORRUPT_MESSAGE),
]


@pytest.mark.parametrize(("records", "code"), FLAWS)
@pytest.mark.parametrize("version", [3, 8, 12])
def test_what_is_no_whole_batch_is_refused(records: bytes, code: ErrorCode, version: int) -> None:
    cluster = Cluster()
    cluster.create_topic()
    broker = cluster.brokers[0]
    asking = session(Services(replicas=broker.replicas, image=lambda: cluster.image), ListenerRole.BROKER)

    def produced(topic: str) -> int:
        data = [PartitionProduceData(index=0, records=records)]
        request = ProduceRequest(
            acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=data)]
        )
        code: int = ask(asking, request, version).responses[0].partition_responses[0].error_code
        return code

    assert produced(TOPIC) == code
    assert broker.log.offsets.log_end_offset == 0
    assert produced("missing") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
