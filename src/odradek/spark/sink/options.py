"""Options of the sink: those of Spark's Kafka connector, and two additional ones. Pure.

`delivery` sets the delivery guarantee, `sinkId` the name by which an exactly-once sink is identified across restarts.
`kafka.…` are settings of the producer; settings that the sink determines itself are rejected.
"""

import hashlib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from odradek.client.settings.settings import ProducerConfig, producer_settings
from odradek.common.failures import InputError
from odradek.spark.option_reader import OptionReader, check_topics

_SINK_OPTIONS = ("topic", "delivery", "sinkId")

_FIXED_SETTINGS = {
    "kafka.key.serializer": "keys are strings or binary; cast or encode the column",
    "kafka.value.serializer": "values are strings or binary; cast or encode the column",
    "kafka.transactional.id": "use delivery=exactly-once and sinkId",
    "kafka.partitioner.class": "a column partition selects the partition of a row",
    "kafka.interceptor.classes": "interceptors could change what is written",
}

#: Time-out of a transaction, from the first record of a task to the commit of its batch: the largest that brokers allow
#: by default.
_TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000

#: Transactional ids, which begin with the sink id, are written to a log for each transaction.
_SINK_ID_LENGTH_MAX = 200

_DERIVED_ID_LENGTH = 16

#: Size of a batch before compression, unless kafka.batch.size is set. The sink has all its rows at hand and need not
#: wait for more, so that Kafka's default of 16 KiB would only create many batches; brokers accept twice as much.
_BATCH_BYTES = 512 * 1024


class Delivery(Enum):
    """Delivery guarantee of a sink."""

    #: A retry may write a record twice.
    AT_LEAST_ONCE = "at-least-once"
    #: Retries of requests write no duplicates; repeated tasks and batches do.
    IDEMPOTENT = "idempotent"
    EXACTLY_ONCE = "exactly-once"


@dataclass(frozen=True, slots=True)
class SinkOptions:
    #: Takes precedence over the column.
    topic: str | None
    delivery: Delivery
    #: Set for exactly-once sinks only.
    sink_id: str | None
    producer: ProducerConfig
    batch_bytes: int


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Parse the options of a sink. Raise InputError."""
    reader = OptionReader(options, _SINK_OPTIONS, _FIXED_SETTINGS)
    delivery, topic = _delivery(reader), reader.get("topic")
    if topic is not None:
        check_topics("topic", (topic,))
    sink_id = _sink_id(reader, topic)
    if delivery is Delivery.EXACTLY_ONCE and sink_id is None:
        raise InputError(
            "delivery=exactly-once requires a sinkId: the name that identifies this sink when it is started again"
        )
    exactly_once_id = sink_id if delivery is Delivery.EXACTLY_ONCE else None
    producer = _producer(reader.client_settings(), delivery)
    batch_bytes = _BATCH_BYTES if reader.get("kafka.batch.size") is None else producer.batch_size
    return SinkOptions(topic, delivery, exactly_once_id, producer, min(batch_bytes, producer.max_request_size))


def _delivery(reader: OptionReader) -> Delivery:
    text = reader.get("delivery")
    if text is None:
        return Delivery.IDEMPOTENT
    try:
        return Delivery(text.lower())
    except ValueError:
        valid = ", ".join(delivery.value for delivery in Delivery)
        raise InputError(f"delivery: {text!r} is not one of {valid}") from None


def _sink_id(reader: OptionReader, topic: str | None) -> str | None:
    sink_id, checkpoint = reader.get("sinkId"), reader.get("checkpointLocation")
    if sink_id is not None:
        if not 0 < len(sink_id) <= _SINK_ID_LENGTH_MAX:
            raise InputError(f"sinkId has {len(sink_id)} characters; expected 1 to {_SINK_ID_LENGTH_MAX}")
        return sink_id
    if checkpoint is None:
        return None
    # The same for all spellings of the path: with another id the sink would not recognize its last batch when it is
    # replayed.
    path = posixpath.normpath(re.sub(r"^file:/+", "/", checkpoint))
    digest = hashlib.sha256(f"{path}\0{topic or ''}".encode()).hexdigest()
    return f"spark-{digest[:_DERIVED_ID_LENGTH]}"


def _producer(settings: Mapping[str, str], delivery: Delivery) -> ProducerConfig:
    values = {name.lower(): value.strip().lower() for name, value in settings.items()}
    if delivery is Delivery.AT_LEAST_ONCE:
        if values.get("acks") == "0":
            raise InputError("kafka.acks=0 loses records; delivery=at-least-once requires 1 or all")
        return producer_settings({"enable.idempotence": "false", **settings})
    if values.get("acks", "all") not in ("all", "-1"):
        raise InputError(f"kafka.acks={values['acks']} contradicts delivery={delivery.value}, which requires all")
    if values.get("enable.idempotence", "true") != "true":
        raise InputError(
            f"kafka.enable.idempotence=false contradicts delivery={delivery.value}; use delivery=at-least-once"
        )
    return producer_settings({"transaction.timeout.ms": str(_TRANSACTION_TIMEOUT_MS), **settings})
