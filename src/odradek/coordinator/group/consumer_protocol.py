"""What the coordinator reads and writes of the protocol that consumers speak among themselves.

Their metadata begins with a version; the layout of version 0 begins every other one, and topics come first in it. What
a newer version than ours has more is left unread, as in Kafka.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import TypeVar

from odradek.common.failures import ProtocolError
from odradek.metadata.image import MetadataImage
from odradek.protocol.codec import decode_prefix, encode
from odradek.protocol.message import Message
from odradek.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from odradek.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

_log = logging.getLogger("odradek.groups")

PROTOCOL_TYPE = "consumer"

_VERSION_BYTES = 2

M = TypeVar("M", bound=Message)


def subscribed_topics(group_id: str, metadata_of_members: Iterable[bytes]) -> frozenset[str] | None:
    """What all of them together are subscribed to; None if one of them does not say so in a form that can be read."""
    topics: list[str] = []
    try:
        for metadata in metadata_of_members:
            subscription, _ = decode_prefix(ConsumerProtocolSubscription, 0, metadata, _VERSION_BYTES)
            topics += subscription.topics
    except ProtocolError as error:
        _log.warning("group %s: a member's subscription cannot be read (%s)", group_id, error)
        return None
    return frozenset(topics)


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises ProtocolError."""
    return _read(ConsumerProtocolSubscription, metadata)


def read_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """Raises ProtocolError."""
    return _read(ConsumerProtocolAssignment, assignment)


def write_assignment(partitions: Mapping[bytes, Iterable[int]], image: MetadataImage, metadata: bytes) -> bytes:
    """For the member with this metadata, in its version. Topics that are gone have no name to be called by."""
    version = _version(ConsumerProtocolAssignment, metadata)
    known = image.topics.by_id
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=known[topic_id].name, partitions=sorted(numbers))
            for topic_id, numbers in partitions.items()
            if topic_id in known
        ]
    )
    return version.to_bytes(_VERSION_BYTES, "big") + encode(assignment, version)


def _read(kind: type[M], data: bytes) -> M:
    message, _ = decode_prefix(kind, _version(kind, data), data, _VERSION_BYTES)
    return message


def _version(kind: type[Message], data: bytes) -> int:
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    if len(data) < _VERSION_BYTES or version < 0:
        raise ProtocolError(
            f"a {kind.__name__} begins with its version, not with {data[:_VERSION_BYTES].hex() or 'nothing'}"
        )
    return min(version, kind.VERSIONS[1])
