"""Clients of Odradek or of any Kafka cluster: producer, consumer, admin client, and the values that they use.

    from odradek.client import Producer, Consumer, Admin

These are for asyncio; `blocking` has the same three for threads and scripts. Exceptions are in `odradek.errors`. A name
is imported when it is first used, so that importing this package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.client import blocking
    from odradek.client.admin.admin import Admin, OffsetSpec
    from odradek.client.admin.cluster import NodesDescription
    from odradek.client.admin.configs import ConfigChange, ConfigEntry, ConfigResource
    from odradek.client.admin.features import Features, FeatureUpdate, UpgradeType
    from odradek.client.admin.groups import GroupDescription, GroupListing, GroupMember, MemberToRemove
    from odradek.client.admin.log_dirs import LogDir, Replica
    from odradek.client.admin.partitions import HIGH_WATERMARK, ElectionType, OffsetAndTimestamp
    from odradek.client.admin.quorum import QuorumDescription, VoterEndpoint
    from odradek.client.admin.quotas import QuotaEntity, QuotaFilter, ScramCredential
    from odradek.client.admin.reassignments import Reassignment
    from odradek.client.admin.topics import CreatedTopic, NewTopic, TopicDescription, TopicListing
    from odradek.client.admin.transactions import (
        ProducerIdAndEpoch,
        ProducerState,
        TransactionDescription,
        TransactionListing,
    )
    from odradek.client.consumer.consumer import Consumer
    from odradek.client.consumer.record_columns import RecordColumns
    from odradek.client.consumer.typed_record import ConsumerRecord
    from odradek.client.group.assignors.assignor import Assignor
    from odradek.client.group.group_metadata import GroupMetadata
    from odradek.client.group.listener import RebalanceListener
    from odradek.client.producer.delivery import BatchDelivery, Delivery, RecordMetadata, RecordRange
    from odradek.client.producer.producer import OutgoingRecord, Producer
    from odradek.client.serializers import Deserializer, Serializer
    from odradek.client.settings.settings import Partitioner
    from odradek.client.settings.typed_dicts import AdminSettings, ConsumerSettings, ProducerSettings
    from odradek.client.types import OffsetAndMetadata, TopicPartition
    from odradek.errors import InputError, KafkaError
    from odradek.protocol.config_types import ConfigOp, ConfigResourceType

__all__ = [
    "HIGH_WATERMARK",
    "Admin",
    "AdminSettings",
    "Assignor",
    "BatchDelivery",
    "ConfigChange",
    "ConfigEntry",
    "ConfigOp",
    "ConfigResource",
    "ConfigResourceType",
    "Consumer",
    "ConsumerRecord",
    "ConsumerSettings",
    "CreatedTopic",
    "Delivery",
    "Deserializer",
    "ElectionType",
    "FeatureUpdate",
    "Features",
    "GroupDescription",
    "GroupListing",
    "GroupMember",
    "GroupMetadata",
    "InputError",
    "KafkaError",
    "LogDir",
    "MemberToRemove",
    "NewTopic",
    "NodesDescription",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetSpec",
    "OutgoingRecord",
    "Partitioner",
    "Producer",
    "ProducerIdAndEpoch",
    "ProducerSettings",
    "ProducerState",
    "QuorumDescription",
    "QuotaEntity",
    "QuotaFilter",
    "Reassignment",
    "RebalanceListener",
    "RecordColumns",
    "RecordMetadata",
    "RecordRange",
    "Replica",
    "ScramCredential",
    "Serializer",
    "TopicDescription",
    "TopicListing",
    "TopicPartition",
    "TransactionDescription",
    "TransactionListing",
    "UpgradeType",
    "VoterEndpoint",
    "blocking",
]

#: Module of every name; below this package unless it begins with "odradek.".
_MODULES = {
    "AdminSettings": "settings.typed_dicts",
    "Admin": "admin.admin",
    "Assignor": "group.assignors.assignor",
    "BatchDelivery": "producer.delivery",
    "ConfigChange": "admin.configs",
    "ConfigEntry": "admin.configs",
    "ConfigOp": "odradek.protocol.config_types",
    "ConfigResource": "admin.configs",
    "ConfigResourceType": "odradek.protocol.config_types",
    "ConsumerSettings": "settings.typed_dicts",
    "Consumer": "consumer.consumer",
    "ConsumerRecord": "consumer.typed_record",
    "CreatedTopic": "admin.topics",
    "Delivery": "producer.delivery",
    "Deserializer": "serializers",
    "ElectionType": "admin.partitions",
    "FeatureUpdate": "admin.features",
    "Features": "admin.features",
    "GroupDescription": "admin.groups",
    "GroupListing": "admin.groups",
    "GroupMember": "admin.groups",
    "GroupMetadata": "group.group_metadata",
    "HIGH_WATERMARK": "admin.partitions",
    "InputError": "odradek.errors",
    "KafkaError": "odradek.errors",
    "LogDir": "admin.log_dirs",
    "MemberToRemove": "admin.groups",
    "NewTopic": "admin.topics",
    "NodesDescription": "admin.cluster",
    "OffsetAndMetadata": "types",
    "OffsetAndTimestamp": "admin.partitions",
    "OffsetSpec": "admin.admin",
    "OutgoingRecord": "producer.producer",
    "Partitioner": "settings.settings",
    "ProducerSettings": "settings.typed_dicts",
    "Producer": "producer.producer",
    "ProducerIdAndEpoch": "admin.transactions",
    "ProducerState": "admin.transactions",
    "QuorumDescription": "admin.quorum",
    "QuotaEntity": "admin.quotas",
    "QuotaFilter": "admin.quotas",
    "Reassignment": "admin.reassignments",
    "RebalanceListener": "group.listener",
    "RecordColumns": "consumer.record_columns",
    "RecordMetadata": "producer.delivery",
    "RecordRange": "producer.delivery",
    "Replica": "admin.log_dirs",
    "ScramCredential": "admin.quotas",
    "Serializer": "serializers",
    "TopicDescription": "admin.topics",
    "TopicListing": "admin.topics",
    "TopicPartition": "types",
    "TransactionDescription": "admin.transactions",
    "TransactionListing": "admin.transactions",
    "UpgradeType": "admin.features",
    "VoterEndpoint": "admin.quorum",
}

if not TYPE_CHECKING:  # or a misspelt name would be accepted as Any

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name == "blocking":
            return import_module("odradek.client.blocking")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = _MODULES[name]
        value = getattr(import_module(module if module.startswith("odradek.") else f"odradek.client.{module}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
