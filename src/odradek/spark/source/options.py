"""Options of the data source: those of Spark's Kafka connector, and a few additional ones. Pure.

Names, values and defaults are those of the connector. Unknown options are rejected with the closest valid name, and so
are options that contradict each other. `kafka.…` are settings of the client.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.spark.durations import parse_duration_ms
from odradek.spark.option_reader import OptionReader, check_topics
from odradek.spark.source.offset_limits import (
    EARLIEST,
    LATEST,
    AllSince,
    At,
    Limit,
    Since,
    Special,
    check_order,
    parse_offsets,
    parse_partitions,
)

_TOPIC_OPTIONS = ("subscribe", "subscribePattern", "assign")

_COMMON = (
    *("failOnDataLoss", "minPartitions", "maxRecordsPerPartition", "includeHeaders", "groupIdPrefix"),
    *("startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp", "startingOffsetsByTimestampStrategy"),
    *("fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "kafkaConsumer.pollTimeoutMs"),
)
_ENDINGS = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
_TRIGGERS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
#: Not an option of the connector: the consumer group to which the offsets of a stream are committed.
_LAG_GROUP = "lagGroup"

_SOURCE_OPTIONS = (*_TOPIC_OPTIONS, *_COMMON, *_ENDINGS, *_TRIGGERS, _LAG_GROUP)

#: Settings of the client that the source sets itself, and what to do instead.
_FIXED_SETTINGS = {
    "kafka.auto.offset.reset": "use startingOffsets instead; Spark keeps the offsets of a stream itself",
    "kafka.key.deserializer": "keys are binary; cast or decode the column",
    "kafka.value.deserializer": "values are binary; cast or decode the column",
    "kafka.enable.auto.commit": "Spark keeps the offsets itself; lagGroup mirrors them into a consumer group",
    "kafka.interceptor.classes": "interceptors could change what is read",
}

#: Defaults of the connector.
_TRIGGER_DELAY_MAX_MS = 15 * 60 * 1000
_RETRIES = 3
_RETRY_INTERVAL_MS = 1_000
_POLL_TIMEOUT_MS = 120_000


@dataclass(frozen=True, slots=True)
class Subscribe:
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribePattern:
    pattern: str


@dataclass(frozen=True, slots=True)
class Assign:
    partitions: tuple[TopicPartition, ...]


TopicSelection = Subscribe | SubscribePattern | Assign


@dataclass(frozen=True, slots=True)
class SourceOptions:
    selection: TopicSelection
    starting: Limit
    ending: Limit
    #: Settings of the client, by Kafka's names.
    settings: Mapping[str, str]
    fail_on_data_loss: bool = True
    include_headers: bool = False
    partitions_min: int | None = None
    records_per_partition_max: int | None = None
    offsets_per_trigger_max: int | None = None
    offsets_per_trigger_min: int | None = None
    trigger_delay_max_ms: int = _TRIGGER_DELAY_MAX_MS
    #: Attempts to look up offsets.
    retries: int = _RETRIES
    retry_interval_ms: int = _RETRY_INTERVAL_MS
    #: A task fails when it has made no progress for this long.
    poll_timeout_ms: int = _POLL_TIMEOUT_MS
    lag_group: str | None = None


def batch_options(options: Mapping[str, str]) -> SourceOptions:
    """Parse the options of a batch read. Raise InputError."""
    reader = _reader(options)
    starting, ending = _limit(reader, "starting", EARLIEST), _limit(reader, "ending", LATEST)
    if starting == LATEST or (isinstance(starting, At) and Special.LATEST in starting.offsets.values()):
        raise InputError("startingOffsets of a batch read cannot be latest: there would be nothing to read")
    if ending == EARLIEST or (isinstance(ending, At) and Special.EARLIEST in ending.offsets.values()):
        raise InputError("endingOffsets of a batch read cannot be earliest: there would be nothing to read")
    check_order(starting, ending)
    return _source_options(reader, starting, ending)


def stream_options(options: Mapping[str, str]) -> SourceOptions:
    """Parse the options of a streaming read. Raise InputError."""
    reader = _reader(options)
    for name in _ENDINGS:
        if reader.get(name) is not None:
            raise InputError(f"{name} is for batch reads; a stream has no end (trigger availableNow stops at the end)")
    return _source_options(reader, _limit(reader, "starting", LATEST), LATEST)


def include_headers(options: Mapping[str, str]) -> bool:
    """Parse includeHeaders alone, for a read that may be a batch or a stream."""
    return _reader(options).flag("includeHeaders", False)


def _reader(options: Mapping[str, str]) -> OptionReader:
    return OptionReader(options, _SOURCE_OPTIONS, _FIXED_SETTINGS)


def _source_options(reader: OptionReader, starting: Limit, ending: Limit) -> SourceOptions:
    offsets_max = reader.optional_integer("maxOffsetsPerTrigger")
    offsets_min = reader.optional_integer("minOffsetsPerTrigger")
    if offsets_max is not None and offsets_min is not None and offsets_min > offsets_max:
        raise InputError(f"minOffsetsPerTrigger {offsets_min} is larger than maxOffsetsPerTrigger {offsets_max}")
    delay = reader.get("maxTriggerDelay")
    return SourceOptions(
        selection=_topic_selection(reader),
        starting=starting,
        ending=ending,
        settings=reader.client_settings(),
        fail_on_data_loss=reader.flag("failOnDataLoss", True),
        include_headers=reader.flag("includeHeaders", False),
        partitions_min=reader.optional_integer("minPartitions"),
        records_per_partition_max=reader.optional_integer("maxRecordsPerPartition"),
        offsets_per_trigger_max=offsets_max,
        offsets_per_trigger_min=offsets_min,
        trigger_delay_max_ms=_TRIGGER_DELAY_MAX_MS if delay is None else parse_duration_ms("maxTriggerDelay", delay),
        retries=reader.integer("fetchOffset.numRetries", _RETRIES),
        retry_interval_ms=reader.integer("fetchOffset.retryIntervalMs", _RETRY_INTERVAL_MS),
        poll_timeout_ms=reader.integer("kafkaConsumer.pollTimeoutMs", _POLL_TIMEOUT_MS),
        lag_group=reader.get(_LAG_GROUP),
    )


def _topic_selection(reader: OptionReader) -> TopicSelection:
    names = [name for name in _TOPIC_OPTIONS if reader.get(name) is not None]
    if len(names) != 1:
        problem = f"{' and '.join(names)} contradict each other" if names else "no topics are named"
        raise InputError(f"{problem}: set exactly one of {', '.join(_TOPIC_OPTIONS)}")
    name, text = names[0], reader.get(names[0]) or ""
    if name == "assign":
        partitions = parse_partitions(name, text)
        check_topics(name, (partition.topic for partition in partitions))
        return Assign(partitions)
    if not text.strip(", "):
        raise InputError(f"{name} is empty")
    if name == "subscribePattern":
        return SubscribePattern(_valid_pattern(text))
    topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
    check_topics(name, topics)
    return Subscribe(topics)


def _limit(reader: OptionReader, end: str, default: Limit) -> Limit:
    """Parse one end of a read; `end` is starting or ending.

    If several options are set, the first counts, as in the connector: a timestamp, timestamps, offsets."""
    falls_back = end == "ending" or _falls_back_to_latest(reader)
    if reader.get(f"{end}Timestamp") is not None:
        return AllSince(reader.integer(f"{end}Timestamp", 0), falls_back)
    timestamps = reader.get(f"{end}OffsetsByTimestamp")
    if timestamps is not None:
        return Since(parse_offsets(f"{end}OffsetsByTimestamp", timestamps, minimum=0), falls_back)
    offsets = reader.get(f"{end}Offsets")
    if offsets is None:
        return default
    if offsets.lower() in ("earliest", "latest"):
        return EARLIEST if offsets.lower() == "earliest" else LATEST
    if not offsets.startswith("{"):
        raise InputError(f"{end}Offsets: {offsets!r} is neither earliest, nor latest, nor a JSON object of offsets")
    return At(parse_offsets(f"{end}Offsets", offsets))


def _falls_back_to_latest(reader: OptionReader) -> bool:
    name = "startingOffsetsByTimestampStrategy"
    text = (reader.get(name) or "error").lower()
    if text not in ("error", "latest"):
        raise InputError(f"{name}: {text!r} is neither error nor latest")
    return text == "latest"


def _valid_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise InputError(f"subscribePattern: {text!r} is not a valid regular expression: {error}") from None
    return text
