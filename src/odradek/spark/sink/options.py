"""What a job says to the sink: the options of Spark's Kafka connector, and two of our own. Pure.

`delivery` says what a crash may do to the records, `sinkId` under which name an exactly-once sink is known across
restarts. `kafka.…` are settings of the producer; those that the sink decides itself are refused.
"""

import hashlib
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from odradek.client.settings.settings import ProducerConfig, producer_settings
from odradek.common.failures import InputError
from odradek.spark.source.options import Options, check_topics

_SINK_OPTIONS = ("topic", "delivery", "sinkId")

_NOT_YOURS = {
    "kafka.key.serializer": "keys are strings or binary; cast or encode the column",
    "kafka.value.serializer": "values are strings or binary; cast or encode the column",
    "kafka.transactional.id": "say delivery=exactly-once, and sinkId",
    "kafka.partitioner.class": "a column partition says where a row goes",
    "kafka.interceptor.classes": "interceptors could change what is written",
}

#: Of a transaction, from the first record of a task to the commit of its batch: what brokers allow by default.
_TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000

#: Transactional ids, which begin with it, are written to a log for each transaction.
_SINK_ID_LENGTH_MAX = 200

_DERIVED_ID_LENGTH = 16

#: Of a batch before compression, unless kafka.batch.size says it: the sink has all its rows at hand and need not wait
#: for more, so that Kafka's own 16 KiB would only make many batches; brokers take twice as much by default.
_BATCH_BYTES = 512 * 1024


class Delivery(Enum):
    #: A retry may write a record twice.
    AT_LEAST_ONCE = "at-least-once"
    #: Retries of requests write nothing twice; repeated tasks and batches do.
    IDEMPOTENT = "idempotent"
    EXACTLY_ONCE = "exactly-once"


@dataclass(frozen=True, slots=True)
class SinkOptions:
    #: Goes before the column.
    topic: str | None
    delivery: Delivery
    #: Of exactly-once sinks.
    sink_id: str | None
    producer: ProducerConfig
    batch_bytes: int


def sink_options(given: Mapping[str, str]) -> SinkOptions:
    """Raises InputError."""
    options = Options(given, _SINK_OPTIONS, _NOT_YOURS)
    delivery, topic = _delivery(options), options.get("topic")
    if topic is not None:
        check_topics("topic", (topic,))
    sink_id = _sink_id(options, topic)
    if delivery is Delivery.EXACTLY_ONCE and sink_id is None:
        raise InputError(
            "delivery=exactly-once needs a sinkId: the name under which this sink is known when it is started again"
        )
    exactly_once_id = sink_id if delivery is Delivery.EXACTLY_ONCE else None
    producer = _producer(options.settings(), delivery)
    batch_bytes = _BATCH_BYTES if options.get("kafka.batch.size") is None else producer.batch_size
    return SinkOptions(topic, delivery, exactly_once_id, producer, min(batch_bytes, producer.max_request_size))


def _delivery(options: Options) -> Delivery:
    text = options.get("delivery")
    if text is None:
        return Delivery.IDEMPOTENT
    try:
        return Delivery(text.lower())
    except ValueError:
        right = ", ".join(each.value for each in Delivery)
        raise InputError(f"delivery: {text!r} is none of {right}") from None


def _sink_id(options: Options, topic: str | None) -> str | None:
    given, checkpoint = options.get("sinkId"), options.get("checkpointLocation")
    if given is not None:
        if not 0 < len(given) <= _SINK_ID_LENGTH_MAX:
            raise InputError(f"sinkId has {len(given)} characters; right would be 1 to {_SINK_ID_LENGTH_MAX}")
        return given
    if checkpoint is None:
        return None
    # However it is spelt: a sink under another name would not know its last batch when that is replayed.
    path = posixpath.normpath(re.sub(r"^file:/+", "/", checkpoint))
    place = hashlib.sha256(f"{path}\0{topic or ''}".encode()).hexdigest()
    return f"spark-{place[:_DERIVED_ID_LENGTH]}"


def _producer(settings: Mapping[str, str], delivery: Delivery) -> ProducerConfig:
    said = {name.lower(): value.strip().lower() for name, value in settings.items()}
    if delivery is Delivery.AT_LEAST_ONCE:
        if said.get("acks") == "0":
            raise InputError("kafka.acks=0 loses records; with delivery=at-least-once right would be 1 or all")
        return producer_settings({"enable.idempotence": "false", **settings})
    if said.get("acks", "all") not in ("all", "-1"):
        raise InputError(f"kafka.acks={said['acks']} contradicts delivery={delivery.value}, which needs all")
    if said.get("enable.idempotence", "true") != "true":
        raise InputError("kafka.enable.idempotence=false is said by delivery=at-least-once")
    return producer_settings({"transaction.timeout.ms": str(_TRANSACTION_TIMEOUT_MS), **settings})
