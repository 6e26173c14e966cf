"""Definitions of dynamic configs, their validation, and the effective value of a topic config.

Values are strings in records and requests; a definition says which strings are valid. Messages are Kafka's, since
clients show them. A topic config that is not set for the topic falls back to the broker config of another name: that of
the node, then the default of all brokers, then that of the node's file, then the default.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from odradek.common.config_definition import ConfigDefinition, InvalidConfig, read_table
from odradek.common.failures import ApiError
from odradek.common.tables.topic_settings import TOPIC_SETTINGS
from odradek.metadata.configs import tables as config_table
from odradek.protocol.config_types import ConfigResourceType, ConfigSource

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
    """Return the definitions of a resource type by name; none for a type without configs."""
    if resource_type == ConfigResourceType.TOPIC:
        return TOPIC_SETTINGS
    tables = {
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
    """Return whether a config is secret. Unknown ones are: their values may be."""
    definition = definitions(resource_type).get(name)
    return definition is None or definition.is_sensitive


class _Synonym(NamedTuple):
    name: str
    factor: int = 1


_RETENTION, _FOR_EVER = "retention.ms", "-1"

#: Broker configs that a topic config falls back to, in the order of precedence.
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
    """Configured values, in the order of precedence. `static` has those of the node's file."""

    topic: Mapping[str, str]
    node: Mapping[str, str]
    cluster: Mapping[str, str]
    static: Mapping[str, str]


def topic_synonym(name: str) -> str | None:
    """Return the first broker config that a topic config falls back to; None if it has no fallback."""
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
                    text = _FOR_EVER  # for brokers anything below zero means that, also -1 hours
                return EffectiveConfig(text, source)
    return EffectiveConfig(definitions(ConfigResourceType.TOPIC)[name].default, ConfigSource.DEFAULT_CONFIG)


def validate_topic(values: Mapping[str, str]) -> None:
    topic_definitions = definitions(ConfigResourceType.TOPIC)
    for name in values:
        if name not in topic_definitions:
            raise InvalidConfig(f"Unknown topic config name: {name}")
    for name, value in values.items():
        topic_definitions[name].check(value)
    low = int(values.get("min.compaction.lag.ms") or topic_definitions["min.compaction.lag.ms"].default or 0)
    high = int(values.get("max.compaction.lag.ms") or topic_definitions["max.compaction.lag.ms"].default or 0)
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
    metrics_definitions = definitions(ConfigResourceType.CLIENT_METRICS)
    for name in values:
        if name not in metrics_definitions:
            raise InvalidRequest(f"Unknown client metrics configuration: {name}")
    interval = values.get("interval.ms")
    if interval is not None:
        try:
            metrics_definitions["interval.ms"].check(interval)
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
