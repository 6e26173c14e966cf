"""A record as an application gets it.

A named tuple, since nothing else is made as often: whole batches become lists of them in compiled code
(`odradek.client.consumer.rows`), and an application that wants neither keys nor headers pays nothing for them.
"""

from typing import Any, NamedTuple

from odradek.records.record import Header, TimestampType


class ConsumerRecord(NamedTuple):
    """`key` and `value` are bytes, or whatever the consumer's deserializers made of them."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int  # -1 where the oldest format has none
    timestamp_type: TimestampType
    key: Any
    value: Any
    headers: tuple[Header, ...]
    leader_epoch: int | None  # of the leader that took it; None in formats before Kafka 0.11
