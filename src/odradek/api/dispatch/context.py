"""Context of a request: the principal and connection that it came from, and the services of the node.

`Services` belongs to the node: one facade per attribute, put there by the composition root. `Session` belongs to a
connection and lives as long as it does. `Context` belongs to one request; Envelope makes another one for the request
inside, with the principal that the forwarding broker vouches for.
"""

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from odradek.api.dispatch.services import Controller, Coordinator, Forwarder, Image, Quorum, TopicCreator, Verifier
from odradek.common.failures import check, fail
from odradek.common.ports import Clock
from odradek.common.system_clock import SystemClock
from odradek.metadata.configs.dynamic import check_dynamic
from odradek.metadata.image.image import EMPTY
from odradek.protocol.api_keys import ListenerRole
from odradek.protocol.schema import Versions
from odradek.security.authorizer import ALLOW_ALL, EVERYTHING, Action, Authorizer
from odradek.security.resources import CLUSTER, OPERATIONS, Operation, Resource, ResourceType, bit_field, refusal

if TYPE_CHECKING:
    import asyncio

    from odradek.api.dispatch.registry import Registry
    from odradek.coordinator.transaction.marker_writing import MarkerWriter
    from odradek.coordinator.transaction.partition_addition import PartitionAddition
    from odradek.metadata.image.topics import TopicImage
    from odradek.replica.broker_replicas import BrokerReplicas

#: Whoever has not said who they are. Kafka's name.
ANONYMOUS = "User:ANONYMOUS"


@dataclass(frozen=True, slots=True)
class Features:
    """Levels of features: what this node can do, and what the cluster has agreed on."""

    supported: Mapping[str, Versions] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)
    #: Offset in the metadata log up to which `finalized` is known; -1 while nothing is.
    finalized_epoch: int = -1
    #: Only ever true on a ZooKeeper-mode controller that waits for brokers to migrate.
    zk_migration_ready: bool = False


async def _no_producer_ids() -> int:
    fail("a request for a producer id on a node that gives out none")


async def _no_producer_ids_at_hand() -> None:
    """Return at once; taking an id fails on a node that allocates none."""


@dataclass(slots=True)
class Services:
    """Services of the node for handlers: functions or objects of the domain, without rules of their own."""

    features: Callable[[], Features] = Features
    authorizer: Authorizer = ALLOW_ALL
    #: None on a node that has no such part; see `services`.
    quorum: Quorum | None = None
    controller: Controller | None = None
    forwarder: Forwarder | None = None
    #: None also where `auto.create.topics.enable` is false.
    topic_creator: TopicCreator | None = None
    #: Makes one of the cluster's own topics, whatever clients may have made: begins, and does not wait.
    create_internal_topic: Callable[[str], None] = lambda topic: None
    #: On a broker.
    replicas: "BrokerReplicas | None" = None
    groups: "Coordinator[Any] | None" = None
    transactions: "Coordinator[Any] | None" = None
    verifier: Verifier | None = None
    #: What this broker does itself for transactions that are coordinated elsewhere.
    marker_writer: "MarkerWriter | None" = None
    partition_addition: "PartitionAddition | None" = None
    #: By connection: who verifies a transaction now, and lets the next request of the connection wait.
    verifying: dict[str, "asyncio.Future[None]"] = field(default_factory=dict)
    #: Told when a request is left waiting in a purgatory: its deadline may be the next one.
    began_to_wait: Callable[[], None] = lambda: None
    new_producer_id: Callable[[], Awaitable[int]] = _no_producer_ids
    #: Until the coordinator of transactions can take one without waiting.
    producer_ids_at_hand: Callable[[], Awaitable[None]] = _no_producer_ids_at_hand
    #: Size of the disk that a directory is on, and what is free of it.
    disk_space: Callable[[str], tuple[int, int]] = lambda path: (-1, -1)
    image: Image = lambda: EMPTY
    cluster_id: str = ""
    node_id: int = -1
    #: Refuses what cannot be set while brokers run: all values, and whether they are for this broker alone.
    check_broker_configs: Callable[[Mapping[str, str], bool], None] = check_dynamic
    #: The node's file, as text.
    static_configs: Mapping[str, str] = field(default_factory=dict)
    #: `fetch.max.bytes`: no response to a fetch is larger, but for a single batch that is.
    fetch_max_bytes: int = 57_671_680
    clock: Clock = field(default_factory=SystemClock)
    #: By broker and its epoch: the connection that its latest heartbeat came on.
    heartbeat_connections: dict[tuple[int, int], str] = field(default_factory=dict)


@dataclass(slots=True)
class Session:
    """One connection, as handlers see it."""

    #: Kafka's form: local address, remote address, number of the connection.
    connection_id: str
    listener_name: str
    listener: ListenerRole
    security_protocol: str
    client_address: str
    registry: "Registry"
    services: Services
    principal: str = ANONYMOUS
    #: False only on a listener that asks for SASL, until it has succeeded.
    authenticated: bool = True
    #: What the client said of itself in ApiVersions; Kafka's word for silence.
    client_software_name: str = "unknown"
    client_software_version: str = "unknown"
    #: Called once when the connection is gone, in order. A handler that ties something to the connection adds to it.
    on_close: list[Callable[[], None]] = field(default_factory=list)


class Context:
    """One request's surroundings. A plain class with slots: one is made per request, fifty thousand times a second."""

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id", "principal", "session", "started_ns")

    def __init__(
        self, session: Session, api_key: int, api_version: int, correlation_id: int, client_id: str, principal: str
    ) -> None:
        self.session = session
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.principal = principal
        #: When it began, for whoever measures.
        self.started_ns = 0

    @property
    def services(self) -> Services:
        return self.session.services

    @property
    def quorum(self) -> Quorum:
        quorum = self.session.services.quorum
        check(quorum is not None, "a request for the quorum on a node that has no part in it")
        assert quorum is not None
        return quorum

    @property
    def controller(self) -> Controller:
        controller = self.session.services.controller
        check(controller is not None, "a request for the controller on a node that has none")
        assert controller is not None
        return controller

    @property
    def replicas(self) -> "BrokerReplicas":
        replicas = self.session.services.replicas
        check(replicas is not None, "a request for replicas on a node that has none")
        assert replicas is not None
        return replicas

    @property
    def verifier(self) -> Verifier:
        verifier = self.session.services.verifier
        check(verifier is not None, "a transaction is to be verified on a node that cannot ask")
        assert verifier is not None
        return verifier

    @property
    def marker_writer(self) -> "MarkerWriter":
        writer = self.session.services.marker_writer
        assert writer is not None
        return writer

    @property
    def partition_addition(self) -> "PartitionAddition":
        addition = self.session.services.partition_addition
        assert addition is not None
        return addition

    @property
    def groups(self) -> "Coordinator[Any]":
        groups = self.session.services.groups
        check(groups is not None, "a request for groups on a node that coordinates none")
        assert groups is not None
        return groups

    @property
    def transactions(self) -> "Coordinator[Any]":
        transactions = self.session.services.transactions
        check(transactions is not None, "a request for transactions on a node that coordinates none")
        assert transactions is not None
        return transactions

    def may(self, operation: Operation, resource: Resource) -> bool:
        """Return True if the principal may perform the operation on the resource."""
        authorizer = self.session.services.authorizer
        if authorizer is ALLOW_ALL:
            return True
        return authorizer.authorize(self.principal, self.session.client_address, [Action(operation, resource)])[0]

    def may_on_any(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Return True if the principal may perform the operation on any resource of the type."""
        services = self.session.services
        return services.authorizer is ALLOW_ALL or services.authorizer.authorize_by_resource_type(
            self.principal, self.session.client_address, operation, resource_type
        )

    def authorize(self, operation: Operation, resource: Resource = CLUSTER) -> None:
        """Raises ApiError with the code for the kind of resource, for the whole request."""
        if not self.may(operation, resource):
            raise refusal(resource.type)

    def allowed(self, operation: Operation, resource_type: ResourceType, names: Iterable[str]) -> Container[str]:
        """Return the names on which the principal may perform the operation; each name is authorized once."""
        authorizer = self.session.services.authorizer
        if authorizer is ALLOW_ALL:
            return EVERYTHING
        unique_names = list(dict.fromkeys(names))
        actions = [Action(operation, Resource(resource_type, name)) for name in unique_names]
        decisions = authorizer.authorize(self.principal, self.session.client_address, actions)
        return {name for name, is_allowed in zip(unique_names, decisions, strict=True) if is_allowed}

    def authorized_operations(self, resource: Resource) -> int:
        """Return the operations that the principal may perform on the resource, as the bit field of responses."""
        operations = OPERATIONS[resource.type]
        authorizer = self.session.services.authorizer
        if authorizer is not ALLOW_ALL:
            actions = [Action(operation, resource) for operation in operations]
            decisions = authorizer.authorize(self.principal, self.session.client_address, actions)
            operations = tuple(
                candidate for candidate, is_allowed in zip(operations, decisions, strict=True) if is_allowed
            )
        return bit_field(operations)

    def topic_name(self, topic_id: bytes) -> str | None:
        """None for an id that is no topic's, as far as this node knows."""
        topic: TopicImage | None = self.session.services.image().topics.by_id.get(topic_id)
        return None if topic is None else topic.name

    def deadline_ms(self, timeout_ms: int) -> int:
        """Return the deadline of this request on the monotonic clock."""
        return self.session.services.clock.monotonic_ms() + timeout_ms

    @property
    def registry(self) -> "Registry":
        return self.session.registry

    @property
    def listener_name(self) -> str:
        return self.session.listener_name

    @property
    def connection_id(self) -> str:
        return self.session.connection_id
