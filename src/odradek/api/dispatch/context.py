"""What a handler knows besides its request: who asks, on which connection, and what the node offers.

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
    from odradek.replica.replica_manager import ReplicaManager

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
    """Whoever needs one is refused when it takes it."""


@dataclass(slots=True)
class Services:
    """What the node offers to handlers. Facades are functions or objects of the domain; a handler adds no rules."""

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
    replicas: "ReplicaManager | None" = None
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
        found = self.session.services.quorum
        check(found is not None, "a request for the quorum on a node that has no part in it")
        assert found is not None
        return found

    @property
    def controller(self) -> Controller:
        found = self.session.services.controller
        check(found is not None, "a request for the controller on a node that has none")
        assert found is not None
        return found

    @property
    def replicas(self) -> "ReplicaManager":
        found = self.session.services.replicas
        check(found is not None, "a request for replicas on a node that has none")
        assert found is not None
        return found

    @property
    def verifier(self) -> Verifier:
        found = self.session.services.verifier
        check(found is not None, "a transaction is to be verified on a node that cannot ask")
        assert found is not None
        return found

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
        found = self.session.services.groups
        check(found is not None, "a request for groups on a node that coordinates none")
        assert found is not None
        return found

    @property
    def transactions(self) -> "Coordinator[Any]":
        found = self.session.services.transactions
        check(found is not None, "a request for transactions on a node that coordinates none")
        assert found is not None
        return found

    def may(self, operation: Operation, resource: Resource) -> bool:
        """Whether whoever asks may do so."""
        authorizer = self.session.services.authorizer
        if authorizer is ALLOW_ALL:
            return True
        return authorizer.authorize(self.principal, self.session.client_address, [Action(operation, resource)])[0]

    def may_on_any(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether there is any resource of the kind that whoever asks may do it on."""
        services = self.session.services
        return services.authorizer is ALLOW_ALL or services.authorizer.authorize_by_resource_type(
            self.principal, self.session.client_address, operation, resource_type
        )

    def authorize(self, operation: Operation, resource: Resource = CLUSTER) -> None:
        """Raises ApiError with the code for the kind of resource, for the whole request."""
        if not self.may(operation, resource):
            raise refusal(resource.type)

    def allowed(self, operation: Operation, resource_type: ResourceType, names: Iterable[str]) -> Container[str]:
        """Those of the names on which whoever asks may do it; asked for once each."""
        authorizer = self.session.services.authorizer
        if authorizer is ALLOW_ALL:
            return EVERYTHING
        asked = list(dict.fromkeys(names))
        actions = [Action(operation, Resource(resource_type, name)) for name in asked]
        answers = authorizer.authorize(self.principal, self.session.client_address, actions)
        return {name for name, is_allowed in zip(asked, answers, strict=True) if is_allowed}

    def authorized_operations(self, resource: Resource) -> int:
        """What whoever asks may do on it, as the bit field that responses show."""
        operations = OPERATIONS[resource.type]
        authorizer = self.session.services.authorizer
        if authorizer is not ALLOW_ALL:
            actions = [Action(operation, resource) for operation in operations]
            answers = authorizer.authorize(self.principal, self.session.client_address, actions)
            operations = tuple(one for one, is_allowed in zip(operations, answers, strict=True) if is_allowed)
        return bit_field(operations)

    def topic_name(self, topic_id: bytes) -> str | None:
        """None for an id that is no topic's, as far as this node knows."""
        topic: TopicImage | None = self.session.services.image().topics.by_id.get(topic_id)
        return None if topic is None else topic.name

    def deadline_ms(self, timeout_ms: int) -> int:
        """When the asker of this request has waited for so long, by the monotonic clock."""
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
