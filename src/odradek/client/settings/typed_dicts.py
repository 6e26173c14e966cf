"""Types of the keyword arguments of the clients. Made by tools/make_typed_settings.py.

Names are Kafka's with underscores. Settings that are rejected (TLS, SASL) are left out. `Key` and `Value` are the types
of keys and values: a producer's serializers take them, a consumer's deserializers return them.
"""

from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypedDict

from odradek.client.types import Key, Value
from odradek.common.addresses import HostPort

_Partitioner = Callable[[str, bytes | None, bytes | None, int], int]


class ProducerSettings(TypedDict, Generic[Key, Value], total=False):
    acks: Literal["all", "-1", "0", "1", -1, 0, 1]
    batch_size: int
    bootstrap_servers: str | Sequence[str | HostPort]
    buffer_memory: int
    client_dns_lookup: Literal["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]
    client_id: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"]
    compression_zstd_level: int
    connections_max_idle_ms: int
    delivery_timeout_ms: int
    enable_idempotence: bool
    enable_metrics_push: bool
    key_serializer: Callable[[Key], bytes] | str
    linger_ms: int
    max_block_ms: int
    max_in_flight_requests_per_connection: int
    max_request_size: int
    metadata_max_age_ms: int
    metadata_max_idle_ms: int
    metadata_recovery_rebootstrap_trigger_ms: int
    metadata_recovery_strategy: Literal["rebootstrap", "none", "REBOOTSTRAP", "NONE"]
    metric_reporters: str | Sequence[str]
    metrics_num_samples: int
    metrics_recording_level: Literal["INFO", "DEBUG", "TRACE"]
    metrics_sample_window_ms: int
    partitioner: _Partitioner | str | None
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    partitioner_class: _Partitioner | str | None
    partitioner_ignore_keys: bool
    receive_buffer_bytes: int
    reconnect_backoff_max_ms: int
    reconnect_backoff_ms: int
    request_timeout_ms: int
    retries: int
    retry_backoff_max_ms: int
    retry_backoff_ms: int
    security_protocol: Literal["PLAINTEXT", "plaintext"]
    send_buffer_bytes: int
    socket_connection_setup_timeout_max_ms: int
    socket_connection_setup_timeout_ms: int
    transaction_timeout_ms: int
    transactional_id: str | None
    value_serializer: Callable[[Value], bytes] | str


class ConsumerSettings(TypedDict, Generic[Key, Value], total=False):
    allow_auto_create_topics: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    bootstrap_servers: str | Sequence[str | HostPort]
    check_crcs: bool
    client_dns_lookup: Literal["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]
    client_id: str
    client_rack: str
    connections_max_idle_ms: int
    default_api_timeout_ms: int
    enable_auto_commit: bool
    enable_metrics_push: bool
    exclude_internal_topics: bool
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    fetch_min_bytes: int
    group_id: str | None
    group_instance_id: str | None
    group_protocol: Literal["consumer", "classic", "CONSUMER", "CLASSIC"]
    group_remote_assignor: str | None
    heartbeat_interval_ms: int
    isolation_level: Literal["read_committed", "read_uncommitted"]
    key_deserializer: Callable[[bytes], Key] | str
    max_partition_fetch_bytes: int
    max_poll_interval_ms: int
    max_poll_records: int
    metadata_max_age_ms: int
    metadata_recovery_rebootstrap_trigger_ms: int
    metadata_recovery_strategy: Literal["rebootstrap", "none", "REBOOTSTRAP", "NONE"]
    metric_reporters: str | Sequence[str]
    metrics_num_samples: int
    metrics_recording_level: Literal["INFO", "DEBUG", "TRACE"]
    metrics_sample_window_ms: int
    partition_assignment_strategy: str | Sequence[object]
    receive_buffer_bytes: int
    reconnect_backoff_max_ms: int
    reconnect_backoff_ms: int
    request_timeout_ms: int
    retry_backoff_max_ms: int
    retry_backoff_ms: int
    security_protocol: Literal["PLAINTEXT", "plaintext"]
    send_buffer_bytes: int
    session_timeout_ms: int
    share_acknowledgement_mode: Literal["implicit", "explicit"]
    share_acquire_mode: Literal["batch_optimized", "record_limit"]
    socket_connection_setup_timeout_max_ms: int
    socket_connection_setup_timeout_ms: int
    value_deserializer: Callable[[bytes], Value] | str


class AdminSettings(TypedDict, total=False):
    bootstrap_controllers: str | Sequence[str | HostPort]
    bootstrap_servers: str | Sequence[str | HostPort]
    client_dns_lookup: Literal["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]
    client_id: str
    connections_max_idle_ms: int
    default_api_timeout_ms: int
    enable_metrics_push: bool
    metadata_max_age_ms: int
    metadata_recovery_rebootstrap_trigger_ms: int
    metadata_recovery_strategy: Literal["rebootstrap", "none", "REBOOTSTRAP", "NONE"]
    metric_reporters: str | Sequence[str]
    metrics_num_samples: int
    metrics_recording_level: Literal["INFO", "DEBUG", "TRACE"]
    metrics_sample_window_ms: int
    receive_buffer_bytes: int
    reconnect_backoff_max_ms: int
    reconnect_backoff_ms: int
    request_timeout_ms: int
    retries: int
    retry_backoff_max_ms: int
    retry_backoff_ms: int
    security_protocol: Literal["PLAINTEXT", "plaintext"]
    send_buffer_bytes: int
    socket_connection_setup_timeout_max_ms: int
    socket_connection_setup_timeout_ms: int
