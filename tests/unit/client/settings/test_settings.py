"""What clients are told: by Kafka's names, in a mapping or as keywords, and what is refused with which words."""

import ast
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from odradek.client.serializers import as_bytes, from_bytes
from odradek.client.settings import parsing
from odradek.client.settings import settings as settings_module
from odradek.client.settings.parsing import Kind, definitions
from odradek.client.settings.settings import (
    AdminConfig,
    ConsumerConfig,
    IsolationLevel,
    OffsetReset,
    ProducerConfig,
    ResetStrategy,
    admin_settings,
    consumer_settings,
    producer_settings,
)
from odradek.client.settings.support import client_support
from odradek.common.addresses import HostPort
from odradek.common.config_support import Level
from odradek.common.failures import InputError

AT = {"bootstrap_servers": "a:9092"}

Make = Callable[..., Any]


def test_names_of_both_kinds_and_values_of_both_kinds() -> None:
    dotted = producer_settings({"bootstrap.servers": "a:9092,b:9093", "linger.ms": "7", "enable.idempotence": "true"})
    plain = producer_settings(bootstrap_servers=["a:9092", HostPort("b", 9093)], linger_ms=7, enable_idempotence=True)
    mixed = producer_settings({"bootstrap.servers": ("a:9092", "b:9093")}, linger_ms="7")
    assert dotted == plain == mixed
    assert plain.bootstrap_servers == (HostPort("a", 9092), HostPort("b", 9093)) and plain.linger_ms == 7


def test_defaults_are_kafkas() -> None:
    producer = producer_settings(**AT)
    assert (producer.acks, producer.batch_size, producer.linger_ms, producer.delivery_timeout_ms) == (
        *(-1, 16_384, 5, 120_000),
    )
    assert producer.enable_idempotence and producer.max_in_flight_requests_per_connection == 5
    assert producer.key_serializer is as_bytes and producer.partitioner is None and producer.transactional_id is None
    consumer = consumer_settings(**AT)
    assert consumer.auto_offset_reset == OffsetReset(ResetStrategy.LATEST)
    assert consumer.isolation_level is IsolationLevel.READ_UNCOMMITTED
    assert (consumer.group_protocol, consumer.partition_assignment_strategy) == (
        *("classic", ("range", "cooperative-sticky")),
    )
    assert consumer.value_deserializer is from_bytes
    admin = admin_settings(**AT)
    assert (admin.default_api_timeout_ms, admin.connections_max_idle_ms) == (60_000, 300_000)


def test_none_is_not_given() -> None:
    assert producer_settings(**AT, linger_ms=None, transactional_id=None) == producer_settings(**AT)


@pytest.mark.parametrize(
    ("make", "given", "field", "value"),
    [
        (producer_settings, {"acks": 1}, "acks", 1),
        (producer_settings, {"acks": "all"}, "acks", -1),
        (producer_settings, {"acks": 1}, "enable_idempotence", False),
        (producer_settings, {"retries": 0}, "enable_idempotence", False),
        (producer_settings, {"request_timeout_ms": 200_000}, "delivery_timeout_ms", 200_005),
        (producer_settings, {"partitioner": "roundrobin"}, "partitioner", "roundrobin"),
        (
            *(producer_settings, {"partitioner_class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"}),
            *("partitioner", "roundrobin"),
        ),
        (producer_settings, {"partitioner": len}, "partitioner", len),
        (producer_settings, {"value_serializer": str.encode}, "value_serializer", str.encode),
        (producer_settings, {"reconnect_backoff_ms": 20}, "reconnect_backoff_max_ms", 20),
        (producer_settings, {"max_block_ms": 7}, "default_api_timeout_ms", 7),
        (producer_settings, {"client_id": "me"}, "client_id", "me"),
        (producer_settings, {}, "client_id", "odradek-producer"),
        (consumer_settings, {}, "enable_auto_commit", False),
        (consumer_settings, {"group_id": "g"}, "enable_auto_commit", True),
        (consumer_settings, {"isolation_level": "read_committed"}, "isolation_level", IsolationLevel.READ_COMMITTED),
        (consumer_settings, {"group_protocol": "CONSUMER"}, "group_protocol", "consumer"),
        (
            *(consumer_settings, {"auto_offset_reset": "by_duration:P1DT2H3M4.5S"}, "auto_offset_reset"),
            OffsetReset(ResetStrategy.BY_DURATION, 86_400_000 + 7_200_000 + 180_000 + 4_500),
        ),
        (
            *(consumer_settings, {"auto_offset_reset": "none"}, "auto_offset_reset"),
            OffsetReset(ResetStrategy.NONE),
        ),
        (
            *(consumer_settings, {"partition_assignment_strategy": "sticky"}, "partition_assignment_strategy"),
            ("sticky",),
        ),
        (
            consumer_settings,
            {"partition_assignment_strategy": ["org.apache.kafka.clients.consumer.RoundRobinAssignor", "range"]},
            "partition_assignment_strategy",
            ("roundrobin", "range"),
        ),
        (admin_settings, {"request_timeout_ms": 90_000}, "default_api_timeout_ms", 90_000),
    ],
)
def test_a_value_is_parsed_and_gives_way_where_it_must(
    make: Make, given: dict[str, Any], field: str, value: object
) -> None:
    assert getattr(make(**AT, **given), field) == value


def test_names_of_javas_serializers() -> None:
    long = "org.apache.kafka.common.serialization.LongSerializer"
    producer = producer_settings(**AT, key_serializer="StringSerializer", value_serializer=long)
    assert (producer.key_serializer("ü"), producer.value_serializer(258)) == (b"\xc3\xbc", bytes(6) + b"\x01\x02")
    consumer = consumer_settings(**AT, key_deserializer="StringDeserializer", value_deserializer="IntegerDeserializer")
    assert (consumer.key_deserializer(b"k"), consumer.value_deserializer(b"\xff\xff\xff\xfe")) == ("k", -2)


def test_settings_without_an_effect_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    parsing._warn_once.cache_clear()
    shared = {"bootstrap.servers": "a:9092", "metric.reporters": "com.acme.R", "metrics.num.samples": "3"}
    shared |= {"ssl.protocol": "TLSv1.3", "sasl.jaas.config": "", "client.dns.lookup": "use_all_dns_ips"}
    assert producer_settings(shared) == producer_settings(shared) == producer_settings(**AT)
    words = "producer: settings without an effect: metric.reporters, metrics.num.samples; docs/settings.md says why"
    assert caplog.messages == [words]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(Kind.PRODUCER, ProducerConfig), (Kind.CONSUMER, ConsumerConfig), (Kind.ADMIN, AdminConfig)],
)
def test_a_setting_has_an_effect_exactly_if_it_is_a_field_that_is_used(kind: Kind, settings: type) -> None:
    names = {field.name for field in fields(settings)} | {"partitioner_class"}
    source = Path(settings_module.__file__).parents[1]
    used = {
        node.attr
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }
    for name in definitions(kind):
        field_name = name.replace(".", "_")
        is_effective = client_support(name).level is Level.EFFECTIVE
        assert (field_name in names) == is_effective, name
        assert not is_effective or field_name in used | {"partitioner_class", "security_protocol"}, name


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        (producer_settings, {}, "producer: bootstrap.servers (bootstrap_servers): it is needed"),
        (producer_settings, {"bootstrap_servers": "a"}, 'bootstrap_servers): "a" has no port'),
        (producer_settings, AT | {"linger": 5}, "unknown setting 'linger'. Did you mean linger.ms (linger_ms)?"),
        (
            producer_settings,
            AT | {"linger.mss": 5},
            "unknown setting 'linger.mss'. Did you mean linger.ms (linger_ms)?",
        ),
        (producer_settings, AT | {"queue.buffering.max.ms": 5}, "Did you mean linger.ms (linger_ms)?"),
        (producer_settings, AT | {"request_required_acks": 1}, "Did you mean acks (acks)?"),
        (producer_settings, AT | {"qqq": 5}, "unknown setting 'qqq'. Names are Kafka's"),
        (producer_settings, AT | {"group_id": "g"}, "group_id is a setting of consumers, not of producers"),
        (consumer_settings, AT | {"linger_ms": 5}, "linger_ms is a setting of producers, not of consumers"),
        (admin_settings, AT | {"acks": 1}, "acks is a setting of producers, not of admins"),
        (producer_settings, AT | {"linger_ms": "x"}, '"x": Not a number of type LONG. It is a whole number, [0,...]'),
        (producer_settings, AT | {"linger_ms": -1}, "Value must be at least 0"),
        (producer_settings, AT | {"linger_ms": 0.5}, "Not a number of type LONG"),
        (producer_settings, AT | {"linger_ms": {}}, "Not a number of type LONG"),
        (producer_settings, AT | {"enable_idempotence": 1}, "either true or false"),
        (producer_settings, AT | {"acks": 2}, "String must be one of: all, -1, 0, 1"),
        (producer_settings, AT | {"compression_type": "br"}, "one of: none, gzip, snappy, lz4, zstd"),
        (producer_settings, AT | {"compression_gzip_level": 0}, "between 1 and 9 or equal to -1"),
        (producer_settings, AT | {"transactional_id": ""}, "String must be non-empty"),
        (producer_settings, AT | {"security_protocol": "SSL"}, "SSL is not supported; PLAINTEXT is the only protocol"),
        (producer_settings, AT | {"enable_idempotence": True, "acks": 1}, "it is not possible while acks is not all"),
        (producer_settings, AT | {"enable_idempotence": True, "retries": 0}, "it is not possible while retries is 0"),
        (
            *(producer_settings, AT | {"max_in_flight_requests_per_connection": 6}),
            "6 is more than 5, the most unless enable.idempotence is false",
        ),
        (
            *(producer_settings, AT | {"transactional_id": "t", "enable_idempotence": False}),
            "transactions need enable.idempotence",
        ),
        (
            producer_settings,
            AT | {"transaction_two_phase_commit_enable": True},
            "Transactions in two phases are not supported",
        ),
        (producer_settings, AT | {"delivery_timeout_ms": 10}, "10 is less than linger.ms and request.timeout.ms"),
        (producer_settings, AT | {"partitioner": "com.acme.P"}, "Expected a function (topic, key, value"),
        (producer_settings, AT | {"key_serializer": "com.acme.S"}, "Expected a function that returns bytes"),
        (producer_settings, AT | {"interceptor_classes": "com.acme.I"}, "Java classes cannot be loaded"),
        (producer_settings, AT | {"config_providers": "file"}, "configuration providers are not looked up"),
        (producer_settings, AT | {"ssl_truststore_location": "/x"}, "TLS is not supported. Clients speak PLAINTEXT"),
        (consumer_settings, AT | {"sasl_mechanism": "PLAIN"}, "SASL is not supported. Clients speak PLAINTEXT"),
        (admin_settings, AT | {"security_providers": "com.acme.P"}, "Security providers of Java cannot be loaded"),
        (consumer_settings, AT | {"auto_offset_reset": "now"}, "one of: latest, earliest, none, by_duration:PnDTn"),
        (consumer_settings, AT | {"auto_offset_reset": "by_duration:PT"}, "has no duration"),
        (consumer_settings, AT | {"auto_offset_reset": "by_duration:-PT1H"}, "has no duration"),
        (consumer_settings, AT | {"group_id": ""}, "it is empty; set a name or leave it out"),
        (consumer_settings, AT | {"enable_auto_commit": True}, "there is no group.id to commit for"),
        (
            *(consumer_settings, AT | {"group_protocol": "consumer", "session_timeout_ms": 9}),
            "with group.protocol=consumer the cluster decides it",
        ),
        (consumer_settings, AT | {"group_remote_assignor": "uniform"}, "it is for group.protocol=consumer"),
        (
            *(consumer_settings, AT | {"session_timeout_ms": 3_000}),
            "3000 is not less than session.timeout.ms, 3000",
        ),
        (
            consumer_settings,
            AT | {"partition_assignment_strategy": "best"},
            '"best" is neither one of range, roundrobin',
        ),
        (consumer_settings, AT | {"partition_assignment_strategy": []}, "there must be one at least"),
        (admin_settings, {}, "it or bootstrap.controllers is needed, and neither is given"),
        (admin_settings, AT | {"bootstrap_controllers": "c:1"}, "is needed, and both are given"),
        (admin_settings, AT | {"default_api_timeout_ms": 1}, "1 is less than request.timeout.ms, which is 30000"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(make: Make, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        make(**given)
    assert said in str(caught.value)


def test_a_setting_that_comes_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"linger\.ms \(linger_ms\) is set twice"):
        producer_settings({"bootstrap.servers": "a:9092", "linger.ms": 5}, linger_ms=5)
    with pytest.raises(InputError, match=r"partitioner\.class \(partitioner_class\) is set twice"):
        producer_settings(**AT, partitioner=len, partitioner_class=len)


def test_bytes_are_the_default_and_nothing_else_passes_for_them() -> None:
    assert as_bytes(bytearray(b"x")) == b"x" == as_bytes(memoryview(b"x"))
    with pytest.raises(InputError, match="'x' is str, not bytes: encode it, or set key_serializer or value_serializer"):
        as_bytes("x")


@pytest.mark.parametrize("kind", list(Kind))
def test_the_table_is_whole(kind: Kind) -> None:
    """Every default passes its own check, but for one that Kafka itself writes in another case."""
    for definition in definitions(kind).values():
        if definition.default is not None and definition.name != "share.acquire.mode":
            assert definition.reason_against(definition.default) is None, definition
