"""Subscriptions and assignments of the consumers' embedded protocol, read and written by the coordinator.

Their metadata begins with a version; the layout of version 0 begins every other one, and topics come first in it. What
a newer version than ours has more is left unread, as in Kafka.
"""

import logging
from collections.abc import Iterable, Mapping

from odradek.common.failures import ProtocolError
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.codec import decode_prefix
from odradek.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from odradek.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from odradek.protocol.version_prefixed import VERSION_BYTES, prefixed_version, read_prefixed, write_prefixed

_log = logging.getLogger("odradek.groups")

PROTOCOL_TYPE = "consumer"


def subscribed_topics(group_id: str, metadata_of_members: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics that all members together subscribe to; None if one subscription cannot be read."""
    topics: list[str] = []
    try:
        for metadata in metadata_of_members:
            subscription, _ = decode_prefix(ConsumerProtocolSubscription, 0, metadata, VERSION_BYTES)
            topics += subscription.topics
    except ProtocolError as error:
        _log.warning("group %s: a member's subscription cannot be read (%s)", group_id, error)
        return None
    return frozenset(topics)


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises ProtocolError."""
    return read_prefixed(ConsumerProtocolSubscription, metadata)


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """Raises ProtocolError."""
    return read_prefixed(ConsumerProtocolAssignment, assignment)


def write_assignment(partitions: Mapping[bytes, Iterable[int]], image: MetadataImage, metadata: bytes) -> bytes:
    """For the member with this metadata, in its version. Topics that are gone have no name to be called by."""
    version = prefixed_version(ConsumerProtocolAssignment, metadata)
    topics = image.topics.by_id
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=topics[topic_id].name, partitions=sorted(numbers))
            for topic_id, numbers in partitions.items()
            if topic_id in topics
        ]
    )
    return write_prefixed(assignment, version)
