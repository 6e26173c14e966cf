"""What a job says to the data source: the options of Spark's Kafka connector, and a few of our own. Pure.

Names are those of the connector, in any case; what it takes we take, with the same defaults. What it does not know is
refused, with the nearest name that is right, and so is what contradicts itself. `kafka.…` are settings of the client.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from odradek.client.settings.parsing import Kind, definitions
from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.common.topic_names import name_problem
from odradek.spark.durations import parse_duration_ms
from odradek.spark.source.offset_limits import (
    EARLIEST,
    LARGEST,
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
#: Ours: the consumer group that shows how far a stream has come.
_LAG_GROUP = "lagGroup"

_SOURCE_OPTIONS = (*_TOPIC_OPTIONS, *_COMMON, *_ENDINGS, *_TRIGGERS, _LAG_GROUP)

#: Said by Spark itself, to every source and sink.
_OF_SPARK = ("path", "checkpointLocation", "queryName", "mergeSchema", "truncate", "pipelines.autoRun")

_SETTING_PREFIX = "kafka."
_BOOTSTRAP = "kafka.bootstrap.servers"

#: Settings of the client that the source decides itself, and what to say instead.
_NOT_YOURS = {
    "kafka.auto.offset.reset": "say startingOffsets instead; Spark keeps the offsets of a stream itself",
    "kafka.key.deserializer": "keys are binary; cast or decode the column",
    "kafka.value.deserializer": "values are binary; cast or decode the column",
    "kafka.enable.auto.commit": "Spark keeps the offsets itself; lagGroup mirrors them into a consumer group",
    "kafka.interceptor.classes": "interceptors could change what is read",
}

#: The connector's own defaults.
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


Choice = Subscribe | SubscribePattern | Assign


@dataclass(frozen=True, slots=True)
class SourceOptions:
    choice: Choice
    starting: Limit
    ending: Limit
    #: Of the client, by Kafka's names.
    settings: Mapping[str, str]
    fail_on_data_loss: bool = True
    include_headers: bool = False
    partitions_min: int | None = None
    records_per_partition_max: int | None = None
    offsets_per_trigger_max: int | None = None
    offsets_per_trigger_min: int | None = None
    trigger_delay_max_ms: int = _TRIGGER_DELAY_MAX_MS
    #: Of looking up offsets.
    retries: int = _RETRIES
    retry_interval_ms: int = _RETRY_INTERVAL_MS
    #: Without progress for so long, a task gives up.
    poll_timeout_ms: int = _POLL_TIMEOUT_MS
    lag_group: str | None = None


def batch_options(given: Mapping[str, str]) -> SourceOptions:
    """Of a batch read. Raises InputError."""
    options = Options(given, _SOURCE_OPTIONS)
    starting, ending = options.limit("starting", EARLIEST), options.limit("ending", LATEST)
    if starting == LATEST or (isinstance(starting, At) and Special.LATEST in starting.offsets.values()):
        raise InputError("startingOffsets of a batch read cannot be latest: there would be nothing to read")
    if ending == EARLIEST or (isinstance(ending, At) and Special.EARLIEST in ending.offsets.values()):
        raise InputError("endingOffsets of a batch read cannot be earliest: there would be nothing to read")
    check_order(starting, ending)
    return _source_options(options, starting, ending)


def stream_options(given: Mapping[str, str]) -> SourceOptions:
    """Of a streaming read. Raises InputError."""
    options = Options(given, _SOURCE_OPTIONS)
    for name in _ENDINGS:
        if options.get(name) is not None:
            raise InputError(f"{name} is for batch reads; a stream has no end (trigger availableNow stops at the end)")
    return _source_options(options, options.limit("starting", LATEST), LATEST)


def include_headers(given: Mapping[str, str]) -> bool:
    """Of a read, before it is known whether it is a batch or a stream."""
    return Options(given, _SOURCE_OPTIONS).flag("includeHeaders", False)


def _source_options(options: "Options", starting: Limit, ending: Limit) -> SourceOptions:
    at_most, at_least = options.optional_number("maxOffsetsPerTrigger"), options.optional_number("minOffsetsPerTrigger")
    if at_most is not None and at_least is not None and at_least > at_most:
        raise InputError(f"minOffsetsPerTrigger is {at_least} and maxOffsetsPerTrigger {at_most}, which is less")
    delay = options.get("maxTriggerDelay")
    return SourceOptions(
        choice=options.choice(),
        starting=starting,
        ending=ending,
        settings=options.settings(),
        fail_on_data_loss=options.flag("failOnDataLoss", True),
        include_headers=options.flag("includeHeaders", False),
        partitions_min=options.optional_number("minPartitions"),
        records_per_partition_max=options.optional_number("maxRecordsPerPartition"),
        offsets_per_trigger_max=at_most,
        offsets_per_trigger_min=at_least,
        trigger_delay_max_ms=_TRIGGER_DELAY_MAX_MS if delay is None else parse_duration_ms("maxTriggerDelay", delay),
        retries=options.number("fetchOffset.numRetries", _RETRIES),
        retry_interval_ms=options.number("fetchOffset.retryIntervalMs", _RETRY_INTERVAL_MS),
        poll_timeout_ms=options.number("kafkaConsumer.pollTimeoutMs", _POLL_TIMEOUT_MS),
        lag_group=options.get(_LAG_GROUP),
    )


class Options:
    """Options by any spelling of their names."""

    def __init__(
        self, given: Mapping[str, str], known: tuple[str, ...], not_yours: Mapping[str, str] = _NOT_YOURS
    ) -> None:
        """Raises InputError for names that are neither known nor Spark's own; `not_yours` has settings that are
        refused, with what to say."""
        self._given = {name.lower(): value for name, value in given.items()}
        _check_names(given, known)
        for name, instead in not_yours.items():
            if name in self._given:
                raise InputError(f"{name} is not for you to set: {instead}")

    def get(self, name: str) -> str | None:
        value = self._given.get(name.lower())
        return None if value is None else value.strip()

    def optional_number(self, name: str) -> int | None:
        return None if self.get(name) is None else self.number(name, 1, least=1)

    def number(self, name: str, default: int, *, least: int = 0) -> int:
        text = self.get(name)
        if text is None:
            return default
        if not text.isdecimal() or not least <= int(text) <= LARGEST:
            raise InputError(f"{name}: {text!r} is no whole number of at least {least}")
        return int(text)

    def flag(self, name: str, default: bool) -> bool:
        text = self.get(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise InputError(f"{name}: {text!r} is neither true nor false")
        return text.lower() == "true"

    def settings(self) -> dict[str, str]:
        if not self.get(_BOOTSTRAP):
            raise InputError(f"{_BOOTSTRAP} is missing: host:port of one broker at least, such as localhost:9092")
        return {
            name[len(_SETTING_PREFIX) :]: value
            for name, value in self._given.items()
            if name.startswith(_SETTING_PREFIX)
        }

    def choice(self) -> Choice:
        said = [name for name in _TOPIC_OPTIONS if self.get(name) is not None]
        if len(said) != 1:
            what = f"{' and '.join(said)} contradict each other" if said else "no topics are named"
            raise InputError(f"{what}: one of {', '.join(_TOPIC_OPTIONS)} says what is read")
        name, text = said[0], self.get(said[0]) or ""
        if name == "assign":
            partitions = parse_partitions(name, text)
            check_topics(name, (each.topic for each in partitions))
            return Assign(partitions)
        if not text.strip(", "):
            raise InputError(f"{name} is empty")
        if name == "subscribePattern":
            return SubscribePattern(_proper_pattern(text))
        topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
        check_topics(name, topics)
        return Subscribe(topics)

    def limit(self, end: str, default: Limit) -> Limit:
        """`end` is starting or ending. Of several the first counts, as in the connector: a timestamp, timestamps,
        offsets."""
        falls_back = end == "ending" or self._falls_back()
        if self.get(f"{end}Timestamp") is not None:
            return AllSince(self.number(f"{end}Timestamp", 0), falls_back)
        timestamps = self.get(f"{end}OffsetsByTimestamp")
        if timestamps is not None:
            return Since(parse_offsets(f"{end}OffsetsByTimestamp", timestamps, least=0), falls_back)
        offsets = self.get(f"{end}Offsets")
        if offsets is None:
            return default
        if offsets.lower() in ("earliest", "latest"):
            return EARLIEST if offsets.lower() == "earliest" else LATEST
        if not offsets.startswith("{"):
            raise InputError(f"{end}Offsets: {offsets!r} is neither earliest, nor latest, nor a JSON object of offsets")
        return At(parse_offsets(f"{end}Offsets", offsets))

    def _falls_back(self) -> bool:
        name = "startingOffsetsByTimestampStrategy"
        text = (self.get(name) or "error").lower()
        if text not in ("error", "latest"):
            raise InputError(f"{name}: {text!r} is neither error nor latest")
        return text == "latest"


def check_topics(option: str, topics: Iterable[str]) -> None:
    """Raises InputError for names that no topic can have."""
    for topic in topics:
        problem = name_problem(topic)
        if problem is not None:
            raise InputError(f"{option}: no topic can have this name: {problem}")


def _proper_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise InputError(f"subscribePattern: {text!r} is no regular expression: {error}") from None
    return text


def _check_names(given: Mapping[str, str], known: tuple[str, ...]) -> None:
    right = {name.lower(): name for name in (*known, *_OF_SPARK)}
    for name in given:
        if name.lower() in right or name.lower().startswith(_SETTING_PREFIX):
            continue
        raise InputError(f"there is no option {name}; {_nearest(name, right, known)}")


def _nearest(name: str, right: Mapping[str, str], known: tuple[str, ...]) -> str:
    if any(name.lower() in definitions(kind) for kind in (Kind.CONSUMER, Kind.PRODUCER)):
        return f"did you mean {_SETTING_PREFIX}{name.lower()}?"
    near = get_close_matches(name.lower(), right, n=1, cutoff=0.6)
    if near:
        return f"did you mean {right[near[0]]}?"
    return f"there are {', '.join(sorted(known))}, and {_SETTING_PREFIX}… for the client"
