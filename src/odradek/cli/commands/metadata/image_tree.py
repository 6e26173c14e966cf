"""A metadata image as a tree of named nodes, with the names of Kafka's metadata shell.

    image/cluster/brokers/1             image/topics/byName/orders/0        image/configs/TOPIC:orders
    image/features/metadataVersion      image/clientQuotas/user(alice)      local/version

A directory creates its children when they are read: an image may have a hundred thousand partitions, of which one is
requested. A leaf has a JSON value. Keys of SCRAM credentials and passwords in settings are shown as `[redacted]` unless
secrets are requested. The secret of a delegation token is derived from its id, and is in no record.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from odradek import __version__
from odradek.cli.base.output import format_timestamp
from odradek.common.ids import uuid_to_text
from odradek.metadata.configs.definitions import is_sensitive
from odradek.metadata.image.acls import StandardAcl
from odradek.metadata.image.broker_registration import BrokerRegistration, ControllerRegistration, Endpoint
from odradek.metadata.image.client_quotas import QuotaEntity
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.delegation_tokens import DelegationToken
from odradek.metadata.image.image import MetadataImage, MetadataProvenance
from odradek.metadata.image.partition_registration import LeaderRecoveryState, PartitionRegistration
from odradek.metadata.image.scram import ScramCredential
from odradek.metadata.image.topics import TopicImage
from odradek.protocol.config_types import ConfigResourceType

REDACTED = "[redacted]"

#: Kafka's names, by number.
_RECOVERY_STATES = tuple(state.name for state in LeaderRecoveryState)
_SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_RESOURCE_TYPES = ("UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")
_PATTERN_TYPES = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")
_PERMISSIONS = ("UNKNOWN", "ANY", "DENY", "ALLOW")
_OPERATIONS = (
    *("UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION"),
    *("DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT"),
)
_QUOTA_ENTITIES = {"client-id": "clientId", "ip": "ip", "user": "user"}

#: Name of the default entity of a quota.
_DEFAULT_ENTITY = "<default>"


@dataclass(frozen=True, slots=True)
class Leaf:
    """Node with a JSON value."""

    content: Any


@dataclass(frozen=True, slots=True)
class Directory:
    """Node with children."""

    children: Callable[[], Mapping[str, "Node"]]


Node = Leaf | Directory


def root(image: MetadataImage, *, secrets: bool = False) -> Directory:
    return _directory(
        image=_directory(
            acls=_directory(byId=Directory(lambda: {uuid_to_text(k): _acl(v) for k, v in image.acls.acls.items()})),
            clientQuotas=Directory(lambda: _client_quotas(image)),
            cluster=_directory(
                brokers=Directory(lambda: {str(k): _broker(v) for k, v in image.cluster.brokers.items()}),
                controllers=Directory(lambda: {str(k): _controller(v) for k, v in image.cluster.controllers.items()}),
            ),
            configs=Directory(lambda: _configs(image, secrets)),
            delegationToken=Directory(lambda: {k: _token(v) for k, v in image.delegation_tokens.tokens.items()}),
            features=Directory(lambda: _features(image)),
            producerIds=_directory(nextProducerId=Leaf(image.producer_ids.next_producer_id)),
            provenance=_provenance(image.provenance),
            scram=Directory(lambda: _scram(image, secrets)),
            topics=_directory(
                byId=Directory(lambda: {uuid_to_text(k): _topic(v) for k, v in image.topics.by_id.items()}),
                byName=Directory(lambda: {k: _topic(v) for k, v in image.topics.by_name.items()}),
            ),
        ),
        local=_directory(commitId=Leaf("unknown"), version=Leaf(__version__)),
    )


def find(node: Node, names: list[str]) -> tuple[Node, list[str]]:
    """Return the deepest node on the path, and the names after it that do not exist. A name may contain slashes."""
    if not names or not isinstance(node, Directory):
        return node, names
    children = node.children()
    for length in range(1, len(names) + 1):
        child = children.get("/".join(names[:length]))
        if child is not None:
            return find(child, names[length:])
    return node, names


def sorted_names(names: Iterable[str]) -> list[str]:
    """Sort names: numbers by value, before all others."""
    return sorted(names, key=lambda name: (0, int(name), "") if name.isdecimal() else (1, 0, name))


def document(node: Node) -> Any:
    """Return the tree below a node as JSON."""
    if isinstance(node, Leaf):
        return node.content
    children = node.children()
    return {name: document(children[name]) for name in sorted_names(children)}


def _directory(**children: Node) -> Directory:
    return _directory_of(children)


def _directory_of(children: Mapping[str, Node]) -> Directory:
    return Directory(lambda: children)


def _provenance(provenance: MetadataProvenance) -> Leaf:
    time_ms = provenance.last_contained_log_time_ms
    time = None if time_ms < 0 else format_timestamp(time_ms, utc=True)
    offset, epoch = provenance.last_contained_offset, provenance.last_contained_epoch
    return Leaf({"offset": offset, "epoch": epoch, "time": time})


def _features(image: MetadataImage) -> dict[str, Node]:
    version = image.features.metadata_version
    levels = image.features.finalized_levels.items()
    finalized: dict[str, Node] = {f"finalized_{name}": Leaf(level) for name, level in levels}
    return {"metadataVersion": Leaf(None if version is None else version.version), **finalized}


def _topic(topic: TopicImage) -> Directory:
    def children() -> dict[str, Node]:
        partitions: dict[str, Node] = {
            str(index): _partition(partition) for index, partition in topic.partitions.items()
        }
        return {"id": Leaf(uuid_to_text(topic.id)), "name": Leaf(topic.name), **partitions}

    return Directory(children)


def _partition(partition: PartitionRegistration) -> Leaf:
    return Leaf(
        {
            "leader": partition.leader,
            "leaderEpoch": partition.leader_epoch,
            "partitionEpoch": partition.partition_epoch,
            "replicas": list(partition.replicas),
            "isr": list(partition.isr),
            "elr": list(partition.elr),
            "lastKnownElr": list(partition.last_known_elr),
            "addingReplicas": list(partition.adding_replicas),
            "removingReplicas": list(partition.removing_replicas),
            "leaderRecoveryState": _named(_RECOVERY_STATES, partition.leader_recovery_state),
            "directories": [uuid_to_text(directory) for directory in partition.directories],
        }
    )


def _broker(broker: BrokerRegistration) -> Leaf:
    cordoned = broker.cordoned_directories
    return Leaf(
        {
            "id": broker.id,
            "epoch": broker.epoch,
            "fenced": broker.fenced,
            "inControlledShutdown": broker.in_controlled_shutdown,
            "rack": broker.rack,
            "listeners": _endpoints(broker.listeners),
            "directories": [uuid_to_text(directory) for directory in broker.directories],
            "cordonedDirectories": None if cordoned is None else [uuid_to_text(directory) for directory in cordoned],
            "incarnationId": uuid_to_text(broker.incarnation_id),
            "isMigratingZkBroker": broker.is_migrating_zk_broker,
            "supportedFeatures": _ranges(broker.supported_features),
        }
    )


def _controller(controller: ControllerRegistration) -> Leaf:
    return Leaf(
        {
            "id": controller.id,
            "listeners": _endpoints(controller.listeners),
            "incarnationId": uuid_to_text(controller.incarnation_id),
            "zkMigrationReady": controller.zk_migration_ready,
            "supportedFeatures": _ranges(controller.supported_features),
        }
    )


def _endpoints(endpoints: Mapping[str, Endpoint]) -> list[dict[str, Any]]:
    return [
        {
            "name": endpoint.name,
            "host": endpoint.host,
            "port": endpoint.port,
            "securityProtocol": _named(_SECURITY_PROTOCOLS, endpoint.security_protocol),
        }
        for _, endpoint in sorted(endpoints.items())
    ]


def _ranges(features: Mapping[str, Any]) -> dict[str, str]:
    return {name: f"{levels.min}-{levels.max}" for name, levels in sorted(features.items())}


def _configs(image: MetadataImage, secrets: bool) -> dict[str, Node]:
    return {
        _resource_name(resource): _directory_of(_settings(resource, settings, secrets))
        for resource, settings in image.configs.resources.items()
    }


def _resource_name(resource: ConfigResource) -> str:
    """Return type and name; the empty name stands for all resources of the type."""
    is_known_type = resource.type in list(ConfigResourceType)
    type_name = ConfigResourceType(resource.type).name if is_known_type else str(resource.type)
    return f"{type_name}:{resource.name}" if resource.name else type_name


def _settings(resource: ConfigResource, settings: Mapping[str, str], secrets: bool) -> dict[str, Node]:
    return {
        name: Leaf(value if secrets or not is_sensitive(resource.type, name) else REDACTED)
        for name, value in settings.items()
    }


def _client_quotas(image: MetadataImage) -> dict[str, Node]:
    return {
        _entity_name(entity): _directory_of({key: Leaf(value) for key, value in quotas.items()})
        for entity, quotas in image.client_quotas.entities.items()
    }


def _entity_name(entity: QuotaEntity) -> str:
    return "_".join(
        f"{_QUOTA_ENTITIES.get(entity_type, entity_type)}({_escaped(name)})" for entity_type, name in entity
    )


def _escaped(name: str | None) -> str:
    if name is None:
        return _DEFAULT_ENTITY
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _acl(acl: StandardAcl) -> Leaf:
    return Leaf(
        {
            "resourceType": _named(_RESOURCE_TYPES, acl.resource_type),
            "resourceName": acl.resource_name,
            "patternType": _named(_PATTERN_TYPES, acl.pattern_type),
            "principal": acl.principal,
            "host": acl.host,
            "operation": _named(_OPERATIONS, acl.operation),
            "permissionType": _named(_PERMISSIONS, acl.permission_type),
        }
    )


def _scram(image: MetadataImage, secrets: bool) -> dict[str, Node]:
    """Return the users of each mechanism; both mechanisms are listed even without users."""
    users: dict[int, dict[str, Node]] = {mechanism: {} for mechanism in _SCRAM_MECHANISMS}
    for user, credential in image.scram.credentials.items():
        users.setdefault(user.mechanism, {})[user.name] = _credential(credential, secrets)
    return {
        _SCRAM_MECHANISMS.get(mechanism, str(mechanism)): _directory_of(credentials)
        for mechanism, credentials in users.items()
    }


def _credential(credential: ScramCredential, secrets: bool) -> Leaf:
    keys = {"salt": credential.salt, "storedKey": credential.stored_key, "serverKey": credential.server_key}
    values = {name: key.hex() if secrets else REDACTED for name, key in keys.items()}
    return Leaf({**values, "iterations": credential.iterations})


def _token(token: DelegationToken) -> Leaf:
    return Leaf(
        {
            "tokenId": token.token_id,
            "owner": token.owner,
            "requester": token.requester,
            "renewers": list(token.renewers),
            "issueTimestamp": token.issue_timestamp,
            "maxTimestamp": token.max_timestamp,
            "expiryTimestamp": token.expiration_timestamp,
        }
    )


def _named(names: tuple[str, ...], number: int) -> str | int:
    """Return the name of a number, or the number if it has none."""
    return names[number] if 0 <= number < len(names) else number
