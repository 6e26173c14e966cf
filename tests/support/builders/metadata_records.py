"""Random but sound sequences of metadata records: each contradicts nothing before it."""

from random import Random

from odradek.metadata.features.metadata_version import LATEST_PRODUCTION
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.message import Message
from odradek.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from odradek.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from odradek.protocol.messages.clear_elr_record import ClearElrRecord
from odradek.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.delegation_token_record import DelegationTokenRecord
from odradek.protocol.messages.feature_level_record import FeatureLevelRecord
from odradek.protocol.messages.fence_broker_record import FenceBrokerRecord
from odradek.protocol.messages.no_op_record import NoOpRecord
from odradek.protocol.messages.partition_change_record import PartitionChangeRecord
from odradek.protocol.messages.partition_record import PartitionRecord
from odradek.protocol.messages.producer_ids_record import ProducerIdsRecord
from odradek.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from odradek.protocol.messages.register_controller_record import ControllerEndpoint, RegisterControllerRecord
from odradek.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from odradek.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from odradek.protocol.messages.remove_topic_record import RemoveTopicRecord
from odradek.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from odradek.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from odradek.protocol.messages.unregister_controller_record import UnregisterControllerRecord
from odradek.protocol.messages.user_scram_credential_record import UserScramCredentialRecord


def first_records() -> list[Message]:
    return [
        FeatureLevelRecord(name="metadata.version", feature_level=int(LATEST_PRODUCTION)),
        FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
    ]


class RecordMaker:
    """Makes the next record for an image; names and ids come from small pools, so that records meet each other."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._epoch = 0

    def next_record(self, image: MetadataImage) -> Message:
        while True:
            made = self.random.choice(self.MAKERS)(self, image)
            if made is not None:
                return made

    def _replicas(self) -> list[int]:
        return self.random.sample(range(6), self.random.randint(1, 3))

    def _id(self, pool: int = 8) -> bytes:
        return bytes(15) + bytes((100 + self.random.randrange(pool),))

    def _broker(self, image: MetadataImage) -> int | None:
        return self.random.choice(sorted(image.cluster.brokers)) if image.cluster.brokers else None

    def topic(self, image: MetadataImage) -> Message | None:
        number = self.random.randrange(8)
        # A name may be taken again by another id, an id never by another name.
        name, topic_id = f"topic-{number}", bytes(14) + bytes((number, 100 + self.random.randrange(3)))
        if name in image.topics.by_name or topic_id in image.topics.by_id:
            return None
        return TopicRecord(name=name, topic_id=topic_id)

    def partition(self, image: MetadataImage) -> Message | None:
        if not image.topics.by_id:
            return None
        topic = image.topics.by_id[self.random.choice(sorted(image.topics.by_id))]
        replicas = self._replicas()
        return PartitionRecord(
            partition_id=len(topic.partitions),
            topic_id=topic.id,
            replicas=replicas,
            isr=list(replicas),
            leader=replicas[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=[self._id() for _ in replicas] if self.random.random() < 0.8 else [],
        )

    def partition_change(self, image: MetadataImage) -> Message | None:
        topics = [topic for _, topic in sorted(image.topics.by_id.items()) if topic.partitions]
        if not topics:
            return None
        topic = self.random.choice(topics)
        partition_id = self.random.choice(sorted(topic.partitions))
        change = PartitionChangeRecord(partition_id=partition_id, topic_id=topic.id)
        if self.random.random() < 0.5:
            change.isr = self._replicas()
        if self.random.random() < 0.5:
            change.leader = self.random.choice((-2, -1, 1, 2))
        if self.random.random() < 0.3:
            change.eligible_leader_replicas = self._replicas()
            change.last_known_elr = self._replicas()
        if self.random.random() < 0.3:
            change.replicas = self._replicas()
            change.directories = [self._id() for _ in change.replicas]
            change.adding_replicas = self._replicas()
            change.removing_replicas = []
        if self.random.random() < 0.2:
            change.leader_recovery_state = self.random.choice((0, 1))
        return change

    def remove_topic(self, image: MetadataImage) -> Message | None:
        if not image.topics.by_id or self.random.random() < 0.7:
            return None
        return RemoveTopicRecord(topic_id=self.random.choice(sorted(image.topics.by_id)))

    def clear_elr(self, image: MetadataImage) -> Message | None:
        if self.random.random() < 0.7:
            return None
        names = ["", *sorted(image.topics.by_name)]
        return ClearElrRecord(topic_name=self.random.choice(names))

    def config(self, image: MetadataImage) -> Message:
        kind, name = self.random.choice(
            [(2, name) for name in sorted(image.topics.by_name)] + [(4, ""), (4, "1"), (16, "m"), (32, "g")]
        )
        value = self.random.choice((None, "1", "2"))
        return ConfigRecord(
            resource_type=kind, resource_name=name, name=self.random.choice(("a", "b", "c")), value=value
        )

    def register_broker(self, image: MetadataImage) -> Message:
        self._epoch += 1
        return RegisterBrokerRecord(
            broker_id=self.random.randrange(6),
            broker_epoch=self._epoch,
            incarnation_id=self._id(),
            end_points=[BrokerEndpoint(name="PLAINTEXT", host="h", port=9092, security_protocol=0)],
            features=[BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
            rack=self.random.choice((None, "r1")),
            fenced=True,
            log_dirs=[self._id(), self._id()],
            cordoned_log_dirs=self.random.choice((None, [])),
        )

    def broker_change(self, image: MetadataImage) -> Message | None:
        broker_id = self._broker(image)
        if broker_id is None:
            return None
        epoch = image.cluster.broker_epoch(broker_id)
        change = BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=epoch,
            fenced=self.random.choice((-1, 0, 1)),
            in_controlled_shutdown=self.random.choice((0, 0, 1)),
            log_dirs=self.random.choice(([], [self._id()])),
            cordoned_log_dirs=self.random.choice((None, [self._id()])),
        )
        fence = FenceBrokerRecord(id=broker_id, epoch=epoch)
        unfence = UnfenceBrokerRecord(id=broker_id, epoch=epoch)
        unregister = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch)
        choices: tuple[Message, ...] = (change, change, fence, unfence, unregister)
        return self.random.choice(choices)

    def controller(self, image: MetadataImage) -> Message:
        controller_id = self.random.choice((3000, 3001))
        if controller_id in image.cluster.controllers and self.random.random() < 0.3:
            return UnregisterControllerRecord(controller_id=controller_id)
        return RegisterControllerRecord(
            controller_id=controller_id,
            incarnation_id=self._id(),
            end_points=[ControllerEndpoint(name="C", host="h", port=9093, security_protocol=0)],
        )

    def feature(self, image: MetadataImage) -> Message:
        return FeatureLevelRecord(
            name=self.random.choice(("group.version", "share.version")), feature_level=self.random.choice((0, 1))
        )

    def quota(self, image: MetadataImage) -> Message:
        entity = [EntityData(entity_type="user", entity_name=self.random.choice((None, "u")))]
        if self.random.random() < 0.5:
            entity.append(EntityData(entity_type="client-id", entity_name=self.random.choice((None, "c"))))
            self.random.shuffle(entity)
        key = self.random.choice(("producer_byte_rate", "request_percentage"))
        return ClientQuotaRecord(entity=entity, key=key, value=self.random.random(), remove=self.random.random() < 0.3)

    def security(self, image: MetadataImage) -> Message:
        acl_id = self._id()
        if acl_id in image.acls.acls:
            return RemoveAccessControlEntryRecord(id=acl_id)
        choices: tuple[Message, ...] = (
            AccessControlEntryRecord(
                id=acl_id,
                resource_type=2,
                resource_name="t",
                pattern_type=3,
                principal="User:u",
                host="*",
                operation=3,
                permission_type=3,
            ),
            UserScramCredentialRecord(
                name=self.random.choice("uv"),
                mechanism=self.random.choice((1, 2)),
                salt=b"s",
                stored_key=b"k",
                server_key=b"v",
                iterations=4096,
            ),
            RemoveUserScramCredentialRecord(name=self.random.choice("uv"), mechanism=1),
            DelegationTokenRecord(
                owner="User:u",
                requester="User:u",
                renewers=["User:v"],
                issue_timestamp=1,
                max_timestamp=9,
                expiration_timestamp=5,
                token_id=self.random.choice("ab"),
            ),
            RemoveDelegationTokenRecord(token_id=self.random.choice("ab")),
        )
        return self.random.choice(choices)

    def producer_ids(self, image: MetadataImage) -> Message:
        return ProducerIdsRecord(next_producer_id=max(0, image.producer_ids.next_producer_id) + 1000)

    def no_op(self, image: MetadataImage) -> Message:
        return NoOpRecord()

    MAKERS = (
        topic, topic, partition, partition, partition, partition_change, partition_change, remove_topic, clear_elr,
        config, config, register_broker, broker_change, controller, feature, quota, security, security, producer_ids,
        no_op,
    )  # fmt: skip
