"""Changes of an image by some records: only the parts that the records touch.

Records are replayed in the order of the log. The delta of a part is created when the first record touches it and is
None until then, so that a publisher sees at a glance which parts changed. `apply` creates the next image, in which
untouched parts are the same objects as before.
"""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from odradek.common.failures import Fault
from odradek.metadata.features.metadata_version import MetadataVersion
from odradek.metadata.image.acls import AclsDelta
from odradek.metadata.image.client_quotas import ClientQuotasDelta
from odradek.metadata.image.cluster import ClusterDelta
from odradek.metadata.image.configs import ConfigsDelta
from odradek.metadata.image.delegation_tokens import DelegationTokensDelta
from odradek.metadata.image.features import FeaturesDelta
from odradek.metadata.image.image import EMPTY, MetadataImage, MetadataProvenance
from odradek.metadata.image.producer_ids import ProducerIdsDelta
from odradek.metadata.image.scram import ScramDelta
from odradek.metadata.image.topics import TopicsDelta
from odradek.metadata.records.record_types import TYPES_WITHOUT_EFFECT, Replay, part_route
from odradek.protocol.message import Message
from odradek.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from odradek.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from odradek.protocol.messages.clear_elr_record import ClearElrRecord
from odradek.protocol.messages.client_quota_record import ClientQuotaRecord
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.delegation_token_record import DelegationTokenRecord
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


class _PartDelta(Protocol):
    def finish_snapshot(self) -> None: ...


class MetadataDelta:
    def __init__(self, image: MetadataImage, topics: TopicsDelta | None = None) -> None:
        self.image = image
        self.features: FeaturesDelta | None = None
        self.cluster: ClusterDelta | None = None
        self.topics = topics
        self.configs: ConfigsDelta | None = None
        self.client_quotas: ClientQuotasDelta | None = None
        self.producer_ids: ProducerIdsDelta | None = None
        self.acls: AclsDelta | None = None
        self.scram: ScramDelta | None = None
        self.delegation_tokens: DelegationTokensDelta | None = None
        self._replays: dict[int, Replay] = {}

    @staticmethod
    def from_nothing_to(image: MetadataImage) -> "MetadataDelta":
        """Return the delta from the empty image to this one."""
        delta = MetadataDelta(EMPTY, None if image.topics.is_empty else TopicsDelta.from_nothing_to(image.topics))
        for record in image.records_but_topics():
            delta.replay(record.message)
        return delta

    @property
    def metadata_version_changed(self) -> MetadataVersion | None:
        return None if self.features is None else self.features.metadata_version_change

    def replay(self, message: Message) -> None:
        """Replay a record. One that contradicts the image is a Fault: the log is not what it was when written."""
        key = message.API_KEY
        replay = self._replays.get(key)
        if replay is None:
            replay = self._replays[key] = self._find_replay(message)
        replay(message)

    def finish_snapshot(self) -> None:
        """Drop everything of the old image that the records of a snapshot did not mention."""
        parts: tuple[_PartDelta, ...] = (
            self.touch_features(),
            self.touch_cluster(),
            self.touch_topics(),
            self.touch_configs(),
            self.touch_client_quotas(),
            self.touch_producer_ids(),
            self.touch_acls(),
            self.touch_scram(),
            self.touch_delegation_tokens(),
        )
        for part in parts:
            part.finish_snapshot()

    def apply(self, provenance: MetadataProvenance) -> MetadataImage:
        image, tokens = self.image, self.delegation_tokens
        return MetadataImage(
            provenance,
            features=image.features if self.features is None else self.features.apply(),
            cluster=image.cluster if self.cluster is None else self.cluster.apply(),
            topics=image.topics if self.topics is None else self.topics.apply(),
            configs=image.configs if self.configs is None else self.configs.apply(),
            client_quotas=image.client_quotas if self.client_quotas is None else self.client_quotas.apply(),
            producer_ids=image.producer_ids if self.producer_ids is None else self.producer_ids.apply(),
            acls=image.acls if self.acls is None else self.acls.apply(),
            scram=image.scram if self.scram is None else self.scram.apply(),
            delegation_tokens=image.delegation_tokens if tokens is None else tokens.apply(),
        )

    # Deltas of the parts, created by the first record that touches them

    def touch_features(self) -> FeaturesDelta:
        if self.features is None:
            self.features = FeaturesDelta(self.image.features)
        return self.features

    def touch_cluster(self) -> ClusterDelta:
        if self.cluster is None:
            self.cluster = ClusterDelta(self.image.cluster)
        return self.cluster

    def touch_topics(self) -> TopicsDelta:
        if self.topics is None:
            self.topics = TopicsDelta(self.image.topics)
        return self.topics

    def touch_configs(self) -> ConfigsDelta:
        if self.configs is None:
            self.configs = ConfigsDelta(self.image.configs)
        return self.configs

    def touch_client_quotas(self) -> ClientQuotasDelta:
        if self.client_quotas is None:
            self.client_quotas = ClientQuotasDelta(self.image.client_quotas)
        return self.client_quotas

    def touch_producer_ids(self) -> ProducerIdsDelta:
        if self.producer_ids is None:
            self.producer_ids = ProducerIdsDelta(self.image.producer_ids)
        return self.producer_ids

    def touch_acls(self) -> AclsDelta:
        if self.acls is None:
            self.acls = AclsDelta(self.image.acls)
        return self.acls

    def touch_scram(self) -> ScramDelta:
        if self.scram is None:
            self.scram = ScramDelta(self.image.scram)
        return self.scram

    def touch_delegation_tokens(self) -> DelegationTokensDelta:
        if self.delegation_tokens is None:
            self.delegation_tokens = DelegationTokensDelta(self.image.delegation_tokens)
        return self.delegation_tokens

    def replay_remove_topic(self, record: RemoveTopicRecord) -> None:
        """Remove the topic and its settings."""
        name = self.touch_topics().replay_remove(record)
        self.touch_configs().remove_topic(name)

    def itself(self) -> "MetadataDelta":
        return self

    def _find_replay(self, message: Message) -> Replay:
        if message.API_KEY in TYPES_WITHOUT_EFFECT:
            return _replay_nothing
        replay_of = _ROUTES.get(message.API_KEY)
        if replay_of is None:
            raise Fault(f"{type(message).__name__} is not a record of an image")
        return replay_of(self)


def _replay_nothing(_: Message) -> None:
    """Ignore a record without effect."""


#: Part of the delta and its method for each type of record.
_ROUTES: Final[Mapping[int, Callable[[MetadataDelta], Replay]]] = dict(
    (
        part_route(RegisterBrokerRecord, MetadataDelta.touch_cluster, ClusterDelta.replay_register_broker),
        part_route(UnregisterBrokerRecord, MetadataDelta.touch_cluster, ClusterDelta.replay_unregister_broker),
        part_route(FenceBrokerRecord, MetadataDelta.touch_cluster, ClusterDelta.replay_fence_broker),
        part_route(UnfenceBrokerRecord, MetadataDelta.touch_cluster, ClusterDelta.replay_unfence_broker),
        part_route(BrokerRegistrationChangeRecord, MetadataDelta.touch_cluster, ClusterDelta.replay_broker_change),
        part_route(RegisterControllerRecord, MetadataDelta.touch_cluster, ClusterDelta.replay_register_controller),
        part_route(UnregisterControllerRecord, MetadataDelta.touch_cluster, ClusterDelta.replay_unregister_controller),
        part_route(TopicRecord, MetadataDelta.touch_topics, TopicsDelta.replay_topic),
        part_route(PartitionRecord, MetadataDelta.touch_topics, TopicsDelta.replay_partition),
        part_route(PartitionChangeRecord, MetadataDelta.touch_topics, TopicsDelta.replay_change),
        part_route(ClearElrRecord, MetadataDelta.touch_topics, TopicsDelta.replay_clear_elr),
        part_route(RemoveTopicRecord, MetadataDelta.itself, MetadataDelta.replay_remove_topic),
        part_route(ConfigRecord, MetadataDelta.touch_configs, ConfigsDelta.replay),
        part_route(FeatureLevelRecord, MetadataDelta.touch_features, FeaturesDelta.replay),
        part_route(ClientQuotaRecord, MetadataDelta.touch_client_quotas, ClientQuotasDelta.replay),
        part_route(ProducerIdsRecord, MetadataDelta.touch_producer_ids, ProducerIdsDelta.replay),
        part_route(AccessControlEntryRecord, MetadataDelta.touch_acls, AclsDelta.replay),
        part_route(RemoveAccessControlEntryRecord, MetadataDelta.touch_acls, AclsDelta.replay_remove),
        part_route(UserScramCredentialRecord, MetadataDelta.touch_scram, ScramDelta.replay),
        part_route(RemoveUserScramCredentialRecord, MetadataDelta.touch_scram, ScramDelta.replay_remove),
        part_route(DelegationTokenRecord, MetadataDelta.touch_delegation_tokens, DelegationTokensDelta.replay),
        part_route(
            RemoveDelegationTokenRecord, MetadataDelta.touch_delegation_tokens, DelegationTokensDelta.replay_remove
        ),
    )
)
