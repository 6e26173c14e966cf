"""Clients of Odradek or of any Kafka: producer, consumer, admin, and what they stand on.

    from odradek.client import Producer, Consumer, Admin

These are for asyncio; `odradek.client.blocking` has the same three for threads and scripts. Names are imported when
they are first used, so that importing this room costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.client import errors
    from odradek.client.admin.admin import Admin
    from odradek.client.consumer.consumer import Consumer
    from odradek.client.consumer.record import ConsumerRecord
    from odradek.client.errors import KafkaError
    from odradek.client.group.listener import RebalanceListener
    from odradek.client.producer.delivery import Delivery, RecordMetadata
    from odradek.client.producer.producer import OutgoingRecord, Producer
    from odradek.client.types import OffsetAndMetadata, TopicPartition
    from odradek.common.failures import InputError

__all__ = [
    "Admin",
    "Consumer",
    "ConsumerRecord",
    "Delivery",
    "InputError",
    "KafkaError",
    "OffsetAndMetadata",
    "OutgoingRecord",
    "Producer",
    "RebalanceListener",
    "RecordMetadata",
    "TopicPartition",
    "errors",
]

_MODULES = {
    "Admin": "admin.admin",
    "Consumer": "consumer.consumer",
    "ConsumerRecord": "consumer.record",
    "Delivery": "producer.delivery",
    "InputError": "errors",
    "KafkaError": "errors",
    "OffsetAndMetadata": "types",
    "OutgoingRecord": "producer.producer",
    "Producer": "producer.producer",
    "RebalanceListener": "group.listener",
    "RecordMetadata": "producer.delivery",
    "TopicPartition": "types",
}

if not TYPE_CHECKING:  # or a name that is misspelt would pass for Any

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name == "errors":
            return import_module("odradek.client.errors")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"odradek.client.{_MODULES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
