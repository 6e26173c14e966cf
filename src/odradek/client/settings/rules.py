"""Relations between settings, and settings whose values are objects. Pure.

The rules are Kafka's: what a user asked for explicitly and cannot have is refused; a default that does not fit what the
user asked for gives way.
"""

from typing import Any

from odradek.client.serializers import as_bytes, deserializer, from_bytes, serializer
from odradek.client.settings.parsing import ClientProperties
from odradek.client.settings.types import IsolationLevel, parse_offset_reset

#: Requests in flight for each connection, where it is no setting: Kafka's consumer and its admin client.
_CONSUMER_IN_FLIGHT_MAX = 100
_ADMIN_IN_FLIGHT_MAX = 100

#: A broker keeps the sequences of so many batches of a producer: with more in flight it could not tell what is missing.
_IDEMPOTENT_IN_FLIGHT_MAX = 5

#: acks=all
_ALL = -1

_INT_MAX = 2**31 - 1

_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
_ASSIGNOR_NAMES = {java: name for name, java in _ASSIGNORS.items()} | {name: name for name in _ASSIGNORS}

_ROUND_ROBIN = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
_PARTITIONERS = {_ROUND_ROBIN: "roundrobin", "roundrobin": "roundrobin"}

#: Of classic groups alone: the coordinator decides them for the consumer protocol.
_CLASSIC_ONLY = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")

_SERIALIZER_RIGHT = "Expected a function that returns bytes, or the name of one of Kafka's own, such as String"


def producer_values(reading: ClientProperties) -> dict[str, Any]:
    acks = _ALL if reading.text("acks") == "all" else reading.integer("acks")
    idempotent = _idempotent(reading, acks)
    transactional_id = reading.optional_text("transactional.id")
    if transactional_id is not None and not idempotent:
        raise reading.error("transactional.id", "transactions need enable.idempotence (with acks=all and retries).")
    max_block_ms = reading.integer("max.block.ms")
    return _common_values(reading, reading.integer("metadata.max.idle.ms"), max_block_ms) | {
        "bootstrap_servers": _bootstrap_servers(reading),
        "max_in_flight_requests_per_connection": reading.integer("max.in.flight.requests.per.connection"),
        "allow_auto_create_topics": True,
        "acks": acks,
        "enable_idempotence": idempotent,
        "delivery_timeout_ms": _delivery_timeout_ms(reading),
        "partitioner": _partitioner(reading),
        "key_serializer": reading.callable("key.serializer", serializer, as_bytes, f"{_SERIALIZER_RIGHT}Serializer."),
        "value_serializer": reading.callable(
            "value.serializer", serializer, as_bytes, f"{_SERIALIZER_RIGHT}Serializer."
        ),
    }


#: A fetched chunk goes on arriving while the one before it is decoded.
_CONSUMER_RECEIVE_BUFFER_BYTES = 1024 * 1024

#: Columns are made of a chunk at once: with larger ones less is done for each record.
_COLUMNS_FETCH_BYTES = 4 * 1024 * 1024


def consumer_values(reading: ClientProperties) -> dict[str, Any]:
    protocol = reading.text("group.protocol").lower()
    _check_group(reading, protocol)
    reset = parse_offset_reset(reading.text("auto.offset.reset"))
    if reset is None:
        text = reading.text("auto.offset.reset")
        raise reading.error("auto.offset.reset", f'"{text}" has no duration. Expected by_duration:P1DT2H, …')
    right = f"{_SERIALIZER_RIGHT.replace('returns', 'accepts')}Deserializer."
    return _common_values(reading, None, reading.integer("default.api.timeout.ms")) | {
        "bootstrap_servers": _bootstrap_servers(reading),
        "max_in_flight_requests_per_connection": _CONSUMER_IN_FLIGHT_MAX,
        "group_protocol": protocol,
        "enable_auto_commit": _auto_commit(reading),
        "auto_offset_reset": reset,
        "receive_buffer_bytes": _given_or(reading, "receive.buffer.bytes", _CONSUMER_RECEIVE_BUFFER_BYTES),
        "columns_fetch_bytes": _given_or(reading, "max.partition.fetch.bytes", _COLUMNS_FETCH_BYTES),
        "isolation_level": IsolationLevel[reading.text("isolation.level").upper()],
        "partition_assignment_strategy": _assignors(reading),
        "key_deserializer": reading.callable("key.deserializer", deserializer, from_bytes, right),
        "value_deserializer": reading.callable("value.deserializer", deserializer, from_bytes, right),
    }


def admin_values(reading: ClientProperties) -> dict[str, Any]:
    brokers, controllers = reading.addresses("bootstrap.servers"), reading.addresses("bootstrap.controllers")
    if bool(brokers) == bool(controllers):
        have = "both are given" if brokers else "neither is given"
        raise reading.error("bootstrap.servers", f"it or bootstrap.controllers is needed, and {have}.")
    request_ms, api_ms = reading.integer("request.timeout.ms"), reading.integer("default.api.timeout.ms")
    if api_ms < request_ms and reading.is_set("default.api.timeout.ms"):
        raise reading.error(
            "default.api.timeout.ms", f"{api_ms} is less than request.timeout.ms, which is {request_ms}."
        )
    return _common_values(reading, None, max(api_ms, request_ms)) | {
        "bootstrap_servers": brokers,
        "bootstrap_controllers": controllers,
        "max_in_flight_requests_per_connection": _ADMIN_IN_FLIGHT_MAX,
        "allow_auto_create_topics": False,
    }


def _common_values(reading: ClientProperties, metadata_max_idle_ms: int | None, api_timeout_ms: int) -> dict[str, Any]:
    backoff_ms, max_ms = reading.integer("reconnect.backoff.ms"), reading.integer("reconnect.backoff.max.ms")
    only_first = reading.is_set("reconnect.backoff.ms") and not reading.is_set("reconnect.backoff.max.ms")
    return {
        "client_id": reading.text("client.id") or f"odradek-{reading.kind.word}",
        # Who says only the first wants no other.
        "reconnect_backoff_max_ms": backoff_ms if only_first else max_ms,
        # Unless somebody says a size, the system tunes it, which is faster than Kafka's fixed ones.
        "send_buffer_bytes": _given_or(reading, "send.buffer.bytes", -1),
        "receive_buffer_bytes": _given_or(reading, "receive.buffer.bytes", -1),
        "metadata_recovery_strategy": reading.text("metadata.recovery.strategy").lower(),
        "security_protocol": reading.text("security.protocol").upper(),
        "metadata_max_idle_ms": metadata_max_idle_ms,
        "default_api_timeout_ms": api_timeout_ms,
    }


def _given_or(reading: ClientProperties, name: str, otherwise: int) -> int:
    return reading.integer(name) if reading.is_set(name) else otherwise


def _bootstrap_servers(reading: ClientProperties) -> Any:
    addresses = reading.addresses("bootstrap.servers")
    if not addresses:
        raise reading.error("bootstrap.servers", "it is needed: host:port, or several separated by commas.")
    return addresses


def _idempotent(reading: ClientProperties, acks: int) -> bool:
    """The default gives way to acks and retries that rule it out; what was asked for does not. More in flight than it
    allows is refused either way."""
    if not reading.boolean("enable.idempotence"):
        return False
    in_flight = reading.integer("max.in.flight.requests.per.connection")
    if in_flight > _IDEMPOTENT_IN_FLIGHT_MAX:
        reason = f"{in_flight} is more than {_IDEMPOTENT_IN_FLIGHT_MAX}, the most unless enable.idempotence is false."
        raise reading.error("max.in.flight.requests.per.connection", reason)
    against = {"acks is not all": acks != _ALL, "retries is 0": reading.integer("retries") == 0}
    for reason, applies in against.items():
        if applies and reading.is_set("enable.idempotence"):
            raise reading.error("enable.idempotence", f"it is not possible while {reason}.")
    return not any(against.values())


def _delivery_timeout_ms(reading: ClientProperties) -> int:
    delivery_ms = reading.integer("delivery.timeout.ms")
    least_ms = min(reading.integer("linger.ms") + reading.integer("request.timeout.ms"), _INT_MAX)
    if delivery_ms < least_ms and reading.is_set("delivery.timeout.ms"):
        raise reading.error(
            "delivery.timeout.ms", f"{delivery_ms} is less than linger.ms and request.timeout.ms together, {least_ms}."
        )
    return max(delivery_ms, least_ms)


def _partitioner(reading: ClientProperties) -> Any:
    def find(value: object) -> object:
        return _PARTITIONERS.get(value) if isinstance(value, str) else value if callable(value) else None

    right = f"Expected a function (topic, key, value, partitions) -> partition, or {_ROUND_ROBIN}."
    return reading.callable("partitioner.class", find, None, right)


def _check_group(reading: ClientProperties, protocol: str) -> None:
    if reading.optional_text("group.id") == "":
        raise reading.error("group.id", "it is empty; set a name or leave it out.")
    if protocol == "consumer":
        for name in filter(reading.is_set, _CLASSIC_ONLY):
            raise reading.error(name, "with group.protocol=consumer the cluster decides it; leave it out.")
        return
    if reading.is_set("group.remote.assignor"):
        raise reading.error("group.remote.assignor", "it is for group.protocol=consumer.")
    heartbeat_ms, session_ms = reading.integer("heartbeat.interval.ms"), reading.integer("session.timeout.ms")
    if heartbeat_ms >= session_ms:
        reason = f"{heartbeat_ms} is not less than session.timeout.ms, {session_ms}; a third of it is usual."
        raise reading.error("heartbeat.interval.ms", reason)


def _auto_commit(reading: ClientProperties) -> bool:
    is_enabled = reading.boolean("enable.auto.commit")
    if reading.optional_text("group.id") is not None:
        return is_enabled
    if is_enabled and reading.is_set("enable.auto.commit"):
        raise reading.error("enable.auto.commit", "there is no group.id to commit for.")
    return False


def _assignors(reading: ClientProperties) -> tuple[Any, ...]:
    assignors: list[Any] = []
    for item in reading.items("partition.assignment.strategy"):
        assignor = _ASSIGNOR_NAMES.get(item) if isinstance(item, str) else item
        if assignor is None:
            names = ", ".join(_ASSIGNORS)
            raise reading.error("partition.assignment.strategy", f'"{item}" is neither one of {names} nor an assignor.')
        assignors.append(assignor)
    if not assignors:
        raise reading.error("partition.assignment.strategy", "it is empty; there must be one at least.")
    return tuple(dict.fromkeys(assignors))
