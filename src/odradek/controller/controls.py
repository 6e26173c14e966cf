"""All concerns of the controller together: one state, changed by one method.

`replay` takes a record to whom it concerns. Records of a metadata transaction wait until it ends, and are dropped if it
is aborted, so that the state here is at every offset what an image of the log up to there says.

There are no snapshots of older states. What was appended but not committed is reverted by beginning anew from the
committed image (`Controls.from_image`): that happens only when a leader is deposed, takes about as long as loading the
image did, and costs nothing until then, where timeline structures would cost on every read and write.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from odradek.common.failures import check, fail
from odradek.controller.client_quota_control import ClientQuotaControl
from odradek.controller.cluster_control import ClusterControl, Neighbour
from odradek.controller.configuration_control import ConfigurationControl
from odradek.controller.feature_control import FeatureControl, QuorumFeatures
from odradek.controller.heartbeats import HeartbeatLimits
from odradek.controller.isr_control import IsrControl
from odradek.controller.leader_election import LeaderElection
from odradek.controller.producer_id_control import ProducerIdControl
from odradek.controller.reassignment_control import ReassignmentControl
from odradek.controller.replica_placer import Randomness
from odradek.controller.replication_state import ReplicationState
from odradek.controller.security_control import AclControl, DelegationTokenControl, ScramControl
from odradek.controller.topic_control import TopicControl, TopicDefaults
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.message import Message
from odradek.protocol.messages.abort_transaction_record import AbortTransactionRecord
from odradek.protocol.messages.begin_transaction_record import BeginTransactionRecord
from odradek.protocol.messages.end_transaction_record import EndTransactionRecord


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """What a controller is told once, when it starts."""

    cluster_id: str
    quorum: QuorumFeatures
    heartbeat: HeartbeatLimits = field(default_factory=HeartbeatLimits)
    topic_defaults: TopicDefaults = field(default_factory=TopicDefaults)
    #: The node's own file.
    static_configs: Mapping[str, str] = field(default_factory=dict)
    #: The level of kraft.version, which Raft keeps.
    kraft_version: Callable[[], int] = lambda: 1
    #: Of the broker in the same process; None where there is none.
    broker_incarnation_id: bytes | None = None


#: Records without effect on this state: NoOp, and a migration that is long over.
_WITHOUT_EFFECT: Final = (20, 21)

_REGISTER_BROKER: Final = 0


class Controls:
    def __init__(self, settings: ControlSettings, random: Randomness) -> None:
        self.features = FeatureControl(settings.quorum, settings.kraft_version)
        neighbour = Neighbour(settings.quorum.node_id, settings.broker_incarnation_id)
        self.cluster = ClusterControl(settings.cluster_id, settings.heartbeat, self.features, neighbour)
        self.configuration = ConfigurationControl(settings.quorum.node_id, settings.static_configs, self.features)
        self.replication = ReplicationState(self.cluster, self.configuration, self.features)
        self.topics = TopicControl(self.replication, random, settings.topic_defaults)
        self.isr = IsrControl(self.replication)
        self.election = LeaderElection(self.replication)
        self.reassignment = ReassignmentControl(self.replication)
        self.producer_ids = ProducerIdControl(self.cluster)
        self.client_quotas = ClientQuotaControl()
        self.acls = AclControl()
        self.scram = ScramControl()
        self.delegation_tokens = DelegationTokenControl()
        #: Records of the open transaction with their offsets; None outside of one.
        self.open_transaction: list[tuple[Message, int]] | None = None
        self._replays = self._replay_methods()

    @staticmethod
    def from_image(settings: ControlSettings, random: Randomness, image: MetadataImage) -> "Controls":
        controls = Controls(settings, random)
        if not image.is_empty:
            for record in image.records_but_topics():
                controls.replay(record.message, image.offset)
            controls.replication.take_over(image.topics)
        return controls

    def replay(self, message: Message, offset: int) -> None:
        replay = self._replays.get(message.API_KEY) if self.open_transaction is None else None
        if replay is not None:
            replay(message)
        else:
            self._replay_unusual(message, offset)

    def _replay_unusual(self, message: Message, offset: int) -> None:
        """Transactions, and what needs its offset."""
        if isinstance(message, BeginTransactionRecord):
            check(self.open_transaction is None, "a transaction of metadata records begins inside another one")
            self.open_transaction = []
        elif isinstance(message, EndTransactionRecord | AbortTransactionRecord):
            waiting = self.open_transaction
            check(waiting is not None, f"{type(message).__name__} without a transaction")
            self.open_transaction = None
            if isinstance(message, EndTransactionRecord) and waiting is not None:
                for waited, its_offset in waiting:
                    self._apply(waited, its_offset)
        elif self.open_transaction is not None:
            self.open_transaction.append((message, offset))
        else:
            self._apply(message, offset)

    def durable_state(self) -> dict[str, object]:
        """All that the log decides, and nothing else, in a form that can be compared."""
        return {
            "features": (self.features.is_bootstrapped and self.features.finalized_levels()),
            "cluster": self.cluster.durable_state(),
            "topics": self.replication.durable_state(),
            "configs": {resource: dict(values) for resource, values in self.configuration.settings.items()},
            "producer ids": self.producer_ids.next_id,
            "quotas": {entity: dict(quotas) for entity, quotas in self.client_quotas.quotas.items()},
            "acls": dict(self.acls.acls),
            "scram": dict(self.scram.credentials),
            "tokens": dict(self.delegation_tokens.tokens),
            "transaction": None if self.open_transaction is None else list(self.open_transaction),
        }

    def _apply(self, message: Message, offset: int) -> None:
        key = message.API_KEY
        if key == _REGISTER_BROKER:
            self.cluster.replay_register_broker(message, offset)  # type: ignore[arg-type]
        elif key not in _WITHOUT_EFFECT:
            replay = self._replays.get(key)
            if replay is None:
                fail(f"{type(message).__name__} is no record of the controller's")
            replay(message)

    def _replay_methods(self) -> dict[int, Callable[[Any], None]]:
        return {
            1: self.cluster.replay_unregister_broker,
            2: self.replication.replay_topic,
            3: self.replication.replay_partition,
            4: self.configuration.replay,
            5: self.replication.replay_change,
            7: self.cluster.replay_fence_broker,
            8: self.cluster.replay_unfence_broker,
            9: self.replication.replay_remove,
            10: self.delegation_tokens.replay,
            11: self.scram.replay,
            12: self.features.replay,
            14: self.client_quotas.replay,
            15: self.producer_ids.replay,
            17: self.cluster.replay_broker_change,
            18: self.acls.replay,
            19: self.acls.replay_remove,
            22: self.scram.replay_remove,
            26: self.delegation_tokens.replay_remove,
            27: self.cluster.replay_register_controller,
            28: self.replication.replay_clear_elr,
            29: self.cluster.replay_unregister_controller,
        }
