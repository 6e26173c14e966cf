"""Dead letters as records: what their headers tell, what is sent instead, and what is written back."""

from odradek.client.consumer.record import ConsumerRecord
from odradek.common.dead_letter_headers import (
    ATTEMPTS,
    EXCEPTION,
    GROUP,
    MESSAGE,
    OFFSET,
    PARTITION,
    REASON,
    REPLAY_ERROR,
    STEP,
    TIMESTAMP_MS,
    TOPIC,
)
from odradek.records.record import Header, TimestampType
from odradek.spark.pipeline.dead_letters.letter import Letter, Skip, parse_letter, written_back

OF_A_PIPELINE = {
    TOPIC: b"orders",
    PARTITION: b"2",
    OFFSET: b"7",
    TIMESTAMP_MS: b"1700000000000",
    STEP: b"decode",
    REASON: b"undecodable",
    MESSAGE: b"amount: not a number",
}


def letter(
    added: dict[str, bytes | None] = OF_A_PIPELINE, value: bytes | None = b"v", key: bytes | None = b"k"
) -> Letter:
    headers = (Header("source", b"web"), *(Header(name, data) for name, data in added.items()))
    record = ConsumerRecord("orders.dead", 1, 5, 42, TimestampType.CREATE_TIME, key, value, headers, 0)
    return parse_letter(record)


def test_a_letter_of_a_pipeline() -> None:
    found = letter()
    assert (found.topic, found.partition, found.offset, found.timestamp_ms) == ("orders.dead", 1, 5, 42)
    assert (found.source_topic, found.source_partition, found.source_offset) == ("orders", 2, 7)
    assert (found.reason, found.step, found.error) == ("undecodable", "decode", "amount: not a number")
    assert found.headers == (("source", b"web"),)


def test_a_letter_of_a_service() -> None:
    found = letter(OF_A_PIPELINE | {GROUP: b"billing", ATTEMPTS: b"3", EXCEPTION: b"builtins.ValueError"})
    assert (found.group, found.attempts, found.error) == (
        "billing",
        3,
        "builtins.ValueError: amount: not a number",
    )


def test_a_record_that_nobody_rejected() -> None:
    found = letter({PARTITION: b"many", OFFSET: None})
    assert (found.source_topic, found.source_partition, found.source_offset) == (None, None, None)
    assert (found.reason, found.error) == ("unknown", "")


def test_what_is_sent_instead() -> None:
    """To the partition that it came from, as long as key and topic are the same."""
    record = letter().record(value="new")
    assert (record.topic, record.value, record.key, record.partition) == ("orders", b"new", b"k", 2)
    assert (record.headers, record.timestamp_ms) == ((("source", b"web"),), None)
    assert letter().record(key="other").partition is None
    assert letter().record(topic="elsewhere").partition is None
    assert letter().record(topic="elsewhere", partition=4).partition == 4
    assert letter().record(value=None).value is None
    assert letter().skip() is Skip.SKIP


def test_what_is_written_back() -> None:
    """The same letter, at the end of its partition; of the errors of replays only the last one."""
    again = written_back(letter(OF_A_PIPELINE | {REPLAY_ERROR: b"before"}), "ValueError: now")
    assert (again.topic, again.partition, again.key, again.value, again.timestamp_ms) == (
        *("orders.dead", 1, b"k", b"v", 42),
    )
    assert dict(again.headers) == {"source": b"web", **OF_A_PIPELINE, REPLAY_ERROR: b"ValueError: now"}
    assert dict(written_back(letter(), None).headers) == {"source": b"web", **OF_A_PIPELINE}
    long = dict(written_back(letter(), "é" * 10_000).headers)[REPLAY_ERROR]
    assert long is not None and len(long) <= 4_096 and long.decode() == "é" * (len(long) // 2)
