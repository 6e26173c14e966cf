"""What settings there are, what they may hold, and which value holds where several places set one.

Values are text in records and requests; a definition says what the text must look like. Messages are Kafka's, since
clients show them. A topic's setting that nobody set for the topic is the broker's setting of another name: the node's
own first, then the one for all nodes, then the file's, then the default.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from odradek.common.config_definition import ConfigDefinition, InvalidConfig, read_table
from odradek.common.failures import ApiError
from odradek.metadata.configs import tables as config_table
from odradek.protocol.config_kinds import ConfigResourceType, ConfigSource

_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000

_CLIENT_METRICS_MATCHES = (
    *("client_id", "client_instance_id", "client_software_name", "client_software_version"),
    *("client_source_address", "client_source_port"),
)


class InvalidRequest(ApiError):
    code = 42


@cache
def definitions(resource_type: int) -> Mapping[str, ConfigDefinition]:
    """All settings of a kind of resource; none for a kind without any."""
    tables = {
        ConfigResourceType.TOPIC: config_table.TOPIC,
        ConfigResourceType.BROKER: config_table.BROKER,
        ConfigResourceType.GROUP: config_table.GROUP,
        ConfigResourceType.CLIENT_METRICS: config_table.CLIENT_METRICS,
    }
    table = tables.get(ConfigResourceType(resource_type)) if resource_type in tuple(ConfigResourceType) else None
    return {} if table is None else read_table(table)


def is_list(resource_type: int, name: str) -> bool:
    definition = definitions(resource_type).get(name)
    return definition is not None and definition.is_list


def is_sensitive(resource_type: int, name: str) -> bool:
    """Unknown settings count as secret: nobody knows what they hold."""
    definition = definitions(resource_type).get(name)
    return definition is None or definition.is_sensitive


class _Synonym(NamedTuple):
    name: str
    factor: int = 1


_RETENTION, _FOR_EVER = "retention.ms", "-1"

#: Settings of a broker that a topic's setting falls back to, first one first; all others have the same name in front
#: of which `log.` or `log.cleaner.` may stand.
_SYNONYMS: Mapping[str, tuple[_Synonym, ...]] = {
    "segment.ms": (_Synonym("log.roll.ms"), _Synonym("log.roll.hours", _HOUR_MS)),
    "segment.jitter.ms": (_Synonym("log.roll.jitter.ms"), _Synonym("log.roll.jitter.hours", _HOUR_MS)),
    "segment.index.bytes": (_Synonym("log.index.size.max.bytes"),),
    "flush.messages": (_Synonym("log.flush.interval.messages"),),
    "flush.ms": (_Synonym("log.flush.interval.ms"), _Synonym("log.flush.scheduler.interval.ms")),
    _RETENTION: (
        _Synonym("log.retention.ms"),
        _Synonym("log.retention.minutes", _MINUTE_MS),
        _Synonym("log.retention.hours", _HOUR_MS),
    ),
    "max.message.bytes": (_Synonym("message.max.bytes"),),
    "delete.retention.ms": (_Synonym("log.cleaner.delete.retention.ms"),),
    "min.compaction.lag.ms": (_Synonym("log.cleaner.min.compaction.lag.ms"),),
    "max.compaction.lag.ms": (_Synonym("log.cleaner.max.compaction.lag.ms"),),
    "file.delete.delay.ms": (_Synonym("log.segment.delete.delay.ms"),),
    "min.cleanable.dirty.ratio": (_Synonym("log.cleaner.min.cleanable.ratio"),),
    "unclean.leader.election.enable": (_Synonym("unclean.leader.election.enable"),),
    "min.insync.replicas": (_Synonym("min.insync.replicas"),),
    "compression.type": (_Synonym("compression.type"),),
    "compression.gzip.level": (_Synonym("compression.gzip.level"),),
    "compression.lz4.level": (_Synonym("compression.lz4.level"),),
    "compression.zstd.level": (_Synonym("compression.zstd.level"),),
    **{
        name: (_Synonym(f"log.{name}"),)
        for name in (
            *("segment.bytes", "retention.bytes", "index.interval.bytes", "cleanup.policy", "preallocate"),
            *("message.timestamp.type", "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"),
            *("local.retention.ms", "local.retention.bytes"),
        )
    },
}


class EffectiveConfig(NamedTuple):
    value: str | None
    source: int


@dataclass(frozen=True, slots=True)
class ConfigLayers:
    """What is set, from the nearest to the farthest. `static` is the node's file."""

    topic: Mapping[str, str]
    node: Mapping[str, str]
    cluster: Mapping[str, str]
    static: Mapping[str, str]


def topic_synonym(name: str) -> str | None:
    """The broker's setting that a topic's falls back to first; None where there is none."""
    synonyms = _SYNONYMS.get(name)
    return None if synonyms is None else synonyms[0].name


def effective_topic_config(name: str, layers: ConfigLayers) -> EffectiveConfig:
    if name in layers.topic:
        return EffectiveConfig(layers.topic[name], ConfigSource.DYNAMIC_TOPIC_CONFIG)
    synonyms = _SYNONYMS.get(name, ())
    for layer, source in (
        (layers.node, ConfigSource.DYNAMIC_BROKER_CONFIG),
        (layers.cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (layers.static, ConfigSource.STATIC_BROKER_CONFIG),
    ):
        for synonym in synonyms:
            if synonym.name in layer:
                text = layer[synonym.name]
                if synonym.factor != 1:
                    text = str(int(text) * synonym.factor)
                if name == _RETENTION and int(text) < 0:
                    text = _FOR_EVER  # for brokers anything below zero says so, also -1 hours
                return EffectiveConfig(text, source)
    return EffectiveConfig(definitions(ConfigResourceType.TOPIC)[name].default, ConfigSource.DEFAULT_CONFIG)


def validate_topic(values: Mapping[str, str]) -> None:
    known = definitions(ConfigResourceType.TOPIC)
    for name in values:
        if name not in known:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    for name, value in values.items():
        known[name].check(value)
    low = int(values.get("min.compaction.lag.ms") or known["min.compaction.lag.ms"].default or 0)
    high = int(values.get("max.compaction.lag.ms") or known["max.compaction.lag.ms"].default or 0)
    if low > high:
        raise InvalidConfig(
            f"conflict topic config setting min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        )
    if values.get("remote.storage.enable", "false").strip().lower() == "true":
        raise InvalidConfig(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


def validate_client_metrics(subscription: str, values: Mapping[str, str]) -> None:
    if not subscription:
        raise InvalidRequest("Subscription name can't be empty")
    known = definitions(ConfigResourceType.CLIENT_METRICS)
    for name in values:
        if name not in known:
            raise InvalidRequest(f"Unknown client metrics configuration: {name}")
    interval = values.get("interval.ms")
    if interval is not None:
        try:
            known["interval.ms"].check(interval)
        except InvalidConfig:
            raise InvalidRequest(
                f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
            ) from None
    for pattern in filter(None, values.get("match", "").split(",")):
        name, equals, expression = pattern.partition("=")
        if not equals or name.strip() not in _CLIENT_METRICS_MATCHES or not _is_expression(expression.strip()):
            raise InvalidConfig(f"Illegal client matching pattern: {pattern}")


def _is_expression(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True
