"""Settings of producers, consumers and admin clients, by Kafka's names.

A setting comes in a mapping with Kafka's names (`{"linger.ms": 5}`) or as a keyword (`linger_ms=5`); one that comes
twice is refused. Values may be text, as in a properties file, or Python's own (`True`, `5`, `["a:9092"]`). Names that
do not exist and values that cannot be are refused with what would be right (InputError).

A properties file that Java programs read as well may hold settings that are not supported here. `support`
says which of them are rejected, since a program would rely on them (TLS, SASL, interceptors), and which have no effect
and are logged once (metrics reporters). A setting of the table in `table` that is a field below has
an effect.

The data classes hold parsed values; units are in the names, as in Kafka's. Pure.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from odradek.client.serializers import Deserializer, Serializer
from odradek.client.settings.parsing import ClientProperties, Kind, definitions, read
from odradek.client.settings.rules import admin_values, consumer_values, producer_values
from odradek.client.settings.types import IsolationLevel, OffsetReset, ResetStrategy
from odradek.common.addresses import HostPort

__all__ = [
    "AdminConfig",
    "CommonConfig",
    "ConsumerConfig",
    "Deserializer",
    "IsolationLevel",
    "OffsetReset",
    "Partitioner",
    "ProducerConfig",
    "ResetStrategy",
    "Serializer",
    "admin_settings",
    "consumer_settings",
    "producer_settings",
]

#: topic, key, value, number of partitions -> partition. Key and value are serialized; None is none.
Partitioner = Callable[[str, bytes | None, bytes | None, int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonConfig:
    """Settings that all clients have."""

    bootstrap_servers: tuple[HostPort, ...]
    client_id: str
    connections_max_idle_ms: int
    metadata_max_age_ms: int
    #: "rebootstrap" or "none"
    metadata_recovery_strategy: str
    metadata_recovery_rebootstrap_trigger_ms: int
    #: -1 leaves it to the system, also where nobody says anything.
    receive_buffer_bytes: int
    send_buffer_bytes: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    #: Only PLAINTEXT is spoken.
    security_protocol: str

    # Settings of some; the others have what Kafka's clients have built in.

    #: default.api.timeout.ms; of a producer max.block.ms.
    default_api_timeout_ms: int
    #: metadata.max.idle.ms of producers; None elsewhere.
    metadata_max_idle_ms: int | None
    max_in_flight_requests_per_connection: int
    #: Whether asking for a topic may make it.
    allow_auto_create_topics: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(CommonConfig):
    #: -1 is all.
    acks: int
    batch_size: int
    buffer_memory: int
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    delivery_timeout_ms: int
    enable_idempotence: bool
    linger_ms: int
    max_block_ms: int
    max_request_size: int
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    partitioner_ignore_keys: bool
    retries: int
    transaction_timeout_ms: int
    transactional_id: str | None
    key_serializer: Serializer
    value_serializer: Serializer
    #: None is Kafka's own way: by the key's hash, or sticky. "roundrobin" is RoundRobinPartitioner.
    partitioner: Partitioner | str | None

    @classmethod
    def of(cls, config: Mapping[str, object] | None = None, **keywords: object) -> Self:
        reading = read(Kind.PRODUCER, config, keywords)
        return cls(**(_plain_values(cls, reading) | producer_values(reading)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(CommonConfig):
    auto_commit_interval_ms: int
    auto_offset_reset: OffsetReset
    check_crcs: bool
    client_rack: str
    enable_auto_commit: bool
    exclude_internal_topics: bool
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    fetch_min_bytes: int
    group_id: str | None
    group_instance_id: str | None
    #: "classic" or "consumer"
    group_protocol: str
    group_remote_assignor: str | None
    heartbeat_interval_ms: int
    isolation_level: IsolationLevel
    max_partition_fetch_bytes: int
    #: The same for chunks that are read as columns.
    columns_fetch_bytes: int
    max_poll_interval_ms: int
    max_poll_records: int
    #: Names as members tell each other (range, roundrobin, sticky, cooperative-sticky), or assignors of one's own.
    partition_assignment_strategy: tuple[Any, ...]
    session_timeout_ms: int
    key_deserializer: Deserializer
    value_deserializer: Deserializer

    @classmethod
    def of(cls, config: Mapping[str, object] | None = None, **keywords: object) -> Self:
        reading = read(Kind.CONSUMER, config, keywords)
        return cls(**(_plain_values(cls, reading) | consumer_values(reading)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConfig(CommonConfig):
    #: Instead of bootstrap_servers: the addresses are those of controllers.
    bootstrap_controllers: tuple[HostPort, ...]
    retries: int

    @classmethod
    def of(cls, config: Mapping[str, object] | None = None, **keywords: object) -> Self:
        reading = read(Kind.ADMIN, config, keywords)
        return cls(**(_plain_values(cls, reading) | admin_values(reading)))


def _plain_values(cls: type[CommonConfig], reading: ClientProperties) -> dict[str, Any]:
    """Return the values of all fields that are settings of this client type, by the types of the table."""
    names = {definition.name.replace("_", "."): definition.name for definition in fields(cls)}
    return {names[name]: reading.plain(name) for name in definitions(reading.kind) if name in names}


def producer_settings(config: Mapping[str, object] | None = None, **keywords: object) -> ProducerConfig:
    """Raises InputError."""
    return ProducerConfig.of(config, **keywords)


def consumer_settings(config: Mapping[str, object] | None = None, **keywords: object) -> ConsumerConfig:
    """Raises InputError."""
    return ConsumerConfig.of(config, **keywords)


def admin_settings(config: Mapping[str, object] | None = None, **keywords: object) -> AdminConfig:
    """Raises InputError."""
    return AdminConfig.of(config, **keywords)
