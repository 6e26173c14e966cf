"""Requests that the schema allows, with random and extreme values in every field.

`TypedRequests(seed, vocabulary)` draws one request after the other: an API and a version of a listener, and a value for
every field of that version. A request is calm or wild: each field gets a fitting value (an existing topic, a group, an
index, a small number) or, with the request's own probability, an extreme one. Calm requests reach deep, wild ones fail
early; most bugs are found with one or two extreme values among fitting ones. Everything follows from the seed and from
the vocabulary.

`support.fuzzing.typed_limits` then takes out what a cluster may legitimately obey to the harm of others.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from sys import modules
from typing import Any, NamedTuple

from odradek.api.dispatch.envelope_codec import FORWARDABLE
from odradek.api.dispatch.registry import Registry
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.codec import encode, schema_of
from odradek.protocol.encode_errors import INTEGER_BITS, integer_range
from odradek.protocol.json_form import to_json
from odradek.protocol.message import Message
from odradek.protocol.messages.envelope_request import EnvelopeRequest
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.registry import request_class
from odradek.protocol.requests import request_header_version
from odradek.protocol.schema import Field, Schema
from odradek.raft.values import METADATA_TOPIC, METADATA_TOPIC_ID
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Compression
from support.fuzzing.protocol_fuzz import mutated
from support.processes.nodes import CONTROLLER_LISTENER

_FIRST_REGISTRATION_WITH_DIRS = 2

CLIENT_ID = "typed-fuzz"

#: Probability that a field gets an extreme value; one of these for each request.
WILDNESS = (0.0, 0.02, 0.05, 0.05, 0.15, 0.5, 1.0)
#: Of a value that may be null.
NULL_PROBABILITY = 0.1
ARRAY_SIZES = (0, 1, 1, 1, 1, 2, 2, 3)
WILD_ARRAY_SIZES = (0, 1, 2, 17, 130)
#: Arrays within arrays multiply.
ELEMENTS_MAX = 300

#: No valid topic name is among them, so that no topic comes of them.
ODD_STRINGS = (
    "",
    ".",
    "..",
    " ",
    "\x00",
    "a\x00b",
    "line\nbreak\r\n",
    "\t\x1b[31m\x7f",
    "ü/😀\u202e",
    "%s%n{}",
    "../../etc",
    "x" * 250,
    "*",
    "(",
    "[",
    "-1 ",
    "2147483648 ",
    "ﬀ\u0130",
)
#: As long as a string can be; seldom, for arrays of them are large.
LONGEST_STRING = "y" * 32_767
LONGEST_PROBABILITY = 0.01
ODD_BYTES = (b"", b"\x00", b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x00\x01" + b"\xff" * 40, bytes(1_000))

#: Fitting values of integers, by the name of the field.
INTEGERS: dict[str, tuple[int, ...]] = {
    "acks": (-1, 1, 0),
    "max_bytes": (1, 1024, 1_048_576),
    "partition_max_bytes": (1, 1024, 1_048_576),
    "min_bytes": (0, 1),
    "max_wait_ms": (0, 1, 50),
    "timeout_ms": (0, 10, 1000, 30_000),
    "session_timeout_ms": (10, 100),
    "rebalance_timeout_ms": (10, 100),
    "transaction_timeout_ms": (1_000, 10_000),
    "replication_factor": (-1, 1, 2, 3),
    "num_partitions": (-1, 1, 2, 4),
    "count": (1, 2, 4),
    "timestamp": (-1, -2, -3, -4, -5, 0, 1_700_000_000_000),
    "isolation_level": (0, 1),
    "resource_type": (2, 2, 4, 8, 16, 32),
    "resource_types": (2, 4, 8, 16, 32),
    "config_operation": (0, 1, 2, 3),
    "key_type": (0, 1, 2),
    "match_type": (0, 1, 2),
    "election_type": (0, 1),
    "endpoint_type": (1, 2),
    "upgrade_type": (1, 2, 3),
    "transaction_version": (0, 1, 2),
    "leader_recovery_state": (0, 1),
    "security_protocol": (0,),
    "session_id": (0, 0, 0, 1),
    "session_epoch": (-1, -1, 0, 1),
    "member_epoch": (-2, -1, 0, 1, 2),
    "generation_id": (-1, 0, 1, 2),
    "generation_id_or_member_epoch": (-1, 0, 1, 2),
    "fetch_offset": (0, 1, 5, 10),
    "offset": (-1, 0, 1, 5, 10),
    "committed_offset": (0, 1, 5),
    "log_start_offset": (-1, 0, 1),
    "high_watermark": (-1, 0, 1, 10),
    "position": (0, 1, 100),
    "min_supported_version": (0, 1),
    "max_supported_version": (1, 7),
    "max_version_level": (0, 1, 2),
    "producer_epoch": (0, 0, 1, -1),
    "v3_and_below_producer_epoch": (0, 0, 1, -1),
    "coordinator_epoch": (0, 1),
    "response_partition_limit": (1, 3, 2000),
    "retention_time_ms": (-1, 1000),
    "duration_filter": (-1, 0, 10_000),
}
PARTITIONS = ("index", "partition", "partition_index", "partition_indexes", "partitions")
EPOCHS = ("leader_epoch", "current_leader_epoch", "committed_leader_epoch", "last_fetched_epoch", "partition_epoch")
QUORUM_EPOCHS = ("last_offset_epoch", "epoch")
NODE_IDS = ("leader_id", "voter_id", "candidate_id", "controller_id", "node_id", "preferred_successors")
STRINGS: dict[str, tuple[str, ...]] = {
    "protocol_type": ("consumer", "connect", ""),
    "protocol_name": ("range", "roundrobin"),
    "server_assignor": ("uniform", "range"),
    "feature": ("metadata.version", "group.version", "transaction.version", "kraft.version", "no.such.feature"),
    "entity_type": ("user", "client-id", "ip"),
    "rack": ("a", "b"),
    "rack_id": ("a", "b"),
    "host": ("127.0.0.1",),
    "client_software_name": ("fuzz",),
    "client_software_version": ("1.0",),
    "states_filter": ("Stable", "Empty", "Dead"),
    "state_filters": ("Ongoing", "Empty", "CompleteCommit"),
    "types_filter": ("classic", "consumer"),
    "subscribed_topic_regex": ("fuzz-.*", "", "(", "a{1000}{1000}"),
    "transactional_id_pattern": ("fuzz-.*", "", "("),
    "reason": ("because",),
    "key": ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "connection_creation_rate"),
}
#: What topics and groups can be configured with, and what stands for a value.
CONFIG_NAMES = (
    "cleanup.policy",
    "compression.type",
    "retention.ms",
    "retention.bytes",
    "segment.bytes",
    "segment.ms",
    "segment.index.bytes",
    "index.interval.bytes",
    "max.message.bytes",
    "min.insync.replicas",
    "message.timestamp.type",
    "message.timestamp.before.max.ms",
    "flush.messages",
    "flush.ms",
    "delete.retention.ms",
    "min.cleanable.dirty.ratio",
    "unclean.leader.election.enable",
    "file.delete.delay.ms",
    "leader.replication.throttled.replicas",
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "interval.ms",
    "metrics",
    "no.such.config",
)
CONFIG_VALUES = (
    "compact",
    "delete",
    "compact,delete",
    "gzip",
    "zstd",
    "LogAppendTime",
    "CreateTime",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "100",
    "0.5",
    "1048576",
    "2147483647",
    "-2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "1e400",
    "NaN",
    "*",
    "0:1,1:2",
    "",
)


_PRINCIPAL = b"\x00\x00\x05User\x0aANONYMOUS\x00\x00"
_SUBSCRIPTION = b"\x00\x01\x00\x00\x00\x01\x00\x06fuzz-1\xff\xff\xff\xff\x00\x00\x00\x00"
_LOOPBACK = b"\x7f\x00\x00\x01"

#: APIs about the metadata log, which has one partition.
QUORUM_APIS = (
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.DESCRIBE_QUORUM,
)
#: Fitting values of fields in one API, by its key and the name of the field.
OVERRIDES: dict[tuple[int, str], tuple[Any, ...]] = {
    (ApiKey.ENVELOPE, "request_principal"): (_PRINCIPAL,),
    (ApiKey.ENVELOPE, "client_host_address"): (_LOOPBACK,),
    (ApiKey.JOIN_GROUP, "name"): ("range", "roundrobin"),
    (ApiKey.JOIN_GROUP, "protocol_type"): ("consumer",),
    (ApiKey.JOIN_GROUP, "metadata"): (_SUBSCRIPTION,),
    (ApiKey.JOIN_GROUP, "group_instance_id"): (None, None, "static-1"),
    (ApiKey.SYNC_GROUP, "protocol_type"): ("consumer",),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, "instance_id"): (None, None, "static-1"),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, "server_assignor"): (None, "uniform"),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, "subscribed_topic_regex"): (None, None, "fuzz-.*"),
    (ApiKey.FETCH, "cluster_id"): (None,),
    (ApiKey.ADD_RAFT_VOTER, "name"): (CONTROLLER_LISTENER,),
    (ApiKey.UPDATE_RAFT_VOTER, "name"): (CONTROLLER_LISTENER,),
}


@dataclass(slots=True)
class Vocabulary:
    """What exists in the cluster and may be met, and nothing else: the good clients' things are not in it."""

    cluster_id: str
    topics: tuple[str, ...]
    topic_ids: list[bytes] = field(default_factory=list)
    groups: tuple[str, ...] = ()
    members: list[str] = field(default_factory=list)
    transactional_ids: tuple[str, ...] = ()
    producer_ids: list[int] = field(default_factory=list)
    #: The nodes of the cluster, and a broker that only the fuzz has registered.
    nodes: tuple[int, ...] = (1, 2, 3)
    own_broker: int = 100
    own_broker_epoch: int = -1
    own_incarnation: bytes = bytes(16)
    #: As the nodes support them: name, lowest and highest level.
    features: tuple[tuple[str, int, int], ...] = ()
    quorum_epoch: int = 1
    broker_ports: tuple[int, ...] = ()


class TypedRequest(NamedTuple):
    number: int
    listener: ListenerRole
    key: int
    version: int
    message: Message
    is_answered: bool

    def json(self) -> dict[str, object]:
        return {
            "number": self.number,
            "listener": self.listener.value,
            "api": ApiKey(self.key).name,
            "key": self.key,
            "version": self.version,
            "body": to_json(self.message, self.version),
        }

    def frame(self, correlation_id: int) -> bytes:
        content = _content(self.key, self.version, self.message, correlation_id)
        return struct.pack(">i", len(content)) + content


Limit = Callable[[int, int, Message, Random], None]


class TypedRequests:
    def __init__(self, seed: int, vocabulary: Vocabulary, limit: Limit) -> None:
        self.vocabulary = vocabulary
        self.random = Random(seed)
        self._limit = limit
        self._count = 0
        self._kinds = [
            (listener, key, version)
            for listener in ListenerRole
            for key, versions in Registry(listener).accepted.items()
            for version in range(versions.first, versions.last + 1)
        ]
        #: Every API as often as any other, whatever the number of its versions, and all versions in turn.
        self._rows: dict[tuple[ListenerRole, int], list[int]] = {}
        for listener, key, version in self._kinds:
            self._rows.setdefault((listener, key), []).append(version)
        self._order = list(self._rows)
        self._turns = dict.fromkeys(self._rows, 0)

    @property
    def kinds(self) -> int:
        return len(self._kinds)

    def next(self) -> TypedRequest:
        listener, key = row = self.random.choice(self._order)
        versions, turn = self._rows[row], self._turns[row]
        self._turns[row] = turn + 1
        version = versions[turn % len(versions)]
        message = self.message(key, version, is_quorum=key == ApiKey.FETCH and listener is ListenerRole.CONTROLLER)
        self._count += 1
        is_answered = not isinstance(message, ProduceRequest) or message.acks != 0
        return TypedRequest(self._count, listener, key, version, message, is_answered)

    def message(self, key: int, version: int, *, is_quorum: bool = False) -> Message:
        """`is_quorum`: a fetch of the metadata log, which is that of a broker otherwise."""
        draw = _Draw(self, request_class(key), version, is_quorum=is_quorum or key in QUORUM_APIS)
        message: Message = draw.message()
        if isinstance(message, EnvelopeRequest) and self.random.random() < 0.9:
            message.request_data = self._forwarded()
        self._limit(key, version, message, self.random)
        return message

    def _forwarded(self) -> bytes:
        """A request of a client as a broker forwards it."""
        accepted = Registry(ListenerRole.CONTROLLER).accepted
        key = self.random.choice([key for key in accepted if key in FORWARDABLE])
        versions = accepted[key]
        version = self.random.randint(versions.first, versions.last)
        content = _content(key, version, self.message(key, version), 1)
        return mutated(self.random, content) if self.random.random() < 0.05 else content


def _content(key: int, version: int, message: Message, correlation_id: int) -> bytes:
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=correlation_id, client_id=CLIENT_ID
    )
    return encode(header, request_header_version(key, version)) + encode(message, version)


class _Draw:
    """The values of one request."""

    def __init__(self, requests: TypedRequests, message_class: type[Message], version: int, *, is_quorum: bool) -> None:
        self._is_quorum = is_quorum
        self._random = requests.random
        self._vocabulary = requests.vocabulary
        self._schema: Schema = schema_of(message_class)
        self._classes = vars(modules[message_class.__module__])
        self._version = version
        self._wildness = self._random.choice(WILDNESS)
        self._elements = 0

    def message(self) -> Any:
        return self._struct(self._schema.name, self._schema.fields)

    def _struct(self, name: str, fields: tuple[Field, ...]) -> Any:
        made = self._classes[name]()
        for each in fields:
            if self._version in each.versions:
                setattr(made, each.name, self._value(each))
        if name == "BrokerRegistrationRequest" and not self._is_wild():
            self._fit_registration(made)
        return made

    def _fit_registration(self, request: Any) -> None:
        """What the cluster takes: a listener and features that the nodes have."""
        feature, listener = self._classes["Feature"], self._classes["Listener"]
        request.rack = None
        request.listeners = [listener(name="PLAINTEXT", host="127.0.0.1", port=1)]
        request.features = [
            feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, low, high in self._vocabulary.features
        ]
        if self._version >= _FIRST_REGISTRATION_WITH_DIRS:
            request.log_dirs = [(0xF1).to_bytes(16, "big")]

    def _is_wild(self) -> bool:
        return self._random.random() < self._wildness

    def _value(self, field: Field) -> Any:
        if self._version in field.nullable and self._random.random() < NULL_PROBABILITY:
            return None
        if not field.is_array:
            return self._element(field)
        sizes = (1,) if self._is_quorum else ARRAY_SIZES
        size = self._random.choice(WILD_ARRAY_SIZES if self._is_wild() else sizes)
        size = min(size, max(0, ELEMENTS_MAX - self._elements))
        self._elements += size
        return [self._element(field) for _ in range(size)]

    def _element(self, field: Field) -> Any:
        if field.is_struct:
            return self._struct(field.element, self._schema.structs[field.element])
        fitting = self._override(field)
        if fitting and not self._is_wild():
            return self._random.choice(fitting)
        if field.element in INTEGER_BITS:
            return self._integer(field)
        match field.element:
            case "string":
                return self._string(field)
            case "bytes":
                return self._bytes()
            case "records":
                return self._records()
            case "uuid":
                return self._uuid(field)
            case "bool":
                return self._random.random() < 0.5
        return self._random.choice((0.0, 1.0, 1000.0, -1.0, 1e308, float("inf"), float("-inf"), float("nan"), 5e-324))

    def _override(self, field: Field) -> tuple[Any, ...]:
        if self._is_quorum and field.name in PARTITIONS:
            return (0,)
        if self._is_quorum and field.element == "string" and field.name in ("topic_name", "name", "topic"):
            return (CONTROLLER_LISTENER,) if field.name == "name" and not field.entity else (METADATA_TOPIC,)
        if self._is_quorum and field.name == "topic_id":
            return (METADATA_TOPIC_ID,)
        fitting = OVERRIDES.get((self._schema.key, field.name), ())
        return fitting if self._version in field.nullable else tuple(one for one in fitting if one is not None)

    def _integer(self, field: Field) -> int:
        first, last = integer_range(field.element)
        if self._is_wild():
            extremes = (first, first + 1, -2, -1, 0, 1, last - 1, last, self._random.randint(first, last))
            return min(max(self._random.choice(extremes), first), last)
        return min(max(self._fitting_integer(field), first), last)

    def _fitting_integer(self, field: Field) -> int:
        random, words = self._random, self._vocabulary
        if field.name in PARTITIONS:
            return random.choice((0, 0, 0, 1, 2))
        if field.name in INTEGERS:
            return random.choice(INTEGERS[field.name])
        if field.name == "replica_id":
            return random.choice((-1, -1, -1, *words.nodes, words.own_broker))
        if field.name == "replica_epoch":
            return random.choice((-1, 0, words.quorum_epoch, words.own_broker_epoch))
        if field.name in ("broker_epoch", "previous_broker_epoch"):
            return random.choice((words.own_broker_epoch, words.own_broker_epoch, -1, 0))
        if field.name == "broker_id":
            return random.choice((words.own_broker, words.own_broker, *words.nodes))
        if field.entity == "brokerId" or field.name in NODE_IDS:
            return random.choice((*words.nodes, *words.nodes, words.own_broker, -1))
        if field.entity == "producerId":
            return random.choice((*words.producer_ids, -1)) if words.producer_ids else -1
        if field.name in EPOCHS:
            return random.choice((-1, -1, 0, 0, 1, words.quorum_epoch))
        if field.name in QUORUM_EPOCHS:
            return random.choice((0, 1, words.quorum_epoch))
        if field.name == "port":
            return random.choice((*words.broker_ports, 1))
        return random.choice((-1, 0, 1, 2, 100))

    def _string(self, field: Field) -> str:
        random, words = self._random, self._vocabulary
        if self._is_wild():
            return LONGEST_STRING if random.random() < LONGEST_PROBABILITY else random.choice(ODD_STRINGS)
        if field.entity == "topicName" or (field.name == "name" and field.is_key):
            return random.choice(words.topics)
        if field.entity == "groupId":
            return random.choice(words.groups)
        if field.entity == "transactionalId" or field.name == "v3_and_below_transactional_id":
            return random.choice(words.transactional_ids)
        if field.name in STRINGS:
            return random.choice(STRINGS[field.name])
        match field.name:
            case "cluster_id":
                return random.choice((words.cluster_id, words.cluster_id, words.cluster_id, "another"))
            case "coordinator_keys":
                return random.choice((*words.groups, *words.transactional_ids))
            case "member_id":
                return random.choice((*words.members, "", "", "no-member"))
            case "resource_name":
                return random.choice((*words.topics, *words.groups, "", "1"))
            case "group_instance_id" | "instance_id":
                return random.choice(("static-1", "static-2"))
            case "name":
                return random.choice((*CONFIG_NAMES, "PLAINTEXT", "CONTROLLER", "range", *words.topics))
            case "value":
                return random.choice(CONFIG_VALUES)
            case "configuration_keys":
                return random.choice(CONFIG_NAMES)
        return random.choice((*words.topics, "fuzz", ""))

    def _bytes(self) -> bytes:
        random = self._random
        if self._is_wild():
            return random.choice(ODD_BYTES)
        plain = random.choice((_SUBSCRIPTION, _PRINCIPAL, _LOOPBACK, b""))
        return mutated(random, plain) if plain and random.random() < 0.1 else plain

    def _uuid(self, field: Field) -> bytes:
        random, words = self._random, self._vocabulary
        if self._is_wild():
            return random.choice((bytes(16), b"\xff" * 16, (1).to_bytes(16, "big"), random.randbytes(16)))
        if field.name in ("topic_id", "topic_ids") and words.topic_ids:
            return random.choice(words.topic_ids)
        if field.name == "incarnation_id":
            return words.own_incarnation
        return random.choice((bytes(16), (0xF0).to_bytes(16, "big"), (0xF1).to_bytes(16, "big")))

    def _records(self) -> bytes:
        random = self._random
        match random.randrange(8):
            case 0:
                return b""
            case 1:
                return b"".join(self._batch() for _ in range(random.randrange(2, 4)))
            case 2 | 3:
                return mutated(random, self._batch())
            case 4 if self._is_wild():
                return random.choice(ODD_BYTES)
        return self._batch()

    def _batch(self) -> bytes:
        random, words = self._random, self._vocabulary
        is_producer = bool(words.producer_ids) and random.random() < 0.5
        first, last = integer_range("int64")
        timestamps = (-1, 0, 1_700_000_000_000, first, last) if self._is_wild() else (-1, 0, 1_700_000_000_000)
        builder = BatchBuilder(
            base_offset=random.choice((0, 0, 0, 5, last - 5)) if self._is_wild() else 0,
            compression=random.choice((Compression.NONE, Compression.NONE, Compression.GZIP, Compression.LZ4)),
            producer_id=random.choice(words.producer_ids) if is_producer else -1,
            producer_epoch=random.choice((0, 0, 1, 32_767)) if is_producer else -1,
            base_sequence=random.choice((0, 0, 1, 2, 2**31 - 1)) if is_producer else -1,
            is_transactional=is_producer and random.random() < 0.3,
            is_control=random.random() < 0.05,
        )
        timestamp = random.choice(timestamps)
        for number in range(random.randrange(1, 4)):
            builder.append(timestamp, random.choice((None, b"", b"key")), random.choice((None, b"", b"%d" % number)))
        return builder.build()
