"""Who is asked what before a request is looked at, in Apache Kafka 4.3, and what those hear who may not.

The rows are those of KafkaApis and ControllerApis. `asked` are the questions about a request of `full_request` to an
authoriser that refuses everything; `code` is the only error in the answer, None where the answer hides what may not be
seen and says nothing of it.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from odradek.common.ids import ZERO_UUID
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.security.authorizer import Action
from odradek.security.resources import Operation, ResourceType
from support.builders.api import full_request

#: Whom the authorisers here refuse; everybody else, brokers among them, may do anything.
CLIENT = "User:client"


@dataclass
class Refusing:
    """Refuses `CLIENT` everything, or everything on the cluster and on topics of these names."""

    topics: Iterable[str] | None = None
    #: What `CLIENT` asked for.
    asked: list[Action] = field(default_factory=list)
    asked_of_any: list[tuple[Operation, ResourceType]] = field(default_factory=list)

    def authorize(self, principal: str, host: str, actions: Iterable[Action]) -> list[bool]:
        return [principal != CLIENT or self._allows(action) for action in actions]

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        self.asked_of_any.append((operation, resource_type))
        return principal != CLIENT or self.topics is not None

    def _allows(self, action: Action) -> bool:
        self.asked.append(action)
        kind, name = action.resource.type, action.resource.name
        if self.topics is None or kind is ResourceType.CLUSTER:
            return False
        return kind is not ResourceType.TOPIC or name not in self.topics

    @property
    def questions(self) -> set[str]:
        """Such as "READ TOPIC"."""
        one_by_one = {f"{operation.name} {resource.type.name}" for operation, resource in self.asked}
        return one_by_one | {f"{operation.name} any {kind.name}" for operation, kind in self.asked_of_any}


class Row(NamedTuple):
    asked: frozenset[str]
    code: ErrorCode | None
    #: Versions before it have no place for an error.
    silent_before: int = 0


def _row(code: ErrorCode | None, *asked: str, silent_before: int = 0) -> Row:
    return Row(frozenset(asked), code, silent_before)


_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

_NOBODY = _row(None)
_OF_NODES = _row(_CLUSTER, "CLUSTER_ACTION CLUSTER")
_OF_ADMINS = _row(_CLUSTER, "ALTER CLUSTER")
_OF_MEMBERS = _row(_GROUP, "READ GROUP")
_OF_PRODUCERS = _row(_TRANSACTION, "WRITE TRANSACTIONAL_ID")

ROWS: Mapping[ApiKey | tuple[ApiKey, ListenerRole], Row] = {
    ApiKey.PRODUCE: _row(_TOPIC, "WRITE TOPIC"),
    (ApiKey.FETCH, ListenerRole.BROKER): _row(_TOPIC, "READ TOPIC"),
    (ApiKey.FETCH, ListenerRole.CONTROLLER): _OF_NODES,
    ApiKey.LIST_OFFSETS: _row(_TOPIC, "DESCRIBE TOPIC"),
    ApiKey.METADATA: _row(_TOPIC, "DESCRIBE TOPIC"),
    ApiKey.API_VERSIONS: _NOBODY,
    ApiKey.CREATE_TOPICS: _row(_TOPIC, "CREATE CLUSTER", "CREATE TOPIC", "DESCRIBE_CONFIGS TOPIC"),
    ApiKey.DELETE_TOPICS: _row(_TOPIC, "DELETE CLUSTER", "DELETE TOPIC", "DESCRIBE TOPIC"),
    ApiKey.DELETE_RECORDS: _row(_TOPIC, "DELETE TOPIC"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _row(_TOPIC, "CLUSTER_ACTION CLUSTER", "DESCRIBE TOPIC"),
    ApiKey.DESCRIBE_CONFIGS: _row(_TOPIC, "DESCRIBE_CONFIGS TOPIC"),
    ApiKey.ALTER_CONFIGS: _row(_TOPIC, "ALTER_CONFIGS TOPIC"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _row(_TOPIC, "ALTER_CONFIGS TOPIC"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: _OF_ADMINS,
    ApiKey.DESCRIBE_LOG_DIRS: _row(_CLUSTER, "DESCRIBE CLUSTER", silent_before=3),
    ApiKey.CREATE_PARTITIONS: _row(_TOPIC, "ALTER TOPIC"),
    ApiKey.ELECT_LEADERS: _OF_ADMINS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _OF_ADMINS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _row(_CLUSTER, "DESCRIBE CLUSTER"),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _row(_CLUSTER, "DESCRIBE_CONFIGS CLUSTER"),
    ApiKey.ALTER_CLIENT_QUOTAS: _row(_CLUSTER, "ALTER_CONFIGS CLUSTER"),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _row(_CLUSTER, "DESCRIBE CLUSTER"),
    ApiKey.VOTE: _OF_NODES,
    ApiKey.BEGIN_QUORUM_EPOCH: _OF_NODES,
    ApiKey.END_QUORUM_EPOCH: _OF_NODES,
    ApiKey.DESCRIBE_QUORUM: _row(_CLUSTER, "DESCRIBE CLUSTER"),
    ApiKey.ALTER_PARTITION: _OF_NODES,
    ApiKey.UPDATE_FEATURES: _OF_ADMINS,
    ApiKey.ENVELOPE: _OF_NODES,
    ApiKey.FETCH_SNAPSHOT: _OF_NODES,
    (ApiKey.DESCRIBE_CLUSTER, ListenerRole.BROKER): _row(None, "DESCRIBE CLUSTER"),
    (ApiKey.DESCRIBE_CLUSTER, ListenerRole.CONTROLLER): _OF_ADMINS,
    ApiKey.DESCRIBE_PRODUCERS: _row(_TOPIC, "READ TOPIC"),
    ApiKey.BROKER_REGISTRATION: _OF_NODES,
    ApiKey.BROKER_HEARTBEAT: _OF_NODES,
    ApiKey.UNREGISTER_BROKER: _OF_ADMINS,
    ApiKey.ALLOCATE_PRODUCER_IDS: _OF_NODES,
    ApiKey.CONTROLLER_REGISTRATION: _OF_NODES,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: _OF_NODES,
    ApiKey.LIST_CONFIG_RESOURCES: _row(_CLUSTER, "DESCRIBE_CONFIGS CLUSTER"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _row(_TOPIC, "DESCRIBE TOPIC"),
    ApiKey.ADD_RAFT_VOTER: _OF_ADMINS,
    ApiKey.REMOVE_RAFT_VOTER: _OF_ADMINS,
    ApiKey.UPDATE_RAFT_VOTER: _OF_NODES,
    # Groups.
    ApiKey.FIND_COORDINATOR: _row(_GROUP, "DESCRIBE GROUP"),
    ApiKey.OFFSET_COMMIT: _OF_MEMBERS,
    ApiKey.OFFSET_FETCH: _row(_GROUP, "DESCRIBE GROUP"),
    ApiKey.OFFSET_DELETE: _row(_GROUP, "DELETE GROUP"),
    ApiKey.JOIN_GROUP: _OF_MEMBERS,
    ApiKey.SYNC_GROUP: _OF_MEMBERS,
    ApiKey.HEARTBEAT: _OF_MEMBERS,
    ApiKey.LEAVE_GROUP: _OF_MEMBERS,
    ApiKey.DESCRIBE_GROUPS: _row(_GROUP, "DESCRIBE GROUP"),
    ApiKey.LIST_GROUPS: _row(None, "DESCRIBE CLUSTER"),
    ApiKey.DELETE_GROUPS: _row(_GROUP, "DELETE GROUP"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _OF_MEMBERS,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _row(_GROUP, "DESCRIBE GROUP"),
    # Transactions.
    ApiKey.INIT_PRODUCER_ID: _OF_PRODUCERS,
    ApiKey.ADD_PARTITIONS_TO_TXN: _OF_PRODUCERS,
    ApiKey.ADD_OFFSETS_TO_TXN: _OF_PRODUCERS,
    ApiKey.END_TXN: _OF_PRODUCERS,
    ApiKey.TXN_OFFSET_COMMIT: _OF_PRODUCERS,
    ApiKey.WRITE_TXN_MARKERS: _row(_CLUSTER, "ALTER CLUSTER", "CLUSTER_ACTION CLUSTER"),
    ApiKey.DESCRIBE_TRANSACTIONS: _row(_TRANSACTION, "DESCRIBE TRANSACTIONAL_ID"),
    ApiKey.LIST_TRANSACTIONS: _NOBODY,  # what may not be seen is left out, and there is none
}


def row(key: ApiKey, listener: ListenerRole, version: int) -> Row:
    """KeyError for an API of which nobody has looked up what Kafka asks."""
    if key is ApiKey.ADD_PARTITIONS_TO_TXN and version >= _FIRST_OF_BROKERS:
        return _OF_NODES
    return ROWS.get((key, listener)) or ROWS[key]


#: AddPartitionsToTxn is a producer's before, and a broker's from here on.
_FIRST_OF_BROKERS = 4
_ANY_CONFIG_OF_TOPIC = 2

#: By API: fields that a full request cannot have at random, at the top or in elements of these lists.
_ADJUSTED: Mapping[ApiKey, Mapping[str, Any]] = {
    ApiKey.FETCH: {"session_id": 0, "session_epoch": -1, "replica_id": -1, "replica_state.replica_id": -1},
    ApiKey.DESCRIBE_CONFIGS: {"resources.resource_type": _ANY_CONFIG_OF_TOPIC},
    ApiKey.ALTER_CONFIGS: {"resources.resource_type": _ANY_CONFIG_OF_TOPIC},
    ApiKey.INCREMENTAL_ALTER_CONFIGS: {"resources.resource_type": _ANY_CONFIG_OF_TOPIC},
    ApiKey.DESCRIBE_CLUSTER: {"include_cluster_authorized_operations": True},
    ApiKey.FIND_COORDINATOR: {"key_type": 0},
}
_FIRST_METADATA_BY_ID, _FIRST_DELETE_BY_ID = 12, 6


def request(key: ApiKey, version: int, topic_ids: Mapping[str, bytes]) -> Any:
    """About partition 1 of each of the topics, group "a", transactional id "a"."""
    made = full_request(key, version)
    for path, value in _ADJUSTED.get(key, {}).items():
        _put(made, path.split("."), value)
    if key is ApiKey.METADATA and version < _FIRST_METADATA_BY_ID:
        _put(made, ["topics", "topic_id"], ZERO_UUID)
    if key is ApiKey.DELETE_TOPICS and version >= _FIRST_DELETE_BY_ID:
        _put(made, ["topics", "name"], None)
    _for_each(made, topic_ids)
    return made


#: What a full request has for a topic.
_NAME, _ID = "a", b"u" * 16
_NAMING_FIELDS = ("name", "topic", "topic_name", "resource_name")


def _for_each(message: Message, topic_ids: Mapping[str, bytes]) -> None:
    """Every element that is about a topic becomes one for each of the topics."""
    for name in message.field_names():
        value = getattr(message, name)
        if isinstance(value, list):
            setattr(message, name, [made for one in value for made in _copies(name, one, topic_ids)])


def _copies(list_name: str, element: Any, topic_ids: Mapping[str, bytes]) -> list[Any]:
    if list_name == "topic_names":
        return list(topic_ids)
    if not isinstance(element, Message) or not topic_of(element, {_NAME: _ID}):
        return [element]
    made = []
    for topic, topic_id in topic_ids.items():
        copied = copy(element)
        for name in copied.field_names():
            value = getattr(copied, name)
            if value == _ID:
                setattr(copied, name, topic_id)
            elif name in _NAMING_FIELDS and value == _NAME:
                setattr(copied, name, topic)
        made.append(copied)
    return made


def topic_of(element: Message, topic_ids: Mapping[str, bytes]) -> str | None:
    """The topic that a part of a message is about: the one that it names, by name or by id."""
    names = {topic_id: name for name, topic_id in topic_ids.items()} | {name: name for name in topic_ids}
    values = [getattr(element, name, None) for name in (*_NAMING_FIELDS, "topic_id")]
    return next((names[value] for value in values if isinstance(value, str | bytes) and value in names), None)


def _put(target: Any, path: list[str], value: Any) -> None:
    *above, name = path
    reached = [target]
    for step in above:
        found = [getattr(one, step) for one in reached]
        reached = [each for one in found for each in (one if isinstance(one, list) else [one])]
    for one in reached:
        setattr(one, name, value)
