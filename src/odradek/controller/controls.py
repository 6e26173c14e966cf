"""All controls of the controller: one state, changed by one method.

`replay` passes a record to the control that owns its state. Records of a metadata transaction are kept until it ends,
and are dropped if it is aborted, so that the state at every offset is that of an image of the log up to there.

There are no snapshots of older states. Records that were appended but not committed are reverted by rebuilding the
state from the committed image (`Controls.from_image`): that happens only when a leader is deposed, takes as long as
loading the image, and costs nothing until then, while timeline structures would cost on every read and write.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from odradek.common.failures import check, fail
from odradek.common.randomness import Randomness
from odradek.controller.acl_control import AclControl
from odradek.controller.client_quota_control import ClientQuotaControl
from odradek.controller.cluster_control import ClusterControl, ColocatedBroker
from odradek.controller.configuration_control import ConfigurationControl
from odradek.controller.decision import RequestRejected
from odradek.controller.delegation_token_control import DelegationTokenControl
from odradek.controller.feature_control import FeatureControl, QuorumFeatures
from odradek.controller.heartbeats import HeartbeatLimits
from odradek.controller.isr_control import IsrControl
from odradek.controller.leader_election import LeaderElection
from odradek.controller.partition_contexts import PartitionContexts
from odradek.controller.partition_creation import PartitionCreation, TopicDefaults
from odradek.controller.producer_id_control import ProducerIdControl
from odradek.controller.reassignment_control import ReassignmentControl
from odradek.controller.scram_control import ScramControl
from odradek.controller.topic_control import TopicControl
from odradek.controller.topic_registry import TopicRegistry
from odradek.metadata.image.configs import ConfigResource
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.records.record_types import TYPES_WITHOUT_EFFECT, Replay, route
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.abort_transaction_record import AbortTransactionRecord
from odradek.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from odradek.protocol.messages.begin_transaction_record import BeginTransactionRecord
from odradek.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from odradek.protocol.messages.clear_elr_record import ClearElrRecord
from odradek.protocol.messages.client_quota_record import ClientQuotaRecord
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.delegation_token_record import DelegationTokenRecord
from odradek.protocol.messages.end_transaction_record import EndTransactionRecord
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.protocol.messages.fence_broker_record import FenceBrokerRecord
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.producer_ids_record import ProducerIdsRecord
from odradek.protocol.messages.register_broker_record import RegisterBrokerRecord
from odradek.protocol.messages.register_controller_record import RegisterControllerRecord
from odradek.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from odradek.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord
from odradek.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from odradek.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from odradek.protocol.messages.unregister_controller_record import UnregisterControllerRecord
from odradek.protocol.messages.user_scram_credential_record import UserScramCredentialRecord


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """Settings of a controller that do not change."""

    cluster_id: str
    quorum: QuorumFeatures
    heartbeat: HeartbeatLimits = field(default_factory=HeartbeatLimits)
    topic_defaults: TopicDefaults = field(default_factory=TopicDefaults)
    #: Settings of the node's file.
    static_configs: Mapping[str, str] = field(default_factory=dict)
    #: Returns the level of kraft.version, which Raft keeps.
    kraft_version: Callable[[], int] = lambda: 1
    #: Incarnation id of the broker in the same process; None if there is none.
    broker_incarnation_id: bytes | None = None


class Controls:
    def __init__(self, settings: ControlSettings, random: Randomness) -> None:
        self.features = FeatureControl(settings.quorum, settings.kraft_version)
        colocated_broker = ColocatedBroker(settings.quorum.node_id, settings.broker_incarnation_id)
        self.cluster = ClusterControl(settings.cluster_id, settings.heartbeat, self.features, colocated_broker)
        self.configuration = ConfigurationControl(settings.quorum.node_id, settings.static_configs, self.features)
        self.registry = registry = TopicRegistry()
        contexts = PartitionContexts(registry, self.cluster, self.configuration, self.features)
        creation = PartitionCreation(self.cluster, random, settings.topic_defaults)
        self.topics = TopicControl(registry, self.configuration, self.features, creation, random)
        self.isr = IsrControl(registry, self.cluster, self.configuration, contexts)
        self.election = LeaderElection(registry, self.cluster, self.configuration, self.features, contexts)
        self.reassignment = ReassignmentControl(registry, self.cluster, self.configuration, self.features, contexts)
        self.producer_ids = ProducerIdControl(self.cluster)
        self.client_quotas = ClientQuotaControl()
        self.acls = AclControl()
        self.scram = ScramControl()
        self.delegation_tokens = DelegationTokenControl()
        #: Records of the open transaction with their offsets; None outside of one.
        self.open_transaction: list[tuple[Message, int]] | None = None
        self._replays = dict(self._routes())

    @staticmethod
    def from_image(settings: ControlSettings, random: Randomness, image: MetadataImage) -> "Controls":
        controls = Controls(settings, random)
        if not image.is_empty:
            for record in image.records_but_topics():
                controls.replay(record.message, image.offset)
            controls.registry.copy_image(image.topics)
        return controls

    def replay(self, message: Message, offset: int) -> None:
        replay = self._replays.get(message.API_KEY) if self.open_transaction is None else None
        if replay is not None:
            replay(message)
        else:
            self._replay_unusual(message, offset)

    def _replay_unusual(self, message: Message, offset: int) -> None:
        """Replay a record of a transaction, or one that needs its offset."""
        if isinstance(message, BeginTransactionRecord):
            check(self.open_transaction is None, "a transaction of metadata records begins inside another one")
            self.open_transaction = []
        elif isinstance(message, EndTransactionRecord | AbortTransactionRecord):
            records = self.open_transaction
            check(records is not None, f"{type(message).__name__} without a transaction")
            self.open_transaction = None
            if isinstance(message, EndTransactionRecord) and records is not None:
                for record, record_offset in records:
                    self._apply(record, record_offset)
        elif self.open_transaction is not None:
            self.open_transaction.append((message, offset))
        else:
            self._apply(message, offset)

    def check_resource_exists(self, resource: ConfigResource) -> None:
        """Raise RequestRejected for configs of a topic or a node that does not exist."""
        if resource.type == ConfigResourceType.TOPIC and resource.name not in self.registry.ids_by_name:
            raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
        if resource.type == ConfigResourceType.BROKER and resource.name:
            broker_id = int(resource.name)
            if broker_id not in self.cluster.brokers and broker_id not in self.cluster.controllers:
                raise RequestRejected(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {broker_id} found.")

    def durable_state(self) -> dict[str, object]:
        """Return the state that results from the log, without soft state, in a form that can be compared."""
        return {
            "features": (self.features.is_bootstrapped and self.features.finalized_levels()),
            "cluster": self.cluster.durable_state(),
            "topics": self.registry.durable_state(),
            "configs": {resource: dict(values) for resource, values in self.configuration.settings.items()},
            "producer ids": self.producer_ids.next_id,
            "quotas": {entity: dict(quotas) for entity, quotas in self.client_quotas.quotas.items()},
            "acls": dict(self.acls.acls),
            "scram": dict(self.scram.credentials),
            "tokens": dict(self.delegation_tokens.tokens),
            "transaction": None if self.open_transaction is None else list(self.open_transaction),
        }

    def _apply(self, message: Message, offset: int) -> None:
        if isinstance(message, RegisterBrokerRecord):
            self.cluster.replay_register_broker(message, offset)
        elif message.API_KEY not in TYPES_WITHOUT_EFFECT:
            replay = self._replays.get(message.API_KEY)
            if replay is None:
                fail(f"{type(message).__name__} is not a record of the controller")
            replay(message)

    def _replay_remove_topic(self, record: RemoveTopicRecord) -> None:
        """Remove the topic and its configs."""
        self.configuration.remove_topic(self.registry.replay_remove(record))

    def _routes(self) -> Iterable[tuple[int, Replay]]:
        """Yield the control that replays each type of record. RegisterBrokerRecord is not here: it needs its offset."""
        cluster, registry = self.cluster, self.registry
        yield route(UnregisterBrokerRecord, cluster.replay_unregister_broker)
        yield route(FenceBrokerRecord, cluster.replay_fence_broker)
        yield route(UnfenceBrokerRecord, cluster.replay_unfence_broker)
        yield route(BrokerRegistrationChangeRecord, cluster.replay_broker_change)
        yield route(RegisterControllerRecord, cluster.replay_register_controller)
        yield route(UnregisterControllerRecord, cluster.replay_unregister_controller)
        yield route(TopicRecord, registry.replay_topic)
        yield route(PartitionRecord, registry.replay_partition)
        yield route(PartitionChangeRecord, registry.replay_change)
        yield route(RemoveTopicRecord, self._replay_remove_topic)
        yield route(ClearElrRecord, registry.replay_clear_elr)
        yield route(ConfigRecord, self.configuration.replay)
        yield route(FeatureLevelRecord, self.features.replay)
        yield route(ClientQuotaRecord, self.client_quotas.replay)
        yield route(ProducerIdsRecord, self.producer_ids.replay)
        yield route(AccessControlEntryRecord, self.acls.replay)
        yield route(RemoveAccessControlEntryRecord, self.acls.replay_remove)
        yield route(UserScramCredentialRecord, self.scram.replay)
        yield route(RemoveUserScramCredentialRecord, self.scram.replay_remove)
        yield route(DelegationTokenRecord, self.delegation_tokens.replay)
        yield route(RemoveDelegationTokenRecord, self.delegation_tokens.replay_remove)
