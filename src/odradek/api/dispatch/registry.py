"""The one list of APIs that are served, and what follows from it.

A handler is `handle(ctx, request)`: a plain function that answers at once, or a coroutine function that answers later.
Its result is the response, or None where the protocol has none (Produce with acks=0). It lives in a module of its own
under `odradek.api.handlers`, named here and imported when the first request for it comes, so that a node starts without
reading them all.

Versions and listeners are those of the protocol's table unless an entry narrows them. What is not in the list is
neither advertised nor accepted: a request for it closes the connection, as Kafka does for an API that it does not have.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from odradek.api.dispatch.context import Context, Session
from odradek.common.failures import check
from odradek.protocol.api_keys import APIS, ApiKey, ListenerRole, accepted_versions
from odradek.protocol.message import Message
from odradek.protocol.schema import Versions

Answer = Message | None
#: The request's class follows from the key, so its type is not said again here.
Handler = Callable[[Context, Any], Answer | Awaitable[Answer]]
#: Takes a whole frame. The answer's frame; or a message that is the answer; or None, and nothing done, if the request
#: is one for the handler.
Quick = Callable[[Session, bytearray], bytes | Message | None]


@dataclass(frozen=True, slots=True)
class Api:
    key: ApiKey
    #: The function, or the name of the module whose `handle` it is: one under `odradek.api.handlers`, or a full name.
    handle: Handler | str
    #: None: all versions that the protocol's table has for the listener.
    versions: Versions | None = None
    #: None: all listeners that the protocol's table has it on.
    listeners: tuple[ListenerRole, ...] | None = None
    #: It waits for data or for time and holds nothing meanwhile: it takes no place in the queue that
    #: `queued.max.requests` bounds (or consumers that wait could keep everybody else out), and it is dropped when its
    #: connection goes.
    long_poll: bool = False
    #: All it changes is changed before it first waits, so that the connection's next request may begin meanwhile.
    #: Otherwise requests of a connection are handled one after the other, which is what Kafka's clients rely on.
    pipelined: bool = False
    #: It may give the same object again, unchanged, for the same answer: that is encoded only once.
    repeats: bool = False
    #: The module whose `quick` answers the usual request at less cost.
    quick: str | None = None

    def served_on(self, listener: ListenerRole) -> bool:
        if self.listeners is not None and listener not in self.listeners:
            return False
        return APIS[self.key].advertised(listener) is not None

    def advertised(self, listener: ListenerRole) -> Versions:
        known = APIS[self.key].advertised(listener)
        check(known is not None, f"{self.key.name} is served on a listener that has no such API")
        assert known is not None
        return known if self.versions is None else self.versions

    def accepted(self, listener: ListenerRole) -> Versions:
        known = accepted_versions(listener)[int(self.key)]
        wanted = known if self.versions is None else self.versions
        return Versions(max(known.first, wanted.first), min(known.last, wanted.last))


_ON_BROKER = (ListenerRole.BROKER,)
_ON_CONTROLLER = (ListenerRole.CONTROLLER,)
_FORWARDING = "odradek.api.dispatch.forwarding"


def _of_quorum(key: ApiKey, module: str) -> Api:
    """Raft's own, one after the other as Kafka handles them: an answer may rest on what is being written."""
    return Api(key, module, listeners=_ON_CONTROLLER)


def _of_controller(key: ApiKey, module: str) -> Api:
    """The controller decides in the order in which it is asked, and all that is left then is to wait for the log."""
    return Api(key, module, listeners=_ON_CONTROLLER, pipelined=True)


def _through_brokers(api: Api, on_broker: str = _FORWARDING) -> tuple[Api, Api]:
    """What clients ask a broker for, and it passes on to the active controller: both ends of it."""
    return Api(api.key, on_broker, listeners=_ON_BROKER), api


#: Every API that is served, in the order of their keys.
SERVED: tuple[Api, ...] = (
    Api(ApiKey.PRODUCE, "produce", pipelined=True, quick="produce_quick"),
    Api(ApiKey.FETCH, "fetch", listeners=_ON_BROKER, long_poll=True, pipelined=True),
    Api(ApiKey.FETCH, "fetch_metadata_log", listeners=_ON_CONTROLLER, long_poll=True, pipelined=True),
    Api(ApiKey.LIST_OFFSETS, "list_offsets"),
    Api(ApiKey.METADATA, "metadata"),
    Api(ApiKey.OFFSET_COMMIT, "offset_commit", pipelined=True),
    Api(ApiKey.OFFSET_FETCH, "offset_fetch"),
    Api(ApiKey.FIND_COORDINATOR, "find_coordinator", long_poll=True),
    Api(ApiKey.JOIN_GROUP, "join_group", long_poll=True),
    Api(ApiKey.HEARTBEAT, "heartbeat"),
    Api(ApiKey.LEAVE_GROUP, "leave_group"),
    Api(ApiKey.SYNC_GROUP, "sync_group", long_poll=True),
    Api(ApiKey.DESCRIBE_GROUPS, "describe_groups"),
    Api(ApiKey.LIST_GROUPS, "list_groups"),
    Api(ApiKey.API_VERSIONS, "api_versions", repeats=True),
    *_through_brokers(_of_controller(ApiKey.CREATE_TOPICS, "create_topics")),
    *_through_brokers(_of_controller(ApiKey.DELETE_TOPICS, "delete_topics")),
    Api(ApiKey.DELETE_RECORDS, "delete_records"),
    Api(ApiKey.INIT_PRODUCER_ID, "init_producer_id"),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, "offset_for_leader_epoch"),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, "add_partitions_to_txn"),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, "add_offsets_to_txn"),
    Api(ApiKey.END_TXN, "end_txn"),
    Api(ApiKey.WRITE_TXN_MARKERS, "write_txn_markers"),
    Api(ApiKey.TXN_OFFSET_COMMIT, "txn_offset_commit"),
    Api(ApiKey.DESCRIBE_CONFIGS, "describe_configs"),
    *_through_brokers(_of_controller(ApiKey.ALTER_CONFIGS, "alter_configs"), "config_forwarding"),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, "alter_replica_log_dirs"),
    Api(ApiKey.DESCRIBE_LOG_DIRS, "describe_log_dirs"),
    *_through_brokers(_of_controller(ApiKey.CREATE_PARTITIONS, "create_partitions")),
    Api(ApiKey.DELETE_GROUPS, "delete_groups"),
    *_through_brokers(_of_controller(ApiKey.ELECT_LEADERS, "elect_leaders")),
    *_through_brokers(
        _of_controller(ApiKey.INCREMENTAL_ALTER_CONFIGS, "incremental_alter_configs"), "config_forwarding"
    ),
    *_through_brokers(_of_controller(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "alter_partition_reassignments")),
    *_through_brokers(_of_controller(ApiKey.LIST_PARTITION_REASSIGNMENTS, "list_partition_reassignments")),
    Api(ApiKey.OFFSET_DELETE, "offset_delete"),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, "describe_client_quotas"),
    *_through_brokers(_of_controller(ApiKey.ALTER_CLIENT_QUOTAS, "alter_client_quotas")),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "describe_user_scram_credentials", listeners=_ON_BROKER),
    _of_quorum(ApiKey.VOTE, "vote"),
    _of_quorum(ApiKey.BEGIN_QUORUM_EPOCH, "begin_quorum_epoch"),
    _of_quorum(ApiKey.END_QUORUM_EPOCH, "end_quorum_epoch"),
    *_through_brokers(_of_quorum(ApiKey.DESCRIBE_QUORUM, "describe_quorum")),
    _of_controller(ApiKey.ALTER_PARTITION, "alter_partition"),
    *_through_brokers(_of_controller(ApiKey.UPDATE_FEATURES, "update_features")),
    _of_controller(ApiKey.ENVELOPE, "envelope"),
    _of_quorum(ApiKey.FETCH_SNAPSHOT, "fetch_snapshot"),
    Api(ApiKey.DESCRIBE_CLUSTER, "describe_cluster", listeners=_ON_BROKER),
    Api(ApiKey.DESCRIBE_CLUSTER, "describe_cluster_controllers", listeners=_ON_CONTROLLER),
    Api(ApiKey.DESCRIBE_PRODUCERS, "describe_producers"),
    _of_controller(ApiKey.BROKER_REGISTRATION, "broker_registration"),
    _of_controller(ApiKey.BROKER_HEARTBEAT, "broker_heartbeat"),
    *_through_brokers(_of_controller(ApiKey.UNREGISTER_BROKER, "unregister_broker")),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, "describe_transactions"),
    Api(ApiKey.LIST_TRANSACTIONS, "list_transactions"),
    _of_controller(ApiKey.ALLOCATE_PRODUCER_IDS, "allocate_producer_ids"),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, "consumer_group_heartbeat"),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, "consumer_group_describe"),
    _of_controller(ApiKey.CONTROLLER_REGISTRATION, "controller_registration"),
    _of_controller(ApiKey.ASSIGN_REPLICAS_TO_DIRS, "assign_replicas_to_dirs"),
    Api(ApiKey.LIST_CONFIG_RESOURCES, "list_config_resources"),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "describe_topic_partitions"),
    *_through_brokers(_of_quorum(ApiKey.ADD_RAFT_VOTER, "add_raft_voter")),
    *_through_brokers(_of_quorum(ApiKey.REMOVE_RAFT_VOTER, "remove_raft_voter")),
    _of_quorum(ApiKey.UPDATE_RAFT_VOTER, "update_raft_voter"),
)


class Entry:
    """An API with its function at hand."""

    __slots__ = ("encoded", "handle", "long_poll", "pipelined", "repeats")

    def __init__(self, api: Api) -> None:
        self.long_poll = api.long_poll
        self.pipelined = api.pipelined
        self.repeats = api.repeats
        #: By version: the last response, and its bytes.
        self.encoded: dict[int, tuple[Message, bytes]] = {}
        self.handle: Handler = _imported(api.handle) if isinstance(api.handle, str) else api.handle


class Registry:
    """What one kind of listener serves."""

    def __init__(self, listener: ListenerRole, apis: Iterable[Api] = SERVED) -> None:
        self.listener = listener
        self._apis = {int(api.key): api for api in sorted(apis, key=lambda api: api.key) if api.served_on(listener)}
        self._entries: dict[int, Entry] = {}
        #: By key, once there was a first request.
        self.quick: dict[int, Quick] = {}
        #: By key: what is parsed.
        self.accepted: Mapping[int, Versions] = {key: api.accepted(listener) for key, api in self._apis.items()}
        #: By key, ascending: what ApiVersions says.
        self.advertised: Mapping[int, Versions] = {key: api.advertised(listener) for key, api in self._apis.items()}

    def entry(self, api_key: int) -> Entry:
        """KeyError for what is not served here."""
        entry = self._entries.get(api_key)
        if entry is None:
            api = self._apis[api_key]
            entry = self._entries[api_key] = Entry(api)
            if api.quick is not None:
                self.quick[api_key] = import_module(f"odradek.api.handlers.{api.quick}").quick
        return entry

    def is_long_poll(self, api_key: int) -> bool:
        api = self._apis.get(api_key)
        return api is not None and api.long_poll


def _imported(name: str) -> Handler:
    handle: Handler = import_module(name if "." in name else f"odradek.api.handlers.{name}").handle
    return handle
